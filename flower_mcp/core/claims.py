"""Which heading holds which section: sure names first, wide ones where nothing better is, then other places.

It must not know how headings are found. What can hurt: a wide name that takes a section from a sure one; a sub-heading
of next ("Now") that is taken for doing; a table of keys under the title that is taken for content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flower_mcp.core.handoff import REQUIRED
from flower_mcp.core.headings import FIELDS, Tier
from flower_mcp.core.marks import LABEL_LEVEL, Mark, is_rule
from flower_mcp.core.parts import Part, Range, lines_of
from flower_mcp.core.scan import GONE, PLAIN, Scan, labels

_ROUNDS = ((Tier.SURE, Tier.LOCAL), (Tier.A,), (Tier.B,), (Tier.C,))


def claim(parts: Sequence[Part], level: int) -> None:
    """Give each field its headings: the surest tier that any heading has for it."""
    here = [part for part in parts if part.mark and not part.whole and part.mark.level == level]
    had: set[str] = set()
    for tiers in _ROUNDS:
        for name in FIELDS:
            if name in had:
                continue
            for part in here:
                mark = part.mark
                if mark and mark.name.tier_for(name) in tiers and _may_share(part, name):
                    part.fields.append(name)
                    had.add(name)


def _may_share(part: Part, name: str) -> bool:
    """Say whether a heading may hold one more field: its first, or the other required one."""
    if not part.fields:
        return True
    joined = part.mark is not None and len(part.mark.name.claims) > 1
    return joined and {*part.fields, name} <= {*REQUIRED}


def _missing(parts: Sequence[Part]) -> list[str]:
    had = {name for part in parts for name in part.fields}
    return [name for name in FIELDS if name not in had]


def look_above(parts: Sequence[Part], level: int) -> None:
    """Take a missing section from a heading above the sections' level, when its name is sure."""
    for name in _missing(parts):
        for part in parts:
            mark = part.mark
            if mark and not part.whole and mark.level < level and mark.name.tier_for(name) == Tier.SURE:
                part.fields.append(name)
                break


def lift(parts: Sequence[Part], marks: Sequence[Mark], level: int) -> list[Part]:
    """Lift missing sections from one level below, when their names are sure; the rest stays where it was.

    Lifted sections are looked through in their turn, for documents whose levels go down from section to section.
    """
    every = list(parts)
    lower = [mark for mark in marks if mark.level > level]
    fresh = every
    while fresh and lower and (missing := _missing(every)):
        fresh = _lift_once(fresh, lower, missing)
        every = [*every, *fresh]
    return every


def _lift_once(parts: Sequence[Part], lower: Sequence[Mark], missing: Sequence[str]) -> list[Part]:
    """Go through parts in order, each with the headings that stand in it; return what was lifted."""
    lifted: list[Part] = []
    at = 0
    for part in parts:
        start, end = part.ranges[0]
        while at < len(lower) and lower[at].line < start:
            at += 1
        first = at
        while at < len(lower) and lower[at].line < end:
            at += 1
        if part.mark and not part.whole and len(part.ranges) == 1:
            lifted += _lift_from(part, lower[first:at], missing)
    return lifted


def _lift_from(part: Part, below: Sequence[Mark], missing: Sequence[str]) -> list[Part]:
    """Take the missing sections out of one part; `below` are the headings in it."""
    if not below:
        return []
    level = min(mark.level for mark in below)
    direct = [mark for mark in below if mark.level == level]
    start, end = part.ranges[0]
    ends = [mark.line for mark in direct[1:]] + [end]
    lifted: list[Part] = []
    kept: list[Range] = []
    for mark, stop in zip(direct, ends, strict=True):
        name = next((one for one in missing if mark.name.tier_for(one) == Tier.SURE), None)
        if name is not None and name not in part.fields:
            lifted.append(Part(mark, [(mark.end, stop)], [name]))
            kept.append((start, mark.line))
            start = stop
    if lifted:
        part.ranges = [*kept, (start, end)]
    return lifted


def take_title_text(parts: list[Part], title: Mark | None, found: Scan, marks: Sequence[Mark]) -> None:
    """When no heading holds doing, the text under the title is it: plain text, no quotation and no table of keys."""
    if title is None or "doing" not in _missing(parts) or not any(part.fields for part in parts):
        return
    end = next((mark.line for mark in marks if mark.line >= title.end), len(found.lines))
    ranges: list[Range] = []
    for at in range(title.end, end):
        line = found.lines[at].lstrip()
        if line[:1] in {">", "|"} or found.kinds[at] == GONE or (found.kinds[at] == PLAIN and is_rule(line)):
            continue
        if ranges and ranges[-1][1] == at:
            ranges[-1] = (ranges[-1][0], at + 1)
        else:
            ranges.append((at, at + 1))
    ranges = lines_of(found, ranges)
    if ranges:
        parts.append(Part(None, ranges, ["doing"]))


def lift_bold(parts: Sequence[Part], found: Scan) -> list[Part]:
    """Last of all: a required section that is missing and stands under a bold line of its own inside another."""
    missing = [name for name in _missing(parts) if name in REQUIRED]
    if not missing or not any(part.fields for part in parts):
        return list(parts)
    bold = [replace(mark, level=LABEL_LEVEL) for mark in labels(found) if mark.alone and mark.raw[:2] in {"**", "__"}]
    return [*parts, *_lift_once(sorted(parts, key=lambda part: part.line), bold, missing)]
