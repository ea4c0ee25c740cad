"""Questions to the person: may this tool run, and what the model asks itself.

Somebody may be there to answer (an `Asker`, given by the command line) or nobody: then a tool is refused with a reason
that lets the model go on, and a question is answered with "decide and note it". Nothing here waits without a limit.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import anyio
from claude_agent_sdk import CanUseTool, PermissionResult, PermissionResultAllow, PermissionResultDeny
from claude_agent_sdk.types import ToolPermissionContext

from flower_mcp.core.events import Kind
from flower_mcp.runtime.record import Record

ASK_LIMIT = 600.0  # seconds that a question waits for an answer (design, section 5)
QUESTION_TOOL = "AskUserQuestion"
NOBODY = "Nobody is here to answer. Decide yourself, note it as a decision, and go on."
NOT_ALLOWED = (
    "Nobody is here to allow this tool, so it was refused. Find a way without it; if there is none, do the rest and "
    "say at the end what is left."
)


class Reply(StrEnum):
    """A person's answer to a permission question."""

    YES = "yes"
    NO = "no"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a tool with its input, or the model's own questions (`tool` is AskUserQuestion)."""

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said. `answers` maps the model's questions to answers, for AskUserQuestion alone."""

    reply: Reply = Reply.NO
    answers: Mapping[str, str] = field(default_factory=dict)


Asker = Callable[[Question], Awaitable[Answer | None]]


def brief(given: Mapping[str, Any]) -> str:
    """A tool's input on one line: its command, path or pattern, else its JSON; 200 characters at most."""
    for key in ("command", "file_path", "path", "pattern", "url", "description", "prompt"):
        if isinstance(given.get(key), str):
            return " ".join(given[key].split())[:200]
    return json.dumps(given, ensure_ascii=False, default=str)[:200]


class Permissions:
    """One run's permission questions. `denied` lists what was refused since nobody was there."""

    def __init__(self, record: Record, ask: Asker | None, *, limit: float = ASK_LIMIT) -> None:
        self._record = record
        self._ask = ask
        self._limit = limit
        self._always: set[str] = set()
        self.denied: list[str] = []
        self.pending = 0  # questions that a person is asked now

    @property
    def callback(self) -> CanUseTool:
        """What the SDK takes. Given in every session or in none: it changes the tool list."""
        return self._can_use_tool

    async def _can_use_tool(self, tool: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        if tool in self._always:
            return PermissionResultAllow()
        question = Question(tool, given, context.title or "")
        self._record.event(Kind.PERMISSION, f"{tool}: {brief(given)}", tool=tool, asked=self._ask is not None)
        answer = await self._answer(question)
        if tool == QUESTION_TOOL:
            return self._for_question(given, answer)
        if answer is None:
            self.denied.append(f"{tool}: {brief(given)}")
            return PermissionResultDeny(message=NOT_ALLOWED)
        if answer.reply is Reply.ALWAYS:
            self._always.add(tool)
        if answer.reply is Reply.NO:
            return PermissionResultDeny(message="The person said no to this. Find another way, or say what is left.")
        return PermissionResultAllow()

    async def _answer(self, question: Question) -> Answer | None:
        """Ask, with a time limit; None when nobody answers."""
        if self._ask is None:
            return None
        self.pending += 1
        try:
            with anyio.move_on_after(self._limit):
                return await self._ask(question)
        finally:
            self.pending -= 1
        return None

    def _for_question(self, given: dict[str, Any], answer: Answer | None) -> PermissionResult:
        if answer is None or not answer.answers:
            return PermissionResultDeny(message=NOBODY)
        return PermissionResultAllow(updated_input={**given, "answers": dict(answer.answers)})
