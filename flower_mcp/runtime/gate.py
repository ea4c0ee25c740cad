"""The two hooks of every session: which tools may run now, and whether work breaks at this message boundary.

Registered from the first request to the last, so that the tool list and the prompt cache never change. They apply to
the main thread alone: agents (`agent_id`) keep their tools and their batches. A hook that exceeds its time crashes the
CLI, so neither of them waits for anything but the reader, 2 s at most; one that raises would be ignored.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, cast

from claude_agent_sdk import HookMatcher
from claude_agent_sdk.types import HookContext, HookEvent, HookInput, HookJSONOutput

from flower_mcp.runtime.reader import Reader

READING_TOOLS = frozenset({"Read", "Grep", "Glob"})
MOST_REQUESTS = 12  # of one handoff turn; most of a document needs no looking up
OWN_TOOLS = "mcp__flower__"
REFUSAL = "The handoff is being written: only Read, Grep, Glob and the flower tools may be used now."


class Mode(StrEnum):
    """What a session is doing, as far as its hooks care."""

    WORK = "work"
    DRAIN = "drain"
    WRITE = "write"


class Gate:
    """One session's hooks. `why_break` is asked at each boundary of the work; it answers a reason or None.

    Where it answers None, `at_boundary` may say something to the session, which its next request then carries.
    `write_done` says in the handoff turn that a complete draft is there, so that no further request is needed.
    """

    def __init__(
        self,
        reader: Reader,
        why_break: Callable[[], str | None],
        write_done: Callable[[], bool] = lambda: False,
        at_boundary: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self.reader = reader
        self.mode = Mode.WORK
        self._why_break = why_break
        self._write_done = write_done
        self._at_boundary = at_boundary

    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """What the SDK takes."""
        return {
            "PreToolUse": [HookMatcher(hooks=[self._before_tool])],
            cast(HookEvent, "PostToolBatch"): [HookMatcher(hooks=[self._after_batch])],
        }

    async def _before_tool(self, given: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        values = cast(Mapping[str, Any], given)
        tool = str(values.get("tool_name") or "")
        if self.mode is Mode.WORK or values.get("agent_id"):
            return {}
        if tool in READING_TOOLS or tool.startswith(OWN_TOOLS):
            return {}
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": REFUSAL,
            }
        }

    async def _after_batch(self, given: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        values = cast(Mapping[str, Any], given)
        if values.get("agent_id"):
            return {}
        await self.reader.reached(str(call.get("tool_use_id")) for call in values.get("tool_calls") or ())
        reason = self._reason()
        if reason is None and self.mode is Mode.WORK and self._at_boundary is not None:
            await self._at_boundary()
        return {} if reason is None else {"continue_": False, "stopReason": reason}

    def _reason(self) -> str | None:
        """Why the main thread stops here, if it does."""
        if self.mode is Mode.WORK:
            return self._why_break()
        if self.mode is Mode.DRAIN or not self.reader.turn_is_ours:
            return "a handoff is under way"
        if self._write_done():
            return "the handoff is written"
        return "the handoff turn is too long" if self.reader.turn_messages >= MOST_REQUESTS else None
