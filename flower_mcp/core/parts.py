"""The parts of a document: a heading with its lines, and the text that these lines hold.

It must not know which heading holds which section (`outline.py`, `claims.py`). What can hurt: rules and blank lines
between sections belong to none, but a rule followed by text does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flower_mcp.core.hiding import show
from flower_mcp.core.marks import Mark, is_rule
from flower_mcp.core.scan import GONE, PLAIN, Scan
from flower_mcp.core.views import View

Range = tuple[int, int]


@dataclass(slots=True)
class Part:
    """A heading with its lines: `fields` that it holds (none: an unknown section), the line ranges of its body.

    `mark` is None for doing read from the text under the title. `whole`: an older session's document, kept as one part.
    """

    mark: Mark | None
    ranges: list[Range]
    fields: list[str] = field(default_factory=list)
    whole: bool = False

    @property
    def line(self) -> int:
        """The line on which the part begins."""
        return self.mark.line if self.mark else self.ranges[0][0]


@dataclass(slots=True)
class Outline:
    """A document's parts in order: sections and unknown sections, with the scan and the view they were found in.

    `level` is the sections' level (0: no section found, or labels), `labelled` says that sections are label lines.
    """

    scan: Scan
    view: View
    parts: list[Part] = field(default_factory=list)
    level: int = 0
    labelled: bool = False

    def of(self, name: str) -> list[Part]:
        """Return the parts that hold a field, in order."""
        return [part for part in self.parts if name in part.fields]

    @property
    def found(self) -> frozenset[str]:
        """The fields that have a heading, or doing's text under the title."""
        return frozenset(name for part in self.parts for name in part.fields)

    @property
    def sure(self) -> bool:
        """Whether a heading that surely names a section stands here."""
        return any(part.mark and part.fields and part.mark.name.sure for part in self.parts)


def lines_of(found: Scan, ranges: Sequence[Range]) -> list[Range]:
    """Return the ranges without blank lines, comments and trailing rules at their ends; empty ones are left out."""
    kept = []
    for first, behind in ranges:
        start, end = first, behind
        while end > start and _holds_nothing(found, end - 1, rules=True):
            end -= 1
        while start < end and _holds_nothing(found, start, rules=False):
            start += 1
        if start < end:
            kept.append((start, end))
    return kept


def text_of(found: Scan, ranges: Sequence[Range]) -> str:
    """Return the text of ranges as it was meant: comments gone, hiding backslashes off, blank line between ranges."""
    pieces = []
    for start, end in lines_of(found, ranges):
        pieces.append(
            "\n".join(
                show(found.lines[at]) if found.kinds[at] == PLAIN else found.lines[at]
                for at in range(start, end)
                if found.kinds[at] != GONE
            )
        )
    return "\n\n".join(pieces)


def _holds_nothing(found: Scan, at: int, *, rules: bool) -> bool:
    kind = found.kinds[at]
    if kind == GONE:
        return True
    line = found.lines[at]
    return not line.strip() or (rules and kind == PLAIN and is_rule(line))
