"""The server put together: tools, prompts, resources, completion, and the watcher in its lifespan.

`build` gives the server object for stdio, HTTP and `mcp run`; `lowlevel` the object that the supervisor hands to its
sessions in process. It must not know transports or the command line. What can hurt: making a server configures the
root logger of the whole process, which belongs to the host, so that is kept from happening.

Private names of mcp 2.3 are used here, for want of public ones, and a test pins each: `MCPServer._lowlevel_server`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import anyio.to_thread
from mcp.server import MCPServer, Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    Resource,
    ResourceTemplateReference,
)

from flower_mcp import __version__
from flower_mcp.server.arguments import Shape
from flower_mcp.server.notify import Notifier
from flower_mcp.server.prompts import HANDOFF, TAKEOVER, Prompts
from flower_mcp.server.resources import Resources
from flower_mcp.server.service import Service
from flower_mcp.server.tools import Tools
from flower_mcp.server.uris import DOCUMENT, GENERATION
from flower_mcp.server.watch import Watcher
from flower_mcp.workbench.workbench import Workbench

NAME = "flower"
WEBSITE = "https://github.com/flower-mcp/flower-mcp"
INSTRUCTIONS = (
    "Handoff documents carry a long task from one session to the next. When your context is nearly full, or the person "
    "asks for a handoff, call write_handoff: a fresh session goes on from exactly that document. When you take over, "
    "call read_handoff first and go on from its section `next`; repeat nothing that it lists as done. handoff_status "
    "tells how full your context is. A person may edit the document at any time, so pass the revision you read as "
    "expected_revision when you change it."
)
_COMPLETED = 100  # values of a completion; the protocol's limit


class FlowerServer(MCPServer[None]):
    """The server, whose list of resources is what lies on disk now."""

    def __init__(self, service: Service, notifier: Notifier, watch: bool, dependencies: Sequence[str]) -> None:
        self.service = service
        self.notifier = notifier
        self._resources_of_ours = Resources(service)
        self._shapes: dict[str, Shape] = {}
        self._may_watch = watch  # and nobody watches yet
        with _host_logging():
            super().__init__(
                NAME,
                title="flower-mcp: handoff documents",
                version=__version__,
                description="Carries a long task from one session to the next through a document.",
                instructions=INSTRUCTIONS,
                website_url=WEBSITE,
                lifespan=self._life,
                subscriptions=notifier.bus,
                middleware=[notifier.middleware, self._checked],
                log_level="WARNING",
                dependencies=list(dependencies),
            )
        Tools(service, notifier).register(self)
        Prompts(service).register(self)
        self._resources_of_ours.register(self)
        self.completion()(self._complete)  # type: ignore[no-untyped-call]
        notifier.serve_older(self)

    async def list_resources(self) -> list[Resource]:
        """The overview, and one entry for each document."""
        documents = await anyio.to_thread.run_sync(self._resources_of_ours.listed)
        return [*await super().list_resources(), *documents]

    async def shapes(self) -> Mapping[str, Shape]:
        """What each tool takes."""
        if not self._shapes:
            self._shapes = {tool.name: Shape.read(tool.input_schema) for tool in await self.list_tools()}
        return self._shapes

    async def _checked(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Refuse a call whose arguments do not fit, in words that a model can act on."""
        if ctx.method == "tools/call":
            params = ctx.params or {}
            name, arguments = str(params.get("name")), params.get("arguments")
            shape = (await self.shapes()).get(name)
            complaint = "" if shape is None else shape.complaint({} if arguments is None else arguments)
            if shape is None and name not in (tools := [tool.name for tool in await self.list_tools()]):
                complaint = f"There is no tool {name[:60]!r}. The tools are {', '.join(tools)}."
            if complaint:
                return {"content": [{"type": "text", "text": complaint}], "isError": True, "resultType": "complete"}
        return await call_next(ctx)

    @asynccontextmanager
    async def _life(self, _server: MCPServer[None]) -> AsyncIterator[None]:
        """Watch the workbench as long as somebody is served; one watcher, however many are served in this process."""
        if not self._may_watch:
            yield
            return
        self._may_watch = False
        watcher = Watcher(self.service, self.notifier)
        try:
            await watcher.begin()
            async with anyio.create_task_group() as group:
                group.start_soon(watcher.run)
                try:
                    yield
                finally:
                    watcher.stop()
                    group.cancel_scope.cancel()
        finally:
            self._may_watch = True

    async def _complete(
        self,
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        """Names of steps and numbers of generations; windows that are common."""
        values = await anyio.to_thread.run_sync(self._candidates, ref, argument, context)
        return Completion(values=values[:_COMPLETED], total=len(values), has_more=len(values) > _COMPLETED)

    def _candidates(
        self,
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> list[str]:
        place = ref.name if isinstance(ref, PromptReference) else ref.uri
        match place, argument.name:
            case (str(), "step") if place in {TAKEOVER, DOCUMENT, GENERATION}:
                return self._resources_of_ours.steps(argument.value)
            case (str(), "generation") if place == GENERATION:
                step = ((context.arguments if context else None) or {}).get("step", "")
                return self._resources_of_ours.generations(step, argument.value)
            case (str(), "window") if place == HANDOFF:
                return [window for window in ("200000", "1000000") if window.startswith(argument.value)]
            case _:
                return []


def build(
    workbench: Workbench | Callable[[], Workbench],
    *,
    step: str = "",
    watch: bool = True,
    environ: Mapping[str, str] | None = None,
    dependencies: Sequence[str] = (),
) -> FlowerServer:
    """The server for a workbench, or for what gives one when it is first needed (and raises FlowerError until then).

    `step` is the step of callers who name none. `watch`: tell clients what others change on disk. `environ`: the
    variables by which the calling Claude Code session is found (default: the process's). `dependencies` are packages
    that `mcp dev` installs beside this one.
    """
    given = workbench
    service = Service((lambda: given) if isinstance(given, Workbench) else given, step=step, environ=environ)
    return FlowerServer(service, Notifier(), watch, dependencies)


def lowlevel(workbench: Workbench, *, step: str = "") -> Server[Any]:
    """The same as the low-level object that `Runtime(mcp_server=...)` takes.

    Without a watcher: sessions that are served in process are not reached by notices.
    """
    return build(workbench, step=step, watch=False)._lowlevel_server


@contextmanager
def _host_logging() -> Iterator[None]:
    """Keep the root logger as it is: the SDK configures it only if it has no handler."""
    root = logging.getLogger()
    level, placeholder = root.level, logging.NullHandler()
    root.addHandler(placeholder)
    try:
        yield
    finally:
        root.removeHandler(placeholder)
        root.setLevel(level)
