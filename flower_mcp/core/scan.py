"""The lines of a document: which are code, which are comments, which are headings.

It must not know which headings make a section (`outline.py`). What can hurt: a fence that never closes swallows the
rest of a document; a look ahead from every line makes a hostile document slow, so every line is looked at a bounded
number of times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from flower_mcp.core.marks import FENCE, UNDERLINE, Mark, bracket_left_open, fence_mark, heading, label
from flower_mcp.core.names import read_name

PLAIN, CODE, GONE = 0, 1, 2
"""What a line is: text, part of a code fence, or a comment or front matter that holds no content."""

_FILLED = re.compile(r"\S")
_FRONT_LINE = re.compile(r"[\w\"'][^:]{0,200}:(?:\s|\Z)|\s|-|#|\Z")


@dataclass(slots=True)
class Scan:
    """The lines (comments cut out), what each is, the headings in order, and whether a fence looks broken."""

    lines: list[str]
    kinds: bytearray
    marks: list[Mark] = field(default_factory=list)
    damaged: bool = False


def scan(lines: Sequence[str], *, cut_fences: bool = False) -> Scan:
    """Go through the lines once. With `cut_fences` a code fence ends before a heading that surely names a section."""
    result = Scan(list(lines), bytearray(len(lines)))
    unknown_underlined: list[Mark] = []
    at = _skip_front_matter(result)
    last_comment_end = -2
    while at < len(result.lines):
        line = result.lines[at]
        stripped = line.lstrip(" \t")
        first = stripped[:1]
        if first in {"`", "~"} and FENCE.match(stripped):
            at = _fence(result, at, stripped, cut_fences)
            continue
        if first == "<" and stripped.startswith("<!--"):
            if last_comment_end == -2:
                last_comment_end = max((i for i, one in enumerate(result.lines) if "-->" in one), default=-1)
            at = _comment(result, at, last_comment_end)
            continue
        mark = _mark(result.lines, at, stripped)
        if mark is None:
            at += 1
            continue
        known = not mark.underlined or mark.name.claims or mark.name.open
        (result.marks if known else unknown_underlined).append(mark)
        at = mark.end if known else at + 1
    if unknown_underlined and any(mark.underlined for mark in result.marks):
        _add_underlined(result, unknown_underlined)
    return result


def labels(found: Scan) -> list[Mark]:
    """Return all label lines outside code. An unknown bold line counts only with a blank line on either side."""
    marks: list[Mark] = []
    for at, line in enumerate(found.lines):
        if (
            found.kinds[at] != PLAIN
            or not line
            or (":" not in line and "：" not in line and "*" not in line and "__" not in line)
        ):
            continue
        mark = label(line, at)
        if mark and (mark.name.claims or mark.name.open or _stands_apart(found.lines, at)):
            marks.append(mark)
    return marks


def _mark(lines: Sequence[str], at: int, stripped: str) -> Mark | None:
    """Return the heading that begins at a line, marked or underlined."""
    if stripped[:1] in {"#", "＃"}:
        found = heading(lines[at])
        if found is None:
            return None
        level, words = found
        end = at + 1
        if bracket_left_open(words) and end < len(lines):
            below = heading(lines[end])
            if (
                below
                and below[0] == level
                and any(bracket in below[1] for bracket in ")）")
                and not read_name(below[1]).claims
            ):
                words, end = f"{words} {below[1]}", end + 1
        raw = "\n".join(line.strip() for line in lines[at:end])
        name = read_name(words)
        return Mark(at, end, level, words, raw, name, name.text)
    if (
        not stripped
        or stripped[0] in "\\>|-+*="
        or at + 1 >= len(lines)
        or lines[at + 1].lstrip(" ")[:1] not in {"=", "-"}
    ):
        return None
    underline = UNDERLINE.match(lines[at + 1])
    if not underline or len(stripped) > 200:
        return None
    level = 1 if underline[1][0] == "=" else 2
    words = stripped.strip()
    name = read_name(words)
    if not (name.claims or name.open) and (len(underline[1]) < 3 or (at and lines[at - 1].strip())):
        return None
    return Mark(at, at + 2, level, words, "#" * level + " " + words, name, name.text, underlined=True)


def _add_underlined(result: Scan, unknown: list[Mark]) -> None:
    """Where known headings are underlined, unknown ones are too: take them as headings of their own."""
    taken = {line for mark in result.marks for line in range(mark.line, mark.end)}
    result.marks.extend(mark for mark in unknown if mark.line not in taken and result.kinds[mark.line + 1] == PLAIN)
    result.marks.sort(key=lambda mark: mark.line)


def _stands_apart(lines: Sequence[str], at: int) -> bool:
    """Say whether the lines before and behind are blank or absent."""
    return (at == 0 or not lines[at - 1].strip()) and (at + 1 == len(lines) or not lines[at + 1].strip())


def _skip_front_matter(result: Scan) -> int:
    """Mark front matter between two `---` at the very top; return the line behind it."""
    lines = result.lines
    start = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if start == len(lines) or lines[start].rstrip() != "---":
        return 0
    for at in range(start + 1, len(lines)):
        if lines[at].rstrip() in {"---", "..."}:
            result.kinds[: at + 1] = bytes([GONE]) * (at + 1)
            return at + 1
        if not _FRONT_LINE.match(lines[at]):
            break
    return 0


def _fence(result: Scan, at: int, stripped: str, cut_fences: bool) -> int:
    """Mark a code fence that begins at a line; return the line behind it. One that never closes takes all the rest."""
    mark, length = fence_mark(stripped)
    result.kinds[at] = CODE
    for line in range(at + 1, len(result.lines)):
        inner = result.lines[line].lstrip(" \t")
        if inner[:1] == mark:
            bare = inner.rstrip(" \t")
            if len(bare) >= length and not bare.strip(mark):
                result.kinds[line] = CODE
                return line + 1
            if FENCE.match(inner) and fence_mark(inner)[1] >= length:
                result.damaged = True
        if cut_fences and inner[:1] in {"#", "＃"}:
            found = heading(result.lines[line])
            if found and read_name(found[1]).sure:
                return line
        result.kinds[line] = CODE
    result.damaged = True
    return len(result.lines)


def _comment(result: Scan, at: int, last_end: int) -> int:
    """Cut out the comments that begin at a line; return the line behind them. One that never ends is text."""
    lines = result.lines
    position = len(lines[at]) - len(lines[at].lstrip(" \t"))
    line = at
    while lines[line].startswith("<!--", position):
        end = lines[line].find("-->", position + 4)
        if end < 0 and line >= last_end:
            break
        while end < 0:
            result.kinds[line] = GONE
            line += 1
            end = lines[line].find("-->")
        behind = _FILLED.search(lines[line], end + 3)
        if not behind:
            result.kinds[line] = GONE
            return line + 1
        position = behind.start()
    if position:
        lines[line] = lines[line][position:] if line > at or "-->" in lines[line][:position] else lines[line]
    return line + 1
