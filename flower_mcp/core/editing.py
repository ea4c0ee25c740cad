"""Changing one section of a document and nothing else, character for character.

It must not know files or encodings (`decode.py`). What can hurt: a person's file is not in our layout, so places are
found by the one reader and given as offsets into the text as it stands; line ends, a BOM, comments outside the section
and everything in the other sections stay. New lines get the line end of the heading they stand under.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from flower_mcp.core.errors import Usage
from flower_mcp.core.handoff import EMPTY
from flower_mcp.core.headings import FIELDS, OUR_HEADINGS
from flower_mcp.core.hiding import hide, open_fence
from flower_mcp.core.outline import outline
from flower_mcp.core.parts import Outline, Part, Range, lines_of, text_of
from flower_mcp.core.plain import canonical_text, says_nothing

_LINE_END = re.compile(r"\r\0*\n|\r|\n")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")


class EditMode(StrEnum):
    """Whether new text takes the place of a section's text or follows it."""

    REPLACE = "replace"
    APPEND = "append"


@dataclass(frozen=True, slots=True)
class Span:
    """One section as it stands in a text: `field` ("" for an unknown one), the heading's line number from 1, and
    character offsets: of the heading's lines [heading_start, heading_end) and of the body [body_start, body_end).

    The body is without blank lines and rules around it; where it is empty both offsets are the heading's end. Text
    behind a heading's colon belongs to the body, which then begins inside the heading. `heading_end` is before the
    line end. A section read from the text under the title has an empty heading at its first line.
    """

    field: str
    line: int
    heading_start: int
    heading_end: int
    body_start: int
    body_end: int


@dataclass(slots=True)
class _Text:
    """A text with the offsets of its lines: starts, ends before the line end, and the sections found in it.

    `open`: a section is missing or sections are label lines, so that a new line may be read as a section although it
    is no heading of the sections' level. `fenced`: the document stands in a code fence, which a fence could end.
    """

    text: str
    found: Outline
    starts: list[int]
    ends: list[int]
    open: bool
    fenced: bool

    def start(self, line: int) -> int:
        """Where a line of the view begins in the text; the text's end for the line behind the last."""
        at = line + self.found.view.first
        return self.starts[at] if at < len(self.starts) else len(self.text)

    def end(self, line: int) -> int:
        """Where a line of the view ends, before its line end."""
        return self.ends[line + self.found.view.first]


def sections_of(text: str) -> tuple[Span, ...]:
    """Return all sections of a document, known and unknown, in the order in which they stand. Never raises.

    A heading that holds both required sections gives two spans. The title, talk around the document and older
    copies of it are no sections.
    """
    place = _placed(text)
    return tuple(_span(place, part, name) for part in place.found.parts for name in part.fields or [""])


def missing_sections(text: str) -> tuple[str, ...]:
    """Return the fields that have no heading at all: absent, not just empty."""
    found = outline(text).found
    return tuple(name for name in FIELDS if name not in found)


def edit_section(text: str, field: str, new_text: str, mode: str = EditMode.REPLACE) -> str:
    """Return the text with one section changed.

    `replace`: `new_text` stands in the section's first place, later places are emptied; nothing to say is written as
    "(空)". `append`: it follows the section's last place. A section that is absent is added where it belongs. Lines of
    `new_text` that would be read as a heading, a comment or an open fence are hidden behind a backslash.

    Raises Usage for a field that is none of the five and for another mode.
    """
    if field not in FIELDS:
        raise Usage(f"There is no section {field!r}.", next=f"The sections are {', '.join(FIELDS)}.")
    if mode not in {*EditMode}:
        raise Usage(f"There is no mode {mode!r}.", next="The modes are replace and append.")
    place = _placed(text)
    new = canonical_text(new_text)
    parts = place.found.of(field)
    if mode == EditMode.APPEND and not new:
        return text
    if not parts:
        return _add(place, field, new)
    shared = next((part for part in parts if len(part.fields) > 1), None)
    if shared is not None:
        return edit_section(_unshare(place, shared, field), field, new, mode)
    if mode == EditMode.APPEND:
        return _append(place, parts[-1], field, new)
    edits = _replacements(place, parts[0], field, new)
    for part in parts[1:]:
        edits += _replacements(place, part, field, "")
    return _apply(text, edits)


_Edit = tuple[int, int, str]


def _placed(text: str) -> _Text:
    starts = [1 if text.startswith("\ufeff") else 0]
    ends: list[int] = []
    for match in _LINE_END.finditer(text):
        ends.append(match.start())
        starts.append(match.end())
    ends.append(len(text))
    found = outline(text)
    is_open = found.labelled or found.found != frozenset(FIELDS)
    fenced = found.view.first > 0 and not found.view.prefix
    return _Text(text, found, starts, ends, is_open or fenced, fenced)


def _apply(text: str, edits: Sequence[_Edit]) -> str:
    """Carry out edits, none of which overlap."""
    pieces: list[str] = []
    at = 0
    for start, end, new in sorted(edits):
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def _span(place: _Text, part: Part, name: str) -> Span:
    bodies = lines_of(place.found.scan, part.ranges)
    first = place.found.view.first + 1
    mark = part.mark
    if mark is None:
        start = place.start(bodies[0][0])
        return Span(name, bodies[0][0] + first, start, start, start, place.end(bodies[0][1] - 1))
    heading_start, heading_end = place.start(mark.line), place.end(mark.end - 1)
    body_start = body_end = heading_end
    if bodies:
        body_start, body_end = place.start(bodies[0][0]), place.end(bodies[0][1] - 1)
    if mark.text:
        body_start = _text_start(place, part)
    return Span(name, mark.line + first, heading_start, heading_end, body_start, body_end)


def _text_start(place: _Text, part: Part) -> int:
    """Return where the text behind a heading's colon begins."""
    mark = part.mark
    if mark is None:
        return place.start(part.line)
    start, end = place.start(mark.line), place.end(mark.end - 1)
    at = place.text.rfind(mark.text.split("\n")[0], start, end)
    if at >= 0:
        return at
    colon = re.compile(r"[:：]\s*").search(place.text, start, end)
    return colon.end() if colon else end


def _new_lines(place: _Text, part: Part | None, new: str) -> list[str]:
    """Return the lines of a new text as they are to stand in this document."""
    found = place.found
    level = part.mark.level if part and part.mark else found.level or 2
    deepest = 6 if place.open else max(level, found.level, 2)
    lines = hide(new.split("\n"), level=deepest, names=place.open, fences=place.fenced)
    indent = "  " if part and part.mark and part.mark.listed else ""
    if part is not None and part.mark is None:
        lines = ["\\" + line if line.lstrip()[:1] in {">", "|"} else line for line in lines]
    return [_behind(found.view.prefix, indent + line if line.strip() else line) for line in lines]


def _behind(prefix: str, line: str) -> str:
    """Return a line with what stands before each line of the view; an empty one gets no trailing blank."""
    return prefix + line if line else prefix.rstrip()


def _newline(place: _Text, line: int) -> str:
    """Return the line end to use behind a line: its own, else the first of the text."""
    at = line + place.found.view.first
    if at + 1 < len(place.starts):
        return place.text[place.ends[at] : place.starts[at + 1]].replace("\0", "")
    return place.text[place.ends[0] : place.starts[1]].replace("\0", "") if len(place.starts) > 1 else "\n"


def _replacements(place: _Text, part: Part, field: str, new: str) -> list[_Edit]:
    """Return the edits that put a text into a part, in place of all that it holds."""
    mark = part.mark
    bodies = lines_of(place.found.scan, part.ranges)
    newline = _newline(place, part.line)
    lines = _new_lines(place, part, new or EMPTY)
    if mark is None:
        heading = f"{_marks(place)} {OUR_HEADINGS[field]}"
        lines = [_behind(place.found.view.prefix, heading), *_new_lines(place, None, new or EMPTY)]
    edits: list[_Edit] = []
    if mark and mark.text:
        edits.append((_text_start(place, part), place.end(mark.end - 1 if mark.raw.count("\n") else mark.line), ""))
    for start, end in bodies[1:]:
        edits.append((place.start(start), place.start(end), ""))
    if bodies:
        start, end = bodies[0]
        edits.append((place.start(start), place.end(end - 1), newline.join(lines)))
    elif mark:
        end_of_heading = place.end(mark.end - 1)
        edits.append((end_of_heading, end_of_heading, newline + newline.join(lines)))
    return edits


def _append(place: _Text, part: Part, field: str, new: str) -> str:
    """Put a text behind what a part holds; in its place when it holds nothing."""
    bodies = lines_of(place.found.scan, part.ranges)
    held = text_of(place.found.scan, part.ranges)
    inline = part.mark.text if part.mark else ""
    if says_nothing(held) and says_nothing(inline):
        return _apply(place.text, _replacements(place, part, field, new))
    newline = _newline(place, part.line)
    lines = _new_lines(place, part if part.mark else None, new)
    last = place.found.scan.lines[bodies[-1][1] - 1] if bodies else inline
    if not (_LIST_ITEM.match(last) and _LIST_ITEM.match(new)):
        lines.insert(0, _behind(place.found.view.prefix, ""))
    if bodies:
        fence = open_fence([line for start, end in bodies for line in place.found.scan.lines[start:end]])
        if fence:
            lines.insert(0, _behind(place.found.view.prefix, fence))
        at = place.end(bodies[-1][1] - 1)
    else:
        at = place.end(part.mark.end - 1) if part.mark else len(place.text)
    edits = [(at, at, "".join(newline + line for line in lines))]
    if part.mark is None:
        start = place.start(part.line)
        heading = _behind(place.found.view.prefix, f"{_marks(place)} {OUR_HEADINGS[field]}")
        edits.append((start, start, heading + newline))
    return _apply(place.text, edits)


def _add(place: _Text, field: str, new: str) -> str:
    """Add a section that is absent: before the first that comes later, else behind the last."""
    found = place.found
    prefix = found.view.prefix
    heading = f"**{OUR_HEADINGS[field]}**" if found.labelled else f"{_marks(place)} {OUR_HEADINGS[field]}"
    lines = [_behind(prefix, heading), *_new_lines(place, None, new or EMPTY)]
    blank = _behind(prefix, "")
    newline = _newline(place, 0)
    later = FIELDS[FIELDS.index(field) + 1 :]
    tops = [part for part in found.parts if part.mark and part.mark.level <= found.level]
    before = next((part for part in tops if {*part.fields} & {*later}), None)
    if before is not None:
        at = place.start(before.line)
        return _apply(place.text, [(at, at, "".join(line + newline for line in [*lines, blank]))])
    at, fence = _last_place(place, tops)
    added = [*([_behind(prefix, fence)] if fence else []), blank, *lines]
    if at == 0 or place.text[:at].strip("\ufeff") == "":
        return place.text + newline.join(lines) + newline
    tail = newline if at == len(place.text) else ""
    return _apply(place.text, [(at, at, "".join(newline + line for line in added) + tail)])


def _last_place(place: _Text, tops: Sequence[Part]) -> tuple[int, str]:
    """Return the offset behind the last section of the document, and the line that closes a fence left open there."""
    found = place.found
    ours = [part for part in tops if not part.whole]
    after = next((part for part in reversed(tops) if part.fields), None)
    if after is not None:
        following = tops[tops.index(after) + 1 :]
        stop = next((at for at, part in enumerate(following) if part.whole), len(following))
        ours = [after, *following[:stop]]
    end: Range = (0, len(found.scan.lines))
    if ours:
        end = (ours[-1].line, max(stop for _, stop in ours[-1].ranges))
    bodies = lines_of(found.scan, [end])
    if not bodies:
        return len(place.text), ""
    fence = open_fence(found.scan.lines[bodies[0][0] : bodies[0][1]])
    return place.end(bodies[0][1] - 1), fence


def _marks(place: _Text) -> str:
    return "#" * min(place.found.level or 2, 6)


def _unshare(place: _Text, part: Part, field: str) -> str:
    """Give a heading that holds both required sections the name of the other one, with its text under both."""
    mark = part.mark
    if mark is None:
        return place.text
    other = next(name for name in part.fields if name != field)
    marks = "**" if place.found.labelled else f"{_marks(place)} "
    heading = f"{marks}{OUR_HEADINGS[other]}{'**' if place.found.labelled else ''}"
    start, end = place.start(mark.line), place.end(mark.end - 1)
    newline = _newline(place, mark.line)
    held = [_behind(place.found.view.prefix, line) for line in mark.text.split("\n")] if mark.text else []
    text = place.text[:start] + newline.join([_behind(place.found.view.prefix, heading), *held]) + place.text[end:]
    return _add(_placed(text), field, text_of(place.found.scan, part.ranges) or mark.text)
