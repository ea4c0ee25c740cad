"""Listens to a run: draws each event for people, writes it as JSON for programs, and keeps what the end needs.

Called from the event loop, so it must not wait for anything but the streams. It decides nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flower_mcp.cli.output import Output
from flower_mcp.cli.show import Log, is_about_credentials
from flower_mcp.core.books import iso
from flower_mcp.core.events import Event, Kind, Place, line

Taker = Callable[[Event, Mapping[str, Any]], object]  # an event, and its line of JSON


class Listener:
    """An `on_event`. `place` tells where the run stands (None before it does); `advise` makes a remark on a window.

    `also` are called with each event once it is drawn, and with its line of JSON.

    Afterwards: `refused_credentials`, `denied`, `ended`.
    """

    def __init__(
        self,
        output: Output,
        log: Log,
        step: str,
        place: Callable[[], Place | None],
        advise: Callable[[int], str | None],
        *,
        also: Iterable[Taker] = (),
    ) -> None:
        self.refused_credentials = False
        self.denied: tuple[str, ...] = ()
        self.ended: tuple[str, ...] = ()
        self._output = output
        self._log = log
        self._step = step
        self._place = place
        self._advise = advise
        self._also = tuple(also)

    @property
    def said(self) -> str:
        """The last text that was drawn."""
        return self._log.said

    @property
    def estimated(self) -> frozenset[int]:
        """The sessions, by number, whose context is an estimate."""
        return frozenset(number for number, is_so in self._log.estimated.items() if is_so)

    def __call__(self, event: Event) -> None:
        """Take in one event."""
        place = self._place() or Place("", self._step, 0, None)
        whole = line(event, place, iso(time.time()))
        self._output.json(whole)
        self._keep(event)
        window = event.payload.get("window")
        advice = self._advise(window) if event.kind == Kind.SESSION and isinstance(window, int) else None
        self._output.lines(self._log.lines(event, place.generation, advice))
        for take in self._also:
            take(event, whole)

    def _keep(self, event: Event) -> None:
        self.refused_credentials = self.refused_credentials or is_about_credentials(event)
        if event.kind == Kind.RESULT:
            self.denied = tuple(event.payload.get("denied") or ())
            self.ended = tuple(event.payload.get("ended") or ())
