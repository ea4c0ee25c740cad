"""While a document waits: for how long still, or for whom. Part of the area below a run.

It knows events and gives a few words; it decides nothing, and what it counts is an estimate: the window closes when the
supervisor says so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from flower_mcp.cli.words import Words
from flower_mcp.core.events import Event, Kind, Phase


class _Waits(Enum):
    """Why the window is open."""

    NOT = auto()
    TIME = auto()
    MENDING = auto()
    HELD = auto()


class Countdown:
    """Takes events with `take`; `text` is how it stands."""

    def __init__(self, words: Words, clock: Callable[[], float] = time.monotonic) -> None:
        self._words = words
        self._clock = clock
        self._waits = _Waits.NOT
        self._seconds = 0.0  # of the window, and of the quiet after a save
        self._end = 0.0

    @property
    def text(self) -> str:
        """What is waited for now; "" when no document waits."""
        match self._waits:
            case _Waits.NOT:
                return ""
            case _Waits.HELD:
                return self._words("waits held")
            case _Waits.MENDING:
                return self._words("waits mending")
        left = self._end - self._clock()
        return self._words("waits", seconds=math.ceil(left)) if left > 0 else self._words("waits unsaved")

    @property
    def is_held(self) -> bool:
        """Whether the document waits for a person to release it."""
        return self._waits is _Waits.HELD

    def take(self, event: Event, _line: Mapping[str, Any]) -> None:
        """Take in an event."""
        if event.kind not in (Kind.EDIT, Kind.SESSION, Kind.RESULT):
            return
        match event.payload.get("phase"):
            case Phase.OPEN:
                self._seconds = float(event.payload.get("seconds") or 0)
                self._begin()
            case Phase.SEEN if self._waits is not _Waits.NOT:
                self._begin(unless=_Waits.HELD)
            case Phase.BROKEN if self._waits is _Waits.TIME:
                self._waits = _Waits.MENDING
            case Phase.HELD:
                self._waits = _Waits.HELD
            case Phase.RELEASED if self._waits is not _Waits.NOT:
                self._begin()
            case Phase.LATE | Phase.SEEN | Phase.BROKEN | Phase.RELEASED | Phase.TOLD | Phase.CLEARED:
                return
            case _:
                self._waits = _Waits.NOT

    def _begin(self, unless: _Waits = _Waits.NOT) -> None:
        if self._waits is not unless or unless is _Waits.NOT:
            self._waits, self._end = _Waits.TIME, self._clock() + self._seconds
