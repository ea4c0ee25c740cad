"""The lines of a document: which are code, which are comments, which are headings; and the backslash that hides one.

It must not know which headings make a section (`outline.py`). What can hurt: a fence that never closes swallows the
rest of a document; a pattern that looks ahead makes a hostile document slow, so every line is looked at a bounded
number of times.

Writer and reader agree through two functions: `hide` puts a backslash before a line that would be read as a heading,
an open fence, a comment or a rule at the end of a section; `show` takes one off. Both leave closed code fences alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from flower_mcp.core.names import Name, read_name

PLAIN, CODE, GONE = 0, 1, 2
"""What a line is: text, part of a code fence, or a comment or front matter that holds no content."""

LABEL_LEVEL = 7
"""The level of a bold label inside a section: below every heading."""

_ATX = re.compile(r" {0,3}([#＃]{1,6})(?![#＃])([ \t\u3000]*)(.*)", re.DOTALL)
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})", re.DOTALL)
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_FILLED = re.compile(r"\S")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*\Z")
_FRONT_LINE = re.compile(r"[\w\"'][^:]{0,200}:(?:\s|\Z)|\s|-|#|\Z")
_LABEL = re.compile(
    r" {0,3}(?P<list>(?:[-*+]|\d{1,3}[.)])[ \t]+)?"
    r"(?:(?P<bold>\*\*|__)(?P<name>[^*_]{1,120})(?P=bold)[ \t]*(?P<colon>[:：]?)|(?P<plain>[^:：*_#>|`]{1,80})[:：])"
    r"(?P<text>.*)\Z",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A heading: lines [line, end), level 1 to 7, its words, the line as shown to people, what it names.

    `text`: content that stands in the heading itself. `label`: it is a label line, not a heading. `alone`: nothing
    else stands on the label's line. `listed`: the label is a list item, so its text may be indented. `underlined`: the
    heading is marked by a line of = or - below it.
    """

    line: int
    end: int
    level: int
    words: str
    raw: str
    name: Name
    text: str = ""
    label: bool = False
    alone: bool = True
    listed: bool = False
    underlined: bool = False


@dataclass(slots=True)
class Scan:
    """The lines (comments cut out), what each is, the headings in order, and whether a fence looks broken."""

    lines: list[str]
    kinds: bytearray
    marks: list[Mark] = field(default_factory=list)
    damaged: bool = False


def heading(line: str) -> tuple[int, str] | None:
    """Return (level, words) of a line with heading marks, None for any other line.

    Without a space behind the marks it must be a known name, or Chinese behind two marks at least: `#42` and
    `#include` are no headings. Full-width marks count.
    """
    found = _ATX.match(line)
    if not found:
        return None
    words = found[3].rstrip()
    bare = words.rstrip("#")
    if bare != words and (not bare or bare[-1] in " \t"):
        words = bare.rstrip()
    level = len(found[1])
    if not words:
        return None
    if not found[2]:
        name = read_name(words)
        if not (name.claims or name.open or (level > 1 and words[0] >= "\u2e80")):
            return None
    return level, words


def is_rule(line: str) -> bool:
    """Say whether a line is a horizontal rule."""
    return _RULE.match(line) is not None


def label(line: str, number: int) -> Mark | None:
    """Return a label line ("**Next**", "- Next: text", "Next:") as a mark, None when its name is not known.

    A bold line that stands alone is returned even when unknown, with no claims.
    """
    if len(line) > 4000:
        return None
    found = _LABEL.match(line)
    if not found:
        return None
    words = (found["name"] or found["plain"]).strip()
    if words[-1:] in {":", "："}:
        words, colon = words[:-1].rstrip(), True
    else:
        colon = bool(found["colon"] or found["plain"])
    rest = found["text"].strip()
    if (rest and not colon) or not words:
        return None
    name = read_name(words)
    known = bool(name.claims or name.open)
    if not known and (rest or not found["bold"] or colon):
        return None
    if not found["bold"] and not known:
        return None
    return Mark(number, number + 1, 2, words, line.strip(), name, rest, True, not rest, bool(found["list"]))


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
        if first in {"`", "~"} and _FENCE.match(stripped):
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


def show(line: str) -> str:
    """Take off the backslash that `hide` put before a line; any other line stays as it is."""
    stripped = line.lstrip(" \t")
    if stripped[:1] != "\\":
        return line
    return line[: len(line) - len(stripped)] + stripped[1:] if _means_something(stripped.lstrip("\\")) else line


def hide(lines: Sequence[str], *, level: int = 2, names: bool = False) -> list[str]:
    """Return lines that will be read as one section's text and nothing else.

    Headings down to `level` get a backslash, with `names` also deeper headings and labels that name a section; so do
    comments, fences that never close and a rule at the end. Lines in closed fences stay as they are.
    """
    written = list(lines)
    closers = _closers(lines)
    at = 0
    while at < len(written):
        line = written[at]
        stripped = line.lstrip(" \t")
        if stripped[:1] in {"`", "~"} and _FENCE.match(stripped):
            end = _closer(lines, at, stripped, closers)
            if end is not None:
                at = end + 1
                continue
            written[at] = _hidden(line)
        elif _must_hide(lines, at, stripped, level, names):
            written[at] = _hidden(line)
        at += 1
    end = len(written)
    while end and not written[end - 1].strip():
        end -= 1
    if end and is_rule(written[end - 1]):
        written[end - 1] = _hidden(written[end - 1])
    return written


def open_fence(lines: Sequence[str]) -> str:
    """Return the closing line for a fence that the lines leave open, "" when they leave none open."""
    closers = _closers(lines)
    at = 0
    while at < len(lines):
        stripped = lines[at].lstrip(" \t")
        found = _FENCE.match(stripped) if stripped[:1] in {"`", "~"} else None
        if found:
            end = _closer(lines, at, stripped, closers)
            if end is None:
                return str(found[1] or found[2])
            at = end
        at += 1
    return ""


def _hidden(line: str) -> str:
    """Put one backslash before the first character that is no blank."""
    stripped = line.lstrip(" \t")
    return line[: len(line) - len(stripped)] + "\\" + stripped


def _must_hide(lines: Sequence[str], at: int, stripped: str, level: int, names: bool) -> bool:
    """Say whether a line outside code would be read as something else than text."""
    first = stripped[:1]
    if first == "\\":
        return _means_something(stripped.lstrip("\\"))
    if first == "<":
        return stripped.startswith("<!--")
    if first in {"#", "＃"}:
        found = heading(lines[at])
        return found is not None and (found[0] <= level or (names and bool(read_name(found[1]).claims)))
    if first in {"=", "-"} and at and _UNDERLINE.match(lines[at]):
        name = read_name(lines[at - 1].strip())
        return bool(name.claims or name.open) or names
    if not names:
        return False
    mark = label(lines[at], at)
    return mark is not None and bool(mark.name.claims or mark.name.open or mark.alone)


def _means_something(rest: str) -> bool:
    """Say whether a line without its leading backslashes is one that `hide` can have hidden."""
    first = rest[:1]
    if first in {"#", "＃"}:
        return heading(rest) is not None
    if first in {"`", "~"}:
        return _FENCE.match(rest) is not None
    if rest.startswith("<!--") or is_rule(rest) or _UNDERLINE.match(rest):
        return True
    return label(rest, 0) is not None


def _mark(lines: Sequence[str], at: int, stripped: str) -> Mark | None:
    """Return the heading that begins at a line, marked or underlined."""
    if stripped[:1] in {"#", "＃"}:
        found = heading(lines[at])
        if found is None:
            return None
        level, words = found
        end = at + 1
        if _bracket_left_open(words) and end < len(lines):
            below = heading(lines[end])
            if below and any(bracket in below[1] for bracket in ")）") and not read_name(below[1]).claims:
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
    underline = _UNDERLINE.match(lines[at + 1])
    if not underline or len(stripped) > 200:
        return None
    level = 1 if underline[1][0] == "=" else 2
    words = stripped.strip()
    name = read_name(words)
    if not (name.claims or name.open) and (len(underline[1]) < 3 or (at and lines[at - 1].strip())):
        return None
    return Mark(at, at + 2, level, words, "#" * level + " " + words, name, name.text, underlined=True)


def _bracket_left_open(words: str) -> bool:
    """Say whether a heading's line ends inside a bracket."""
    return words.count("(") + words.count("（") > words.count(")") + words.count("）")


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
    mark, length = _fence_mark(stripped)
    result.kinds[at] = CODE
    for line in range(at + 1, len(result.lines)):
        inner = result.lines[line].lstrip(" \t")
        if inner[:1] == mark:
            bare = inner.rstrip(" \t")
            if len(bare) >= length and not bare.strip(mark):
                result.kinds[line] = CODE
                return line + 1
            if _FENCE.match(inner) and _fence_mark(inner)[1] >= length:
                result.damaged = True
        if cut_fences and inner[:1] in {"#", "＃"}:
            found = heading(result.lines[line])
            if found and read_name(found[1]).sure:
                return line
        result.kinds[line] = CODE
    result.damaged = True
    return len(result.lines)


def _fence_mark(stripped: str) -> tuple[str, int]:
    """Return a fence's character and length."""
    mark = stripped[0]
    return mark, len(stripped) - len(stripped.lstrip(mark))


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


def _closers(lines: Sequence[str]) -> dict[str, list[int]]:
    """Return for each fence character, per line, the longest closing fence from that line on (0: none)."""
    longest: dict[str, list[int]] = {}
    for mark in "`~":
        best = [0] * (len(lines) + 1)
        for at in range(len(lines) - 1, -1, -1):
            bare = lines[at].strip(" \t")
            closes = bare[:1] == mark and not bare.strip(mark)
            best[at] = max(best[at + 1], len(bare) if closes else 0)
        longest[mark] = best
    return longest


def _closer(lines: Sequence[str], at: int, stripped: str, closers: dict[str, list[int]]) -> int | None:
    """Return the line that closes the fence at a line, None when none does."""
    mark, length = _fence_mark(stripped)
    if closers[mark][at + 1] < length:
        return None
    for line in range(at + 1, len(lines)):
        bare = lines[line].strip(" \t")
        if len(bare) >= length and bare[:1] == mark and not bare.strip(mark):
            return line
    return None
