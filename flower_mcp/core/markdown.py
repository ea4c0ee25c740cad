"""A handoff as a document and back: the writer, and the one lenient reader that everything uses.

It must not know files or bytes. What can hurt: a section's text that looks like a heading, an open fence or a comment
would change the sections behind it, so the writer hides such lines behind a backslash and the reader takes it off.

Canonical is a handoff that a document can hold exactly. In each text: line ends are LF, no NUL, no blank lines at
either end, and a text that only says "empty" ("(空)", "None.", a comment) is "". Each extra has a heading of one line
with one or two marks, names a field that it follows, and extras stand in the order of those fields. `canonical` brings
any handoff there, and for every handoff `from_markdown(to_markdown(h)) == canonical(h)`.
"""

from __future__ import annotations

import re

from flower_mcp.core.editing import Span, edit_section, missing_sections, sections_of
from flower_mcp.core.handoff import EMPTY, FIELDS, Extra, Handoff
from flower_mcp.core.headings import OUR_HEADINGS
from flower_mcp.core.hiding import hide
from flower_mcp.core.names import is_title, read_name
from flower_mcp.core.outline import outline
from flower_mcp.core.parts import Outline, Part, text_of
from flower_mcp.core.plain import canonical_text, says_nothing

__all__ = [
    "Span",
    "canonical",
    "edit_section",
    "from_markdown",
    "missing_sections",
    "sections_of",
    "to_markdown",
]

_FRAME = (
    "> Written by the session before you. This is the file the next session reads: edit anything.",
    "> 这份文件就是接手的人读的东西,随便改。",
)
_PLACES = ("", *FIELDS)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def to_markdown(handoff: Handoff) -> str:
    """Return the document: title, two lines for people, the five headings, extras where they belong; ends with LF."""
    handoff = canonical(handoff)
    lines = [f"# 交接 · {_one_line(handoff.step)}".rstrip(), "", *_FRAME, ""]
    for place in _PLACES:
        if place:
            text = getattr(handoff, place)
            lines.append(f"## {OUR_HEADINGS[place]}")
            lines += hide(text.split("\n")) if text else [EMPTY]
        for extra in handoff.extra:
            if extra.after == place:
                lines += [_written_heading(extra.heading), "", *(hide(extra.text.split("\n")) if extra.text else [])]
    return "\n".join(lines) + "\n"


def from_markdown(text: str, step: str = "") -> Handoff:
    """Read a document, however it was written. Never raises; linear time. `step` is put into the result, not read.

    What has no section is ""; sections of the same level that are none of the five are kept as extras.
    """
    found = outline(text)
    texts = {name: _joined(found, name) for name in FIELDS}
    return Handoff(step=step, **texts, extra=tuple(_extras(found)))


def canonical(handoff: Handoff) -> Handoff:
    """Return the handoff as a document can hold it; see the module's first lines."""
    texts = {name: canonical_text(getattr(handoff, name)) for name in FIELDS}
    extras = [_canonical_extra(extra) for extra in handoff.extra]
    extras.sort(key=lambda extra: _PLACES.index(extra.after))
    return Handoff(step=handoff.step, **texts, extra=tuple(extras))


def _canonical_extra(extra: Extra) -> Extra:
    words = _one_line(extra.heading)
    marks = re.match(r"[#＃]{1,6}(?![#＃])", words)
    level = 1 if marks and len(marks[0]) == 1 else 2
    words = (words[marks.end() :] if marks else words).strip()
    after = extra.after if extra.after in _PLACES else FIELDS[-1]
    return Extra("#" * level + " " + (words or "Notes"), canonical_text(extra.text), after)


def _written_heading(heading: str) -> str:
    """Return an extra's canonical heading so that it is read back as itself and as none of the five."""
    marks, _, words = heading.partition(" ")
    hidden = words.startswith("\\") or read_name(words).claims or is_title(words) or _all_hashes(words)
    return f"{marks} \\{words}" if hidden else heading


def _all_hashes(words: str) -> bool:
    return not words.rstrip("#").strip()


def _one_line(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()


def _joined(found: Outline, name: str) -> str:
    """Return a field's text from all its parts; a later part under another name keeps its heading."""
    pieces: list[str] = []
    names: set[str] = set()
    for part in found.of(name):
        text = _part_text(found, part)
        if says_nothing(text):
            continue
        key = part.mark.name.key if part.mark else ""
        if pieces and part.mark and key not in names:
            text = f"{part.mark.raw}\n\n{text}"
        names.add(key)
        pieces.append(text)
    return canonical_text("\n\n".join(pieces))


def _part_text(found: Outline, part: Part) -> str:
    """Return one part's text: what stands in the heading behind the colon, then its lines."""
    text = text_of(found.scan, part.ranges)
    mark = part.mark
    if mark is None:
        return text
    if mark.listed:
        text = _dedented(text)
    if not mark.text:
        return text or mark.name.remark
    blank = mark.end < len(found.scan.lines) and not found.scan.lines[mark.end].strip()
    return "\n".join([mark.text, *([""] if blank and text else []), *([text] if text else [])])


def _dedented(text: str) -> str:
    """Take the indentation of a list item's lines off, as far as they share it."""
    lines = text.split("\n")
    depth = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return "\n".join(line[depth:] for line in lines)


def _extras(found: Outline) -> list[Extra]:
    extras: list[Extra] = []
    after = ""
    for part in found.parts:
        if part.fields:
            after = part.fields[-1]
        elif part.mark:
            text = text_of(found.scan, part.ranges)
            if part.mark.label and part.mark.text:
                heading, text = _label_and_text(part, text)
            else:
                heading = _shown_heading(part.mark.raw)
            extras.append(Extra(heading, canonical_text(text), after))
    return extras


def _label_and_text(part: Part, text: str) -> tuple[str, str]:
    """Split "Branch: main" into its label and its text."""
    if part.mark is None:
        return "", text
    words = part.mark.raw[: len(part.mark.raw) - len(part.mark.text)].rstrip()
    return words, "\n".join(piece for piece in (part.mark.text, text) if piece)


def _shown_heading(raw: str) -> str:
    """Take the backslash off that keeps an extra's heading from naming a section."""
    marks = re.match(r"([#＃]+[ \t\u3000]*)\\", raw)
    return marks[1] + raw[marks.end() :] if marks else raw
