"""What happens in a run, told to a caller and kept in events.jsonl.

Values only. `text` is for people, `payload` for programs; nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from flower_mcp.core.books import FORMAT


class Kind(StrEnum):
    """The kinds of events (design, section 7)."""

    SESSION = "session"
    TEXT = "text"
    TOOL = "tool"
    CONTEXT = "context"
    HANDOFF = "handoff"
    EDIT = "edit"
    DRAIN = "drain"
    RETRY = "retry"
    WAIT = "wait"
    PERMISSION = "permission"
    ERROR = "error"
    RESULT = "result"


class Phase(StrEnum):
    """The phases within session, handoff, edit, wait and context: `payload["phase"]`. A measured context has none."""

    STARTED = "started"
    RESUMED = "resumed"
    LAUNCHED = "launched"
    RETIRED = "retired"
    TOLD = "told"
    CLEARED = "cleared"
    NEAR = "near"
    WRITING = "writing"
    DONE = "done"
    OPEN = "open"
    SEEN = "seen"
    BROKEN = "broken"
    HELD = "held"
    RELEASED = "released"
    CLOSED = "closed"
    LATE = "late"
    LEARNED = "learned"
    FORGOTTEN = "forgotten"
    ASSUMED = "assumed"
    ADVISED = "advised"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. `kind` is one of Kind, as a string."""

    kind: str
    text: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the books an event belongs: what every line of events.jsonl carries."""

    run: str
    step: str
    generation: int
    session_id: str | None


def line(event: Event, place: Place, at: str) -> dict[str, Any]:
    """A line of events.jsonl and of `--json`; the fixed keys win over the payload's. `at` is ISO 8601."""
    fixed = {
        "v": FORMAT,
        "at": at,
        "run": place.run,
        "step": place.step,
        "generation": place.generation,
        "session_id": place.session_id,
        "kind": str(event.kind),
    }
    text = {"text": event.text} if event.text else {}
    return {**fixed, **text, **{key: value for key, value in event.payload.items() if key not in fixed}}
