"""Where the sections of a document are: which heading holds which field, and what is left over.

It must not know bytes, disks or how a document is written. What can hurt: a title that is taken for a section, a
sub-heading that is, an old session below a newer one, a document that stands in a fence or in a quotation. The rules,
in the order in which they are tried:

1. The shallowest level with known names is the sections' level; our own headings decide it where they stand.
2. Sure names first, then the wide ones, only for a section that has no better; each heading is taken once, except
   that one which names both required sections ("Status & next steps") gives its text to both.
3. A section still missing is looked for above (a sure name), one level down (sure names), for doing in the text
   under the title, for the required two in bold lines.
4. A document that stands twice: the last complete copy counts. Parts under titles of their own with both required
   sections in each are sessions: the newest counts, the others are kept apart whole.
5. No known heading at all: label lines; a document in a fence, a quotation or an indented block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from flower_mcp.core.headings import FIELDS, Tier
from flower_mcp.core.names import is_ours, is_title
from flower_mcp.core.plain import split_lines
from flower_mcp.core.scan import GONE, LABEL_LEVEL, PLAIN, Mark, Scan, is_rule, labels, scan, show
from flower_mcp.core.versions import drop_draft, newest
from flower_mcp.core.views import View, unwrapped

REQUIRED = ("doing", "next")
_ROUNDS = ((Tier.SURE, Tier.LOCAL), (Tier.A,), (Tier.B,), (Tier.C,))

Range = tuple[int, int]


@dataclass(slots=True)
class Part:
    """A heading with its lines: `fields` that it holds (none: an unknown section), the line ranges of its body.

    `mark` is None for doing read from the text under the title. `lifted`: found below the sections' level.
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


def outline(text: str) -> Outline:
    """Find the sections of a document. Never raises; time grows with the length of the text alone."""
    lines = split_lines(text.removeprefix("\ufeff"))
    best = _build(View(lines), scan(lines))
    if frozenset(FIELDS) <= best.found:
        return best
    if not best.sure:
        for view in unwrapped(lines):
            best = _better(best, _build(view, scan(view.lines)))
    if best.scan.damaged:
        best = _better(best, _build(best.view, scan(best.view.lines, cut_fences=True)))
    return best


def lines_of(found: Scan, ranges: Sequence[Range]) -> list[Range]:
    """Return the ranges without blank lines, comments and trailing rules at their ends; empty ones are left out."""
    kept = []
    for start, end in ranges:
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


def _better(one: Outline, other: Outline) -> Outline:
    """Return the outline with more of the required sections, then of all sections; the first when they are equal."""

    def worth(outline: Outline) -> tuple[int, int]:
        return len(outline.found & {*REQUIRED}), len(outline.found)

    return other if worth(other) > worth(one) else one


def _build(view: View, found: Scan) -> Outline:
    """Find the sections of one view of the document."""
    marks = found.marks
    level = _section_level(marks)
    if level:
        outline = Outline(found, view, level=level)
    else:
        chosen = _label_marks(found)
        if not chosen:
            return Outline(found, view)
        marks, level = chosen, 2
        outline = Outline(found, view, level=level, labelled=True)
    total = len(found.lines)
    tops = [mark for mark in marks if mark.level <= level]
    ends = [mark.line for mark in tops[1:]] + [total]
    title = _title(tops, level)
    parts = [Part(mark, [(mark.end, end)]) for mark, end in zip(tops, ends, strict=True) if mark is not title]
    parts = newest(parts, level)
    _claim(parts, level)
    parts = drop_draft(parts, found)
    _look_above(parts, level)
    if not outline.labelled:
        parts = _lift(parts, marks, level)
        _take_title_text(parts, title, found, marks)
        parts = _lift_bold(parts, found)
    outline.parts = sorted(parts, key=lambda part: part.line)
    return outline


def _section_level(marks: Sequence[Mark]) -> int:
    """Return the level at which the sections stand, 0 when no heading is known."""
    ours = [mark.level for mark in marks if is_ours(mark.words)]
    if ours:
        return min(ours)
    levels = sorted({mark.level for mark in marks if mark.name.claims})
    if len(levels) > 1 and _only_title(marks, levels[0]):
        return levels[1]
    return levels[0] if levels and not (levels[0] == marks[0].level and _named_title(marks, levels[0])) else 0


def _only_title(marks: Sequence[Mark], level: int) -> bool:
    """Say whether the first heading of all is the only one of its level: a title, whatever it says."""
    return marks[0].level == level and sum(mark.level == level for mark in marks) == 1


def _named_title(marks: Sequence[Mark], level: int) -> bool:
    """Say whether the one known heading at a level is the document's title."""
    return is_title(marks[0].words) and sum(mark.level == level and bool(mark.name.claims) for mark in marks) == 1


def _title(tops: Sequence[Mark], level: int) -> Mark | None:
    """Return the heading that is the document's title: the first, above the sections' level or named like one."""
    if not tops or tops[0].label:
        return None
    first = tops[0]
    if first.level < level and (not first.name.sure or is_title(first.words) or _elsewhere(first, tops)):
        return first
    return first if first.level == level and is_title(first.words) and not is_ours(first.words) else None


def _elsewhere(first: Mark, tops: Sequence[Mark]) -> bool:
    """Say whether all that a heading names is named by others too."""
    named = {claim.field for mark in tops[1:] for claim in mark.name.claims}
    return all(claim.field in named for claim in first.name.claims)


def _claim(parts: Sequence[Part], level: int) -> None:
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


def _look_above(parts: Sequence[Part], level: int) -> None:
    """Take a missing section from a heading above the sections' level, when its name is sure."""
    for name in _missing(parts):
        for part in parts:
            mark = part.mark
            if mark and not part.whole and mark.level < level and mark.name.tier_for(name) == Tier.SURE:
                part.fields.append(name)
                break


def _lift(parts: Sequence[Part], marks: Sequence[Mark], level: int) -> list[Part]:
    """Lift missing sections from one level below, when their names are sure; the rest stays where it was."""
    missing = _missing(parts)
    lower = [mark for mark in marks if mark.level > level]
    if not missing or not lower:
        return list(parts)
    lifted: list[Part] = []
    at = 0
    for part in parts:
        start, end = part.ranges[0]
        while at < len(lower) and lower[at].line < start:
            at += 1
        first = at
        while at < len(lower) and lower[at].line < end:
            at += 1
        if not part.whole:
            lifted += _lift_from(part, lower[first:at], missing)
    return [*parts, *lifted]


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


def _take_title_text(parts: list[Part], title: Mark | None, found: Scan, marks: Sequence[Mark]) -> None:
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


def _lift_bold(parts: Sequence[Part], found: Scan) -> list[Part]:
    """Last of all: a required section that is missing and stands under a bold line of its own inside another."""
    missing = [name for name in _missing(parts) if name in REQUIRED]
    if not missing or not any(part.fields for part in parts):
        return list(parts)
    bold = [replace(mark, level=LABEL_LEVEL) for mark in labels(found) if mark.alone and "*" in mark.raw + "_"]
    lifted: list[Part] = []
    at = 0
    for part in sorted(parts, key=lambda one: one.line):
        start, end = part.ranges[0]
        while at < len(bold) and bold[at].line < start:
            at += 1
        first = at
        while at < len(bold) and bold[at].line < end:
            at += 1
        if part.mark and not part.whole and len(part.ranges) == 1:
            lifted += _lift_from(part, bold[first:at], missing)
    return [*parts, *lifted]


def _label_marks(found: Scan) -> list[Mark]:
    """Return the label lines of a document without known headings, with its title; nothing when they are too few.

    Labels count only where there is no heading but a title. A plain "Name: text" counts only when both required
    sections are written that way; a bold, listed or lone label needs two sections, one of them required.
    """
    titles = found.marks
    if len(titles) > 1 or (titles and titles[0].level > 2):
        return []
    every = labels(found)
    for strict in (True, False):
        chosen = [mark for mark in every if not strict or mark.alone or mark.listed or mark.raw[:2] in {"**", "__"}]
        fields = {mark.name.claims[0].field for mark in chosen if mark.name.claims}
        enough = len(fields) > 1 and fields & {*REQUIRED} if strict else {*REQUIRED} <= fields
        if enough:
            heads = [replace(mark, level=1) for mark in titles if mark.line < chosen[0].line]
            return [*heads, *(mark for mark in chosen if strict or mark.name.claims)]
    return []
