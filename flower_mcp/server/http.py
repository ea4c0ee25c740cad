"""Streamable HTTP on 127.0.0.1, ended within a second of a signal.

What can hurt: clients of 2026-07-28 hold a listening stream open, older ones a GET stream, and uvicorn waits for both;
so the former are ended as the protocol wants it, and the latter are cut after a short while. Host and Origin of every
request are checked by the SDK, since a web page may send requests to this machine.

Private names of mcp 2.3 are used here, for want of public ones, and a test pins each: `MCPServer._lowlevel_server`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from types import FrameType
from typing import Any

import uvicorn

from flower_mcp.server.app import FlowerServer
from flower_mcp.server.main import DEFAULT_HOST

_GRACE = 0.2  # seconds for streams to end after a signal, before they are cut
_FAILED = 1


class _Server(uvicorn.Server):
    """uvicorn, whose signal also ends the listening streams."""

    def __init__(self, config: uvicorn.Config, listeners: Any) -> None:
        super().__init__(config)
        self._listeners = listeners
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal."""
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the listening streams, each with its last result, then uvicorn."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._listeners.close)
        super().handle_exit(sig, frame)


def serve(server: FlowerServer, port: int) -> int:
    """Serve on a port (0: one that is free) until a signal; answer the exit code."""
    logging.basicConfig(level=logging.WARNING, format="flower-mcp: %(message)s", stream=sys.stderr)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((DEFAULT_HOST, port))
        listener.listen()  # from here on a client may connect, and the address may be told
    except OSError as error:
        sys.stderr.write(f"flower-mcp: port {port} cannot be used: {error.strerror}. Use another one: --http PORT\n")
        return _FAILED
    app = server.streamable_http_app(host=DEFAULT_HOST)
    entry = server._lowlevel_server.get_request_handler("subscriptions/listen")
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=_GRACE)  # type: ignore[arg-type]
    sys.stderr.write(f"flower-mcp: http://{DEFAULT_HOST}:{listener.getsockname()[1]}/mcp\n")
    sys.stderr.flush()
    _Server(config, None if entry is None else entry.handler).run(sockets=[listener])
    return 0
