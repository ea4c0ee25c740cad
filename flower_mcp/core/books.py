"""The books: what a run cost and how it ended (the row), and what a step is doing now (LiveStep).

Shapes only (design, section 7); where they lie on disk is the workbench's business. Field names are the keys of the
JSON, so a field renamed here is a format changed. Times are ISO 8601 in UTC, with microseconds and a Z.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar

FORMAT = 1  # of LiveStep and of a line of events
OWED = "the handoff is still to be written"  # why a session has no document although it was asked for one


class State(StrEnum):
    """What a step is doing. `lost` is never written: it is computed when nobody holds the run lock."""

    IDLE = "idle"
    WORKING = "working"
    DRAINING = "draining"
    WRITING = "writing"
    EDITING = "editing"
    HELD = "held"
    LAUNCHING = "launching"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"

    @property
    def ended(self) -> bool:
        """Whether nothing more comes from this run."""
        return self in (State.DONE, State.FAILED, State.STOPPED)

    @property
    def hands_over(self) -> bool:
        """Whether the session is to write its document, and has not yet: ended here, it owes it."""
        return self in (State.DRAINING, State.WRITING)


class WrittenBy(StrEnum):
    """Who wrote a document."""

    SESSION = "session"
    REWOUND = "rewound"
    DRAFT = "draft"
    CODE = "code"
    BEFORE = "predecessor"  # of a session that did nothing: the document that it was given, handed on


def iso(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC: 2026-11-29T16:05:12.123456Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def seconds(time: str) -> float:
    """The inverse of `iso`. Raises ValueError."""
    return datetime.fromisoformat(time).timestamp()


_OURS: Mapping[str, Any] = {"extra": "forbid"}  # pydantic's configuration, used when a value is read from disk


@dataclass(frozen=True, slots=True)
class Generation:
    """One session of a step, and the document that it left.

    `context` in tokens; `cost_usd` None when unknown; `num_turns` are requests of its work, those of its handoff turn
    left out, as `--max-turns` counts; `frozen` and `launched` are revisions: of the document that this
    session left, as frozen, and as it was when the next session got it.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _OURS

    n: int
    session_id: str
    context: int = 0
    cost_usd: float | None = None
    num_turns: int = 0
    started_at: str | None = None
    ended_at: str | None = None
    path: str | None = None
    frozen: str | None = None
    launched: str | None = None
    edited: bool = False
    sections_edited: tuple[str, ...] = ()
    written_by: WrittenBy | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """One run of a step: the row of the manifest. `ok` is true for state done alone; `cost_usd` None means unknown."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _OURS

    run: str
    step: str
    ok: bool = False
    state: State = State.IDLE
    session_id: str | None = None
    retired: tuple[str, ...] = ()
    attempts: int = 1
    resumed: bool = False
    generations: tuple[Generation, ...] = ()
    context: int = 0
    window: int = 0
    window_source: str = "guessed"
    cost_usd: float | None = None
    num_turns: int = 0
    text: str = ""
    error: str | None = None
    errors: tuple[str, ...] = ()
    started_at: str | None = None
    ended_at: str | None = None
    duration_s: float | None = None

    @property
    def generation(self) -> Generation | None:
        """The living session's entry, None before the first one."""
        return self.generations[-1] if self.generations else None

    def with_generation(self, **changes: Any) -> StepResult:
        """The row with the last generation changed."""
        return replace(self, generations=(*self.generations[:-1], replace(self.generations[-1], **changes)))

    def ended_in(self, state: State) -> StepResult:
        """The row of a run that ends in `state`: a handoff that had begun and is not frozen stays owed."""
        last = self.generation
        if not state.hands_over or last is None or last.frozen is not None:
            return self
        return self.with_generation(why=OWED)

    def with_error(self, text: str) -> StepResult:
        """The row with one more entry in `errors`."""
        return replace(self, errors=(*self.errors, text))


@dataclass(frozen=True, slots=True)
class DocumentState:
    """What is known of a step's document without opening it."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _OURS

    path: str
    revision: str
    complete: bool
    missing: tuple[str, ...] = ()
    degraded: bool = False
    edited: bool = False
    sections: Mapping[str, int] = field(default_factory=dict)
    written_at: str | None = None


@dataclass(frozen=True, slots=True)
class Supervisor:
    """The process that runs a step."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _OURS

    pid: int
    host: str
    since: str


@dataclass(frozen=True, slots=True)
class LiveStep:
    """What a step is doing now: the one authority for a step that has not ended. Fields nobody fills yet are None."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _OURS

    step: str
    state: State
    row: StepResult
    v: int = FORMAT
    max_generations: int | None = None
    at: int | None = None
    warn_at: int | None = None
    context_estimated: bool = False
    document: DocumentState | None = None
    held_since: str | None = None
    supervisor: Supervisor | None = None
    updated_at: str | None = None


def as_json(value: StepResult | LiveStep | Generation | DocumentState) -> dict[str, Any]:
    """The value as plain JSON types."""
    kind: Any = type(value)
    return {name: _plain(getattr(value, name)) for name in _names(kind)}


def _plain(value: Any) -> Any:
    """A field's value; a third of what dataclasses.asdict takes, and a row is written at every message."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple):
        return tuple(_plain(inner) for inner in value)
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return as_json(value)


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))
