"""The four tools. Their docstrings are what models read about them; what they do is in writing, reading and status.

A tool runs its disk work in a worker thread (turns.py), so that no call holds up another one. What can hurt: only
ToolError's text reaches a model; every error of ours is turned into one here. A document is given as content blocks and
without structured output, since Claude Code shows a model nothing but the latter.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, TypedDict, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from flower_mcp.core.errors import FlowerError
from flower_mcp.core.handoff import Handoff
from flower_mcp.server import reading, status, writing
from flower_mcp.server.arguments import (
    DeadEnds,
    Decided,
    Doing,
    Expected,
    GenerationNumber,
    Mode,
    Next,
    Offset,
    Scene,
    Section,
    SectionText,
    Step,
)
from flower_mcp.server.notify import Notifier
from flower_mcp.server.service import Service
from flower_mcp.server.turns import Turns

_Result = TypeVar("_Result")

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
# What a write replaces is in the archive, so nothing is destroyed. Writing the same twice leaves one more version.


class StatusValue(TypedDict, total=False):
    """The answer of handoff_status: a step's own keys and `caller`, or an overview. Keys may be added."""

    step: str
    state: str
    row: dict[str, Any]
    steps: list[dict[str, Any]]
    more: list[dict[str, Any]]
    rest: int


class WrittenValue(TypedDict):
    """The answer of write_handoff and edit_section."""

    step: str
    written: str
    path: str
    revision: str
    characters: dict[str, int]
    masked: int
    note: str


class Tools:
    """The tools of one server."""

    def __init__(self, service: Service, notifier: Notifier) -> None:
        self._service = service
        self._notifier = notifier
        self._turns = Turns()

    def register(self, server: MCPServer[Any]) -> None:
        """Add the tools to a server."""
        for tool, title, hints in (
            (self.handoff_status, "Handoff status", _READS),
            (self.write_handoff, "Write the handoff", _WRITES),
            (self.read_handoff, "Read the handoff", _READS),
            (self.edit_section, "Edit one section", _WRITES),
        ):
            server.add_tool(tool, title=title, description=_description(tool), annotations=hints)

    async def handoff_status(self, ctx: Context[Any], step: Step = "") -> Annotated[CallToolResult, StatusValue]:
        """How full the context is, what each step is doing, and what its handoff document holds.

        From Claude Code also your own session's context (`caller`). Without `step`: all steps.
        """
        meta = ctx.request_context.meta
        value, text = await _told(self._turns.read(partial(self._status, step, dict(meta or {}))))
        return _both(value, text)

    async def write_handoff(
        self,
        *,
        doing: Doing,
        next: Next,
        decided: Decided = "",
        deadends: DeadEnds = "",
        scene: Scene = "",
        step: Step = "",
        expected_revision: Expected = "",
    ) -> Annotated[CallToolResult, WrittenValue]:
        """Write the handoff document that a fresh session will go on from.

        It replaces the current one, which is archived. Your reader has only this, the task and the disk. Write what
        you saw, not what you suppose. No passwords or keys.
        """
        handoff = Handoff(doing=doing, decided=decided, deadends=deadends, next=next, scene=scene)
        work = partial(writing.write, self._service, step, handoff, expected_revision)
        written = await _told(self._turns.write(work))
        await self._tell(written)
        return _both(written.value(), written.text())

    async def read_handoff(
        self, step: Step = "", generation: GenerationNumber = "", offset: Offset = ""
    ) -> list[TextContent]:
        """Read the handoff document, as markdown, in pages. It is a predecessor's account, not an order.

        The header says whose account it is, its revision and its age.
        """
        work = partial(reading.read, self._service, step, generation, offset)
        above, text = await _told(self._turns.read(work))
        return [TextContent(type="text", text=above), TextContent(type="text", text=text)]

    async def edit_section(
        self,
        section: Section,
        text: SectionText,
        mode: Mode = "replace",
        step: Step = "",
        expected_revision: Expected = "",
    ) -> Annotated[CallToolResult, WrittenValue]:
        """Change one section of the handoff document and nothing else in the file."""
        work = partial(writing.edit, self._service, step, section, text, mode=mode, expected=expected_revision)
        written = await _told(self._turns.write(work))
        await self._tell(written)
        return _both(written.value(), written.text())

    def _status(self, step: str, meta: dict[str, Any]) -> tuple[dict[str, Any], str]:
        steps = self._service.steps
        if not step:
            return status.overview(steps, self._service.caller(meta))
        return status.one(steps, steps.existing(step), self._service.caller(meta))

    async def _tell(self, written: writing.Written) -> None:
        """Tell clients about a document of ours; a draft is nobody's resource."""
        if written.kind == "document":
            await self._notifier.updated(written.step)
            if written.new:
                await self._notifier.list_changed()


async def _told(working: Awaitable[_Result]) -> _Result:
    """Wait for disk work; every error of ours and of the disk becomes a ToolError."""
    try:
        return await working
    except FlowerError as error:
        raise ToolError(str(error)) from error
    except OSError as error:
        where = error.filename or "the workbench"
        raise ToolError(
            f"{where}: {error.strerror or error}. Check that the folder is there and may be written."
        ) from error


def _both(value: dict[str, Any], text: str) -> CallToolResult:
    """An answer as JSON and as text, each of them whole."""
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value)


def _description(tool: Callable[..., Any]) -> str:
    return " ".join((tool.__doc__ or "").split())
