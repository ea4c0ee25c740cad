"""One line at a time: is it a heading, a label, a code fence, a rule?

It must not know the lines around it, but for a heading that is underlined or wrapped (`scan.py`). What can hurt: a
pattern that goes over a line more than once makes a hostile document slow; `#42` and `#include` are no headings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flower_mcp.core.names import Name, read_name

LABEL_LEVEL = 7
"""The level of a bold label inside a section: below every heading."""

_ATX = re.compile(r" {0,3}([#＃]{1,6})(?![#＃])([ \t\u3000]*)(.*)", re.DOTALL)
FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})", re.DOTALL)
UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*\Z")
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


def fence(line: str) -> tuple[str, int, str] | None:
    """Return (character, length, info) of a line that opens or closes a code fence, None for any other line."""
    stripped = line.strip(" \t")
    if not FENCE.match(stripped):
        return None
    mark, length = fence_mark(stripped)
    return mark, length, stripped[length:].strip()


def fence_mark(stripped: str) -> tuple[str, int]:
    """Return a fence's character and length."""
    mark = stripped[0]
    return mark, len(stripped) - len(stripped.lstrip(mark))


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


def bracket_left_open(words: str) -> bool:
    """Say whether a heading's line ends inside a bracket, so that a heading line below may go on with it."""
    return words.count("(") + words.count("（") > words.count(")") + words.count("）")
