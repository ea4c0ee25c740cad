"""Tell every connected client, of either protocol era, that a document changed.

Clients of 2026-07-28 listen on streams that read the bus. Older ones get a push on their connection, for which the SDK
keeps no list, serves no subscription and says so in its handshake; the three are added here. Claude Code listens to
changes of the list alone, so a person's edit is announced as such a change, too.

Private names of mcp 2.3 are used here, for want of public ones, and a test pins each: `MCPServer._lowlevel_server`,
`ServerSession._connection`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated
from mcp.types import EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams

from flower_mcp.server.uris import STATUS, document_uri

_LISTENING = frozenset({"initialize", "subscriptions/listen", "resources/subscribe"})


class Notifier:
    """The clients of one server, and how to tell them. `wanted` is set once somebody may be listening."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.wanted = anyio.Event()
        # A session object is made for each request, its connection lasts: one entry for each connection.
        self._older: dict[int, tuple[ServerSession, set[str]]] = {}

    async def middleware(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """See who connects; tell clients of the older era that lists may change."""
        if ctx.method in _LISTENING:
            self.wanted.set()
        result = await call_next(ctx)
        if ctx.method == "initialize" and isinstance(result, dict):
            result["capabilities"].setdefault("resources", {})["listChanged"] = True
            self._uris(ctx.session)
        return result

    def serve_older(self, server: MCPServer[Any]) -> None:
        """Serve the older era's subscriptions."""

        async def subscribe(ctx: ServerRequestContext[Any, Any], params: SubscribeRequestParams) -> EmptyResult:
            self._uris(ctx.session).add(str(params.uri))
            return EmptyResult()

        async def unsubscribe(ctx: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams) -> EmptyResult:
            self._uris(ctx.session).discard(str(params.uri))
            return EmptyResult()

        lowlevel = server._lowlevel_server
        lowlevel.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
        lowlevel.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)

    async def updated(self, step: str) -> None:
        """The step's current document is another one."""
        await self._resource_updated(document_uri(step))

    async def status_updated(self) -> None:
        """What a step is doing changed."""
        await self._resource_updated(STATUS)

    async def list_changed(self) -> None:
        """There are other documents, or a person changed one."""
        await self.bus.publish(ResourcesListChanged())
        for session, _ in list(self._older.values()):
            await self._push(session.send_resource_list_changed, session)

    async def _resource_updated(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        for session, uris in list(self._older.values()):
            if uri in uris:
                await self._push(partial(session.send_resource_updated, uri), session)

    async def _push(self, send: Callable[[], Awaitable[None]], session: ServerSession) -> None:
        """Send to one connection; forget it when it is gone."""
        try:
            await send()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._older.pop(id(session._connection), None)

    def _uris(self, session: ServerSession) -> set[str]:
        """What a connection is subscribed to. It is forgotten when it is closed, deleted or idle for too long."""
        key = id(session._connection)
        if key not in self._older:
            self._older[key] = (session, set())
            session._connection.exit_stack.callback(self._older.pop, key, None)
        return self._older[key][1]
