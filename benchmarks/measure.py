"""Samples, medians and the one table that each measurement prints. It knows nothing of what is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: what was measured, in seconds, a sample a round."""

    name: str
    samples: Sequence[float]

    def line(self, width: int) -> str:
        """Median, least and most in milliseconds."""
        figures = "".join(f"{value * 1000:10.0f}" for value in (median(self.samples), *_ends(self.samples)))
        return f"{self.name:<{width}}{figures}"


@dataclass(frozen=True, slots=True)
class Ratio:
    """A promise: `measured` takes at most `most` times as long as `base`; the two were taken in turns.

    Held against the median of the rounds' own ratios, since a machine's load changes between rounds.
    """

    measured: Row
    base: Row
    most: float

    @property
    def value(self) -> float:
        """The median ratio."""
        pairs = zip(self.measured.samples, self.base.samples, strict=True)
        return median(measured / base for measured, base in pairs)

    @property
    def kept(self) -> bool:
        """Whether the promise is kept."""
        return self.value <= self.most


def report(title: str, ratio: Ratio, parts: Sequence[Row] = ()) -> bool:
    """Print the table, and say whether the promise is kept."""
    rows = [ratio.base, ratio.measured, *parts]
    width = max(len(title), *(len(row.name) for row in rows)) + 2
    print(f"{title:<{width}}{'median ms':>10}{'least':>10}{'most':>10}")
    for row in rows:
        print(row.line(width))
    verdict = "kept" if ratio.kept else "MISSED"
    print(f"ratio {ratio.value:.2f}, at most {ratio.most:g}: {verdict} ({len(ratio.base.samples)} rounds, in turns)")
    return ratio.kept


def _ends(samples: Sequence[float]) -> tuple[float, float]:
    return min(samples), max(samples)
