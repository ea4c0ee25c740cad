"""Where the sections of a document are: which heading holds which field, and what is left over.

It must not know bytes, disks or how a document is written. What can hurt: a title that is taken for a section, a
sub-heading that is, an old session below a newer one, a document that stands in a fence or in a quotation. The rules,
in the order in which they are tried:

1. The shallowest level with the names of two sections is the sections' level; our own headings decide it.
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
from dataclasses import replace

from flower_mcp.core.claims import claim, lift, lift_bold, look_above, take_title_text
from flower_mcp.core.handoff import REQUIRED
from flower_mcp.core.headings import FIELDS
from flower_mcp.core.marks import Mark
from flower_mcp.core.names import is_ours, is_title
from flower_mcp.core.parts import Outline, Part
from flower_mcp.core.plain import split_lines
from flower_mcp.core.scan import Scan, labels, scan
from flower_mcp.core.versions import drop_draft, newest
from flower_mcp.core.views import View, unwrapped


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
    parts, title = newest(parts, level, title)
    claim(parts, level)
    parts = drop_draft(parts, found)
    look_above(parts, level)
    if not outline.labelled:
        parts = lift(parts, marks, level)
        take_title_text(parts, title, found, marks)
        parts = lift_bold(parts, found)
    outline.parts = sorted(parts, key=lambda part: part.line)
    return outline


def _section_level(marks: Sequence[Mark]) -> int:
    """Return the level at which the sections stand, 0 when no heading is known."""
    ours = [mark.level for mark in marks if is_ours(mark.words)]
    if ours:
        return min(ours)
    fields: dict[int, set[str]] = {}
    for mark in marks:
        for known in mark.name.claims:
            fields.setdefault(mark.level, set()).add(known.field)
    levels = sorted(fields)
    if len(levels) > 1 and _only_title(marks, levels[0]):
        levels = levels[1:]
    elif levels and _named_title(marks, levels[0]):
        return 0
    return next((level for level in levels if len(fields[level]) > 1), levels[0] if levels else 0)


def _only_title(marks: Sequence[Mark], level: int) -> bool:
    """Say whether the first heading of all is the only one of its level: a title, whatever it says."""
    return marks[0].level == level and sum(mark.level == level for mark in marks) == 1


def _named_title(marks: Sequence[Mark], level: int) -> bool:
    """Say whether the one known heading at a level is the document's title."""
    return (
        marks[0].level == level
        and is_title(marks[0].words)
        and sum(mark.level == level and bool(mark.name.claims) for mark in marks) == 1
    )


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
