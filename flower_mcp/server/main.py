"""`flower-mcp`: the server on stdio, or over HTTP on this machine.

On stdio the process's stdout belongs to the protocol from the first line of `main` on: descriptor 1 leads to stderr
before anything else is imported, so that whatever a dependency or a child prints, at import, late or at exit, does not
reach the wire. stdin's end, SIGTERM and Ctrl-C end the process; writes are whole at every instant, so nothing has to be
saved then. What can hurt: a client waits for the first answer, so nothing is imported before it is needed.
"""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flower_mcp.server.app import FlowerServer

DEFAULT_HOST = "127.0.0.1"
_LOCAL = frozenset({"127.0.0.1", "localhost"})
_USAGE = 2  # the exit code of whoever was called wrongly


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client goes or a signal comes; answer the exit code."""
    if arguments is None:
        _in_utf_8()
    options = _parser().parse_args(arguments)
    if options.http is None:
        return _stdio(options)
    host, _, port = options.http.rpartition(":")
    host = options.host or host or DEFAULT_HOST
    if host not in _LOCAL:
        return _refuse(
            f"it listens on 127.0.0.1 alone, not on {host}: whoever reaches it may read and write handoffs, and remote "
            "use is not built yet. For another machine, forward a port: ssh -L."
        )
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        return _refuse(f"--http takes a port from 0 to 65535, not {options.http!r}.")
    from flower_mcp.server.http import serve

    return serve(_server(options), int(port))


def dev_server() -> FlowerServer:
    """The server for `mcp dev` and `mcp run`: it takes its options from the environment."""
    # `mcp dev` runs the server in an environment of its own, without what `mcp run` needs there (mcp 2.3).
    return _server(_parser().parse_args([]), dependencies=("mcp[cli]",))


def _in_utf_8() -> None:
    """Start anew in UTF-8 where the locale cannot name our files: their names are Chinese, whoever the user is."""
    if sys.platform != "win32" and sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _parser() -> ArgumentParser:
    from flower_mcp import __version__

    parser = ArgumentParser(
        prog="flower-mcp",
        description="Serve handoff documents to an MCP client. Without --http it speaks MCP on stdin and stdout.",
        epilog="Every option has a variable: FLOWER_WORKSPACE, FLOWER_STEP, FLOWER_HTTP, FLOWER_HOST.",
    )
    environ = os.environ
    parser.add_argument(
        "--workspace",
        metavar="FOLDER",
        help="the project's folder (default: FLOWER_WORKSPACE, CLAUDE_PROJECT_DIR, else the current folder)",
    )
    parser.add_argument(
        "--step", metavar="NAME", default=environ.get("FLOWER_STEP", ""), help="the step when a client names none"
    )
    parser.add_argument(
        "--http",
        metavar="PORT",
        default=environ.get("FLOWER_HTTP") or None,
        help="streamable HTTP on 127.0.0.1, at /mcp",
    )
    parser.add_argument("--host", metavar="HOST", default=environ.get("FLOWER_HOST", ""), help="127.0.0.1 or localhost")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    return parser


def _server(options: Namespace, *, dependencies: Sequence[str] = ()) -> FlowerServer:
    """The server for this process's folder and variables."""
    import gc

    enabled, is_first = gc.isenabled(), "flower_mcp.server.app" not in sys.modules
    gc.disable()  # importing mcp makes a million lasting objects; looking through them again and again takes a tenth
    try:
        from flower_mcp.server.app import build
        from flower_mcp.server.workspace import opener

        server = build(opener(options.workspace, os.environ), step=options.step, dependencies=dependencies)
    finally:
        if is_first:
            gc.freeze()  # nor are they looked through later: the first look would take a tenth again
        if enabled:
            gc.enable()
    return server


def _stdio(options: Namespace) -> int:
    """Serve on stdin and stdout."""
    wire_in, wire_out = _take_wires()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # else Ctrl-C is ignored until stdin ends (mcp 2.3)
    _log_to_stderr()
    server = _server(options)

    import anyio

    anyio.run(_serve, server, wire_in, wire_out)
    return 0


async def _serve(server: FlowerServer, wire_in: IO[str], wire_out: IO[str]) -> None:
    """Serve one connection until stdin ends."""
    import anyio
    from mcp.server.stdio import stdio_server

    from flower_mcp.server.wire import Lines

    lowlevel: Any = server._lowlevel_server
    lines: Any = Lines(wire_in)
    async with stdio_server(anyio.wrap_file(lines), anyio.wrap_file(wire_out)) as (read, write):
        await lowlevel.run(read, write, lowlevel.create_initialization_options())


def _take_wires() -> tuple[IO[str], IO[str]]:
    """Take stdin and stdout for the protocol; descriptors 0 and 1 become the null device and stderr for all others.

    The protocol is UTF-8 with LF whatever the locale.
    """
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(nothing, 1)
    os.close(nothing)
    return (
        open(wire_in, encoding="utf-8", errors="replace", newline="\n", closefd=False),
        open(wire_out, "w", encoding="utf-8", newline="\n", closefd=False),
    )


def _log_to_stderr() -> None:
    """Warnings and worse, a line each. Without this the SDK sets up coloured tracebacks."""
    import logging

    logging.basicConfig(level=logging.WARNING, format="flower-mcp: %(message)s", stream=sys.stderr)


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"flower-mcp: {sentence}\n")
    return _USAGE


if __name__ == "__main__":
    sys.exit(main())
