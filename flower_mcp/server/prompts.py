"""The prompts: the request to write a handoff, and a document to take over from. The texts are files in prompts/.

What can hurt: prompt arguments are strings on the wire, clients send empty ones for what a person left out, and of an
error in a prompt a client sees only what MCPError carries.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

import anyio.to_thread
from mcp import MCPError
from mcp.server.mcpserver import MCPServer
from mcp.types import INVALID_PARAMS
from pydantic import Field

from flower_mcp.core import amounts
from flower_mcp.core.books import LiveStep, State
from flower_mcp.core.commands import command_line
from flower_mcp.core.errors import FilesError, FlowerError, Usage
from flower_mcp.core.texts import render, used_text, window_text
from flower_mcp.server import reading
from flower_mcp.server.service import Service
from flower_mcp.workbench.session_window import window_of
from flower_mcp.workbench.sessions import Noted

HANDOFF = "HANDOFF_PROMPT"
TAKEOVER = "TAKEOVER_PROMPT"
_UNKNOWN = "an unknown part"  # reads on as "of its 200K tokens"
_MOST = 10**15  # tokens; more is a slip of the hand

Used = Annotated[str, Field(description="Tokens of context in use; looked up when left out")]
Window = Annotated[str, Field(description="The window in tokens; looked up when left out")]
Step = Annotated[str, Field(description="Step name; leave out if there is one step")]


class Prompts:
    """The prompts of one server."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def register(self, server: MCPServer[Any]) -> None:
        """Add the prompts to a server."""
        server.prompt(
            HANDOFF, title="Write the handoff", description="Have this session write its handoff document now"
        )(self.handoff)
        server.prompt(TAKEOVER, title="Take over", description="Go on from a step's handoff document")(self.takeover)

    async def handoff(self, used: Used = "", window: Window = "") -> str:
        """The request to write the document, with the session's figures."""
        return await _readable(self._handoff, used, window)

    async def takeover(self, step: Step = "") -> str:
        """The document with the successor's instructions."""
        return await _readable(self._takeover, step)

    def _handoff(self, used: str, window: str) -> str:
        given_used, given_window = tokens("used", used), tokens("window", window)
        known_used, known_window = (None, None) if used.strip() and window.strip() else self._figures()
        context = given_used if given_used is not None else known_used
        size = given_window or known_window or window_of(self._service.environ, Noted(), lambda: "")[0]
        return render(
            "handoff", {"used": _UNKNOWN if context is None else used_text(context), "window": window_text(size)}
        )

    def _takeover(self, step: str) -> str:
        name = self._service.steps.existing(step.strip()).step
        document = reading.current(self._service, name)
        if not self._service.workbench.comes_from_here(document):
            raise FilesError(
                f"{document.path} was not written on this machine, so no session is to take over from it.",
                next=f"Read it with read_handoff; to go on from it all the same, type: {command_line('trust', name)}",
            )
        task = self._service.workbench.words(name)
        with suppress(FlowerError):  # given twice is better than not given
            self._service.workbench.taken.mark(name, document.revision)
        text = document.text.replace("\0", "")
        return document.handoff.prompt_block(text, path=str(document.path), task=task)

    def _figures(self) -> tuple[int | None, int | None]:
        """Context and window of the session that asks: from Claude Code's files, else of the one step that runs.

        A step that has ended, and which one of several, would say nothing of the session that asks.
        """
        if (caller := self._service.session()) is not None:
            return caller.context, caller.window
        with suppress(FlowerError):
            live = self._running()
            if live is not None and live.row.window:
                return live.row.context or None, live.row.window
        return None, None

    def _running(self) -> LiveStep | None:
        """The step that the server was started for, if it runs; else the only one that does."""
        steps = self._service.steps
        names = [known.step for known in steps.all() if steps.default in ("", known.step) and _may_run(known.state)]
        running = [name for name in names if steps.is_running(name)]
        return steps.live(running[0]) if len(running) == 1 else None


def _may_run(state: State) -> bool:
    return not state.ended and state is not State.IDLE


def tokens(name: str, given: str) -> int | None:
    """A number of tokens as people write it: 150000, 150,000, 152.3K, 1M. None for "". Raises Usage."""
    if not given.strip():
        return None
    value = amounts.tokens(given)
    if value is None or (name == "window" and value <= 0) or value >= _MOST:
        raise Usage(
            f"`{name}` must be a number of tokens, like 150000 or 150K, not {given[:60]!r}.", next="Or leave it out."
        )
    return value


async def _readable(work: Any, *arguments: str) -> str:
    """Run disk work in a thread; an error of ours becomes one that the client shows."""
    try:
        result: str = await anyio.to_thread.run_sync(work, *arguments)
    except (FlowerError, OSError) as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error
    return result
