"""The edit window: keep it open, or launch from which text. One of the four tables that decide.

Pure, with `now` an argument. Seconds on any one clock. The rows stand in the order in which they are asked; the first
that applies answers. Nothing waits for a person who is not there: without a save, an editor with unsaved changes or a
hold, the window closes `edit_window` seconds after the freeze.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from flower_mcp.core.faults import FaultKind

AWAY = 0.5  # seconds that a document may be away: editors rename it and put it back (250 ms were seen)


class Choice(StrEnum):
    """What to do with the window."""

    KEEP_OPEN = "keep open"
    LAUNCH_FILE = "launch the file"
    LAUNCH_LAST_GOOD = "launch the last good version"


class Why(StrEnum):
    """The rows, by what each is about."""

    AS_IS = "the person said: as it stands"
    AS_IS_NOTHING = "the person said: as it stands, and nothing stands there"
    HELD = "held"
    NEW = "just frozen"
    OFF = "no window was asked for"
    OFF_BROKEN = "no window was asked for, and the file is broken"
    LIMIT = "open long enough"
    LIMIT_BROKEN = "open long enough, and the file is broken"
    SAVED = "just saved"
    UNSAVED = "an editor has unsaved changes"
    AWAY = "just deleted"
    DELETED = "deleted"
    BROKEN = "the file is broken"
    QUIET = "nobody is editing"


@dataclass(frozen=True, slots=True)
class Window:
    """What is known when the question is asked.

    `saved_at`: when the file was last seen to change, None: not since the freeze. `unsaved`: an editor has it open with
    unsaved changes. `released_at`: when a hold ended; the limit counts from there. `as_is`: launch what stands there.
    """

    frozen_at: float
    edit_window: float
    edit_limit: float = 900.0
    saved_at: float | None = None
    unsaved: bool = False
    held: bool = False
    released_at: float | None = None
    as_is: bool = False
    fault: FaultKind | None = None

    @property
    def closes(self) -> float:
        """When the window closes if nobody does anything."""
        return self.frozen_at + self.edit_window

    @property
    def quiet(self) -> float:
        """When the last save is `edit_window` ago."""
        return -math.inf if self.saved_at is None else self.saved_at + self.edit_window

    @property
    def limit(self) -> float:
        """When it closes whatever a person does, holding aside; never before a window without an edit would."""
        since = self.frozen_at if self.released_at is None else max(self.frozen_at, self.released_at)
        return max(since + self.edit_limit, self.closes)

    @property
    def is_off(self) -> bool:
        """Whether there is no window: none was asked for, and nobody held the document."""
        return self.edit_window <= 0 and self.released_at is None


@dataclass(frozen=True, slots=True)
class Review:
    """The answer. `until`: when it is to be asked again at the latest (infinite while held), for KEEP_OPEN alone."""

    choice: Choice
    why: Why
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One row: when it applies, and what to do. `until` for rows that keep the window open."""

    why: Why
    applies: Callable[[float, Window], bool]
    choice: Choice
    until: Callable[[Window], float] | None = None


_KEEP, _FILE, _GOOD = Choice.KEEP_OPEN, Choice.LAUNCH_FILE, Choice.LAUNCH_LAST_GOOD

TABLE: tuple[Row, ...] = (
    Row(Why.AS_IS, lambda _, w: w.as_is and (w.fault is None or w.fault.has_text), _FILE),
    Row(Why.AS_IS_NOTHING, lambda _, w: w.as_is, _GOOD),
    Row(Why.HELD, lambda _, w: w.held, _KEEP, lambda _: math.inf),
    Row(Why.NEW, lambda now, w: now < w.closes, _KEEP, lambda w: w.closes),
    Row(Why.OFF, lambda _, w: w.is_off and w.fault is None, _FILE),
    Row(Why.OFF_BROKEN, lambda _, w: w.is_off, _GOOD),
    Row(Why.LIMIT, lambda now, w: now >= w.limit and w.fault is None, _FILE),
    Row(Why.LIMIT_BROKEN, lambda now, w: now >= w.limit, _GOOD),
    Row(
        Why.SAVED,
        lambda now, w: now < w.quiet and w.fault is not FaultKind.DELETED,
        _KEEP,
        lambda w: min(w.quiet, w.limit),
    ),
    Row(Why.UNSAVED, lambda _, w: w.unsaved, _KEEP, lambda w: w.limit),
    Row(
        Why.AWAY,
        lambda now, w: w.fault is FaultKind.DELETED and now < (w.saved_at or w.frozen_at) + AWAY,
        _KEEP,
        lambda w: min((w.saved_at or w.frozen_at) + AWAY, w.limit),
    ),
    Row(Why.DELETED, lambda _, w: w.fault is FaultKind.DELETED, _GOOD),
    Row(Why.BROKEN, lambda _, w: w.fault is not None, _KEEP, lambda w: w.limit),
    Row(Why.QUIET, lambda _now, _w: True, _FILE),
)


def review(now: float, window: Window) -> Review:
    """Whether the successor may be launched, and from what."""
    row = next(row for row in TABLE if row.applies(now, window))
    return Review(row.choice, row.why, row.until(window) if row.until else None)
