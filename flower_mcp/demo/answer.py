"""Sends one reply to one request, with its delays and faults.

It knows the reply and the connection. It does not know where the reply came from, and records nothing.

What can hurt: the client may leave at any moment (an interrupt closes its connection), and the model may be stopped
while a request hangs. Every wait here therefore ends when the connection does; there is no bare sleep.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from starlette.responses import JSONResponse, Response

from flower_mcp.demo.listener import Receive, Scope, Send, cut
from flower_mcp.demo.record import Outcome
from flower_mcp.demo.reply import Reply
from flower_mcp.demo.wire import Pause, events, message

# Seconds for the client to read what was sent: one that finds the end of the connection in the same read throws
# the events away (the CLI does).
READ_FIRST = 0.05

Result = TypeVar("Result")


class ClientGone(Exception):
    """The client closed the connection, or the model is being stopped."""


class Conversation:
    """One request's connection, once its body is read."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, left: asyncio.Task[None]) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._left = left

    async def unless_gone(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`. Raises ClientGone, with `work` cancelled, if the client leaves first."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._left}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ClientGone
            return task.result()
        finally:
            task.cancel()

    async def pause(self, seconds: float) -> None:
        """Wait. Raises ClientGone if the client leaves first."""
        if seconds > 0:
            await asyncio.wait({self._left}, timeout=seconds)
        if self._left.done():
            raise ClientGone

    async def give(self, reply: Reply, *, stream: bool) -> Outcome:
        """Send a reply that has its ids. Raises ClientGone if the client leaves before the end."""
        await self.pause(reply.hang or reply.delay)
        if reply.hang or reply.close or (reply.reset and reply.drop_after is None):
            return await self._cut(reset=reply.reset)
        if reply.status or not stream:
            await self._whole(reply)
            return Outcome.ANSWERED
        return await self._events(reply)

    async def plain(self, response: Response) -> None:
        """Send a ready response."""
        await response(self._scope, self._receive, self._send)

    async def _whole(self, reply: Reply) -> None:
        status = reply.status or 200
        headers = {"request-id": f"req_{reply.id}", **reply.headers}
        if reply.body is not None:
            kind = reply.content_type or "text/plain"
            await self.plain(Response(reply.body, status, headers, media_type=kind))
            return
        content: object = reply.json if reply.status else message(reply)
        if content is None:
            content = {"type": "error", "error": dict(zip(("type", "message"), reply.error, strict=True))}
        kind = reply.content_type or "application/json"
        await self.plain(JSONResponse(content, status, headers, media_type=kind))

    async def _events(self, reply: Reply) -> Outcome:
        kind = reply.content_type or "text/event-stream; charset=utf-8"
        headers = {"content-type": kind, "request-id": f"req_{reply.id}", **reply.headers}
        encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": 200, "headers": encoded})
        sent = 0
        for piece in events(reply) if reply.raw_events is None else reply.raw_events:
            if isinstance(piece, Pause):
                await self.pause(piece.seconds)
                continue
            if sent == reply.drop_after:
                break
            await self._send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
            sent += 1
            await self.pause(reply.event_delay)
        if reply.drop_after is not None:
            await self.pause(READ_FIRST)
            return await self._cut(reset=reply.reset)
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        return Outcome.ANSWERED

    async def _cut(self, *, reset: bool) -> Outcome:
        cut(self._scope, reset=reset)
        # Returning before the protocol knows that the connection is over would make uvicorn answer 500.
        await asyncio.wait({self._left})
        return Outcome.CUT


@asynccontextmanager
async def conversation(scope: Scope, receive: Receive, send: Send) -> AsyncIterator[Conversation]:
    """A conversation that notices when the client leaves; open it when the body is read, and call `receive` no more."""

    async def until_gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            continue

    left = asyncio.create_task(until_gone())
    try:
        yield Conversation(scope, receive, send, left)
    finally:
        left.cancel()
        await asyncio.wait({left})
