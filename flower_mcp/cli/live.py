"""Draws the area below a run on a live terminal, some times a second, and only what has changed.

It collects what live_area.py shows, has rich draw the rows, and gives them to output.py. It decides nothing of the run.
rich's own Live is not used: it hides the cursor, writes by itself, and counts rows that a resized terminal has broken.
What can hurt: a process that is stopped (Ctrl-Z) leaves its screen to the shell, so the area is taken away before.
"""

from __future__ import annotations

import io
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import anyio
from rich.console import Console
from rich.text import Text

from flower_mcp.cli.bar import context_bar
from flower_mcp.cli.countdown import Countdown
from flower_mcp.cli.live_area import Moment, Row, area_rows
from flower_mcp.cli.output import Output
from flower_mcp.cli.words import Words
from flower_mcp.core.books import State, seconds
from flower_mcp.core.events import Event, Kind, Phase

if TYPE_CHECKING:
    from flower_mcp.runtime.present import Present

TICK = 0.25  # seconds between two looks; what is drawn counts whole seconds


@dataclass(frozen=True, slots=True)
class AreaFacts:
    """What is known beforehand. `keys`: somebody at the terminal can press them. `release`, `hold`: commands."""

    keys: bool = False
    release: str = "flower release"
    hold: str = "flower hold"
    handoff: bool = True
    workspace: Path | None = None


class LiveArea:
    """Takes events with `take`, and draws in `run` until cancelled. `present` looks at the step."""

    def __init__(
        self,
        output: Output,
        words: Words,
        facts: AreaFacts,
        present: Callable[[], Present | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._output = output
        self._words = words
        self._facts = facts
        self._present = present
        self._clock = clock
        self._began = clock()
        self._countdown = Countdown(words, clock)
        self._state: tuple[State | None, float] = (None, self._began)
        self._call: tuple[str, float] = ("", self._began)
        self._told = ""
        self._until: float | None = None
        self._is_over = False
        self._is_ascii = not output.takes(context_bar(1, 2, (1,)) + "─…")

    def take(self, event: Event, line: Mapping[str, Any]) -> None:
        """Take in an event."""
        self._countdown.take(event, line)
        if event.kind in (Kind.DRAIN, Kind.RETRY, Kind.WAIT) and event.payload.get("phase") != Phase.CLOSED:
            self._told, self._until = str(event.payload.get("why") or event.text), _until(event.payload)
        elif event.kind in (Kind.TEXT, Kind.TOOL, Kind.CONTEXT, Kind.HANDOFF, Kind.SESSION, Kind.WAIT):
            self._told, self._until = "", None
        elif event.kind == Kind.RESULT:
            self.close()

    async def run(self) -> None:
        """Draw again and again, until cancelled."""
        while not self._is_over:
            self.draw()
            await anyio.sleep(TICK)

    def close(self) -> None:
        """Take the area away for good."""
        self._is_over = True
        self._output.area(())

    def draw(self) -> None:
        """Draw what is so now."""
        present = self._present()
        if present is None or self._is_over:
            return
        size = self._output.size
        rows = area_rows(self._words, self._moment(present), size, is_ascii=self._is_ascii)
        self._output.area(painted(rows, size[0]), size)

    def _moment(self, present: Present) -> Moment:
        now = self._clock()
        if present.live.state is not self._state[0]:
            self._state = (present.live.state, now)
        call = present.calls[0] if present.calls else ""
        if call != self._call[0]:
            self._call = (call, now)
        return Moment(
            present,
            elapsed=now - self._began,
            in_state=now - self._state[1],
            in_call=now - self._call[1],
            told=self._told,
            until=self._until,
            now=time.time(),
            waits=self._countdown.text,
            is_held=self._countdown.is_held,
            keys=self._facts.keys,
            hold=self._facts.hold,
            release=self._facts.release,
            handoff=self._facts.handoff,
            workspace=self._facts.workspace,
        )


def _until(payload: Mapping[str, Any]) -> float | None:
    """When a wait ends, since the epoch; None when the event does not tell."""
    with suppress(KeyError, ValueError, TypeError):
        return seconds(payload["until"]) if payload.get("until") else time.time() + float(payload["seconds"])
    return None


def painted(rows: list[Row], columns: int) -> list[str]:
    """The rows with their styles, as a terminal takes them."""
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        width=columns,
        legacy_windows=False,
        highlight=False,
        _environ=os.environ,
    )
    painted = []
    for row in rows:
        with console.capture() as captured:
            console.print(Text.assemble(*row.parts), end="", no_wrap=True, overflow="crop", crop=True)
        painted.append(captured.get())
    return painted


@contextmanager
def live_terminal(output: Output) -> Iterator[None]:
    """While entered, an area may be shown; it is taken away before this process is stopped, and at every end."""

    def stop(number: int, _frame: FrameType | None) -> None:
        output.hide()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # the process goes on behind this line, in front or not
        signal.signal(number, stop)

    is_usual = signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL  # what is ignored on purpose stays so
    if is_usual:
        signal.signal(signal.SIGTSTP, stop)
    try:
        with output.live():
            yield
    finally:
        if is_usual:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
