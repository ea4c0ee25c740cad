"""The entry point of `flower`: looks at the arguments before anything is imported, and turns an end into an exit code.

It must not import click or more at the top: what is called at every batch of an interactive session (`flower hook`) is
branched off in `main`, before that is paid for. What can hurt: Ctrl-C during the imports, and an output that the
reader has closed; neither may show a traceback.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

INTERRUPTED = 130  # exit code: 128 + SIGINT


def main() -> NoReturn:
    """Run the command line of this process and exit with its code."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"]:
        hook(arguments[1:])
    try:
        from flower_mcp.cli.utf8 import go_on_in_utf8

        go_on_in_utf8()
        arguments = sys.argv[1:]
        from flower_mcp.cli.commands import answer

        code = answer(arguments)
    except KeyboardInterrupt:
        code = INTERRUPTED
    try:
        from flower_mcp.cli.leaving import give_up_closed

        give_up_closed()
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


def hook(arguments: list[str]) -> NoReturn:
    """Answer an event of Claude Code's, and exit with 0 whatever happens."""
    try:
        if sys.platform != "win32" and sys.getfilesystemencoding() != "utf-8":  # our files' names are Chinese
            os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
        from flower_mcp.cli.hook import run_hook

        run_hook(arguments)
    finally:
        os._exit(0)  # also for a Ctrl-C, and for a stdout that cannot be flushed any more


if __name__ == "__main__":
    main()
