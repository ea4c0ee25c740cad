"""The entry point of `flower`: looks at the arguments before anything is imported, and turns an end into an exit code.

It must not import click or more at the top: what is called at every prompt of an interactive session (`flower hook`) is
to be branched off in `main`, before that is paid for. What can hurt: Ctrl-C during the imports, and an output that the
reader has closed; neither may show a traceback.
"""

from __future__ import annotations

import sys
from typing import NoReturn

INTERRUPTED = 130  # exit code: 128 + SIGINT


def main() -> NoReturn:
    """Run the command line of this process and exit with its code (design, section 7)."""
    arguments = sys.argv[1:]
    try:
        from flower_mcp.cli.commands import answer

        code = answer(arguments)
    except KeyboardInterrupt:
        code = INTERRUPTED
    try:
        from flower_mcp.cli.output import give_up_closed

        give_up_closed()
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    main()
