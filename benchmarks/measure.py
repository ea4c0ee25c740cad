"""What every measurement needs: samples taken in turns, lines of the one table, and how a measurement is run.

A module of this folder has a `measure(size)` that yields lines, and ends in `run("its title", measure)`. By itself it
prints its lines; `python -m benchmarks` runs all of them and makes the table. It knows nothing of what is measured.

What can hurt: a figure of something that went wrong looks like any other, so what was timed is looked at (`check`) in
every round. And a machine's load changes between rounds, so two things are compared round by round, taken in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Any

from flower_mcp.workbench.windows import STATE_FOLDER

# Of a session that this was started in; and what would have Python compile anew at each start, or write unbuffered.
INHERITED = ("ANTHROPIC_", "CLAUDE", "DISABLE_", "FLOWER", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")


class Size(StrEnum):
    """How much is measured: all of it, or just enough to see that the machinery works."""

    FULL = "full"
    SMALL = "small"

    def of(self, full: int, small: int) -> int:
        """The one or the other."""
        return full if self is Size.FULL else small


class Void(Exception):
    """What was timed was not what should be timed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table: a figure in `unit`, what it may be `most` or must be `least`, and what it was made of."""

    name: str
    figure: float
    unit: str = "x"
    most: float | None = None
    least: float | None = None
    shown: str = ""

    @property
    def kept(self) -> bool:
        """Whether the promise is kept, if there is one."""
        is_over = self.most is not None and self.figure > self.most
        return not is_over and (self.least is None or self.figure >= self.least)

    @property
    def promise(self) -> str:
        """What was promised, in words."""
        ends = [f"at most {_number(self.most)}"] if self.most is not None else []
        return " and ".join([f"at least {_number(self.least)}"] * (self.least is not None) + ends)

    @property
    def value(self) -> str:
        """The figure with its unit."""
        return f"{_number(self.figure)} {self.unit}".rstrip()

    def text(self) -> str:
        """The line for a terminal."""
        verdict = f"{self.promise}: {'kept' if self.kept else 'MISSED'}" if self.promise else ""
        return f"  {self.name:<58} {self.value:>14}   {verdict:<24} {self.shown}".rstrip()


@dataclass(slots=True)
class Samples:
    """Samples by what was measured, one a round, in seconds unless said."""

    of: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """Keep a sample."""
        self.of.setdefault(name, []).append(value)

    def take(self, name: str, work: Callable[[], Any]) -> Any:
        """Time the work; what it gave."""
        began = time.perf_counter()
        given = work()
        self.add(name, time.perf_counter() - began)
        return given

    def counted(self, name: str) -> list[float]:
        """The samples without the first one, which filled caches."""
        return self.of[name][1:] or self.of[name]

    def median(self, name: str) -> float:
        """The median of what counts."""
        return median(self.counted(name))

    def ratio(self, title: str, name: str, base: str, *, less: str = "", **ends: float) -> Line:
        """The median of the rounds' own ratios to `base`; `less` names samples that are taken off first."""
        off = self.counted(less) if less else [0.0] * len(self.counted(name))
        taken = [whole - part for whole, part in zip(self.counted(name), off, strict=True)]
        value = median(one / other for one, other in zip(taken, self.counted(base), strict=True))
        return Line(title, value, "x", shown=f"{ms(self.counted(name))} beside {ms(self.counted(base))}", **ends)


Measure = Callable[[Size], Iterator[Line]]


def check(fact: object, what: str) -> None:
    """Raise Void unless the fact holds."""
    if not fact:
        raise Void(f"the measurement is void: {what}")


def ms(samples: Sequence[float]) -> str:
    """The median in milliseconds, as text."""
    value = median(samples) * 1000
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} ms"


def mb(size: float) -> str:
    """Bytes in millions, as text."""
    return f"{size / 1e6:.1f} MB"


def run(title: str, measure: Measure) -> None:
    """Measure, print, and exit: 0, 1 when a promise was missed, 2 when the measurement was void.

    A small run breaks no promise: it is there to see the machinery work. What is measured finds nothing in the
    environment of a session that this was started in, and keeps what it knows of its user in a folder that goes away.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.NAME", description=f"Measure: {title}.")
    parser.add_argument("--small", action="store_true", help="as little as shows that the machinery works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the lines there, too")
    given = parser.parse_args()
    print(title, flush=True)
    with tempfile.TemporaryDirectory(prefix="flower-benchmark-state-") as state:
        _forget_session()
        os.environ[STATE_FOLDER] = state
        try:
            lines = list(_told(measure(Size.SMALL if given.small else Size.FULL)))
        except Void as error:
            print(f"  {error}", file=sys.stderr)
            sys.exit(2)
        except Exception:  # noqa: BLE001  # what failed in another way is not a promise that was missed
            traceback.print_exc()
            sys.exit(2)
    if given.json:
        given.json.write_text(json.dumps({"title": title, "lines": [asdict(line) for line in lines]}), encoding="utf-8")
    sys.exit(0 if given.small or all(line.kept for line in lines) else 1)


def _forget_session() -> None:
    for name in list(os.environ):
        if name.startswith(INHERITED):
            del os.environ[name]


def _told(lines: Iterator[Line]) -> Iterator[Line]:
    """The lines, each printed as it comes."""
    for line in lines:
        print(line.text(), flush=True)
        yield line


def _number(value: float | None) -> str:
    """Two decimals where they say something, thousands apart, no zeros at the end."""
    if value is None:
        return ""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2f}"
