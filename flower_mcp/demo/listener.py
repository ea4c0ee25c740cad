"""A loopback HTTP server for one ASGI app, whose connections the app may break.

uvicorn parses and frames HTTP; this module owns the socket. `uvicorn.Server` is not used: it takes over the
process's signal handlers, looks at its state ten times a second, and waits for open requests when it ends.
uvicorn's protocol class on an asyncio server of our own has none of that, and can be closed at once.

ASGI has no way to cut a connection: an app that stops half way gets a tidy 500 or an orderly end. Therefore
`OpenProtocol` puts the connection's transport into the ASGI state (`scope["state"]["transport"]`). That is the one
thing it changes; `cut` is what to do with it.

What can hurt: it imports uvicorn, so import it when a server is really started.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HOST = "127.0.0.1"
# An idle client keeps its connection; closing it under the CLI would look like a fault that no script has ordered.
KEEP_ALIVE = 3600
# After the connections are cut nothing is left to wait for but tasks that notice it; the rest is cancelled.
STOP_LIMIT = 0.4

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class OpenProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol; the app finds the transport in `scope["state"]`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Give each request of this connection its transport."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}


def cut(scope: Scope, *, reset: bool = False) -> None:
    """Close a request's connection: after what was sent is out, or with `reset` at once by a TCP reset."""
    transport: asyncio.Transport = scope["state"]["transport"]
    if not reset:
        transport.close()
        return
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


class Listener:
    """Serves `app` on a free port of 127.0.0.1, in the running loop, from `start` to `stop`."""

    def __init__(self, app: App) -> None:
        # Named parser, no lifespan, no websockets, no logging set-up: nothing of the host process is touched.
        self._config = uvicorn.Config(
            app,
            interface="asgi3",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE,
        )
        self._state = ServerState()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.port = 0

    async def start(self) -> None:
        """Bind and serve. Raises OSError if no socket is to be had."""
        self._config.load()
        self._loop = asyncio.get_running_loop()
        await self.open()

    async def open(self) -> None:
        """Take connections, on the same port as before."""
        if self._server is None:
            self._server = await asyncio.get_running_loop().create_server(self._protocol, HOST, self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Refuse connections from now on, and cut those that exist."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in list(self._state.connections):
            connection.transport.abort()

    async def stop(self) -> None:
        """Close, and see every request's task end: within 2 x `STOP_LIMIT` seconds."""
        await self.close()
        if self._state.tasks:
            _, late = await asyncio.wait(set(self._state.tasks), timeout=STOP_LIMIT)
            for task in late:
                task.cancel()
            if late:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait(late, timeout=STOP_LIMIT)

    def _protocol(self) -> OpenProtocol:
        return OpenProtocol(config=self._config, server_state=self._state, app_state={}, _loop=self._loop)
