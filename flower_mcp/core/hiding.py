"""The backslash that keeps a line of a section from being read as something else.

`hide` puts one before a line that would be read as a heading, an open fence, a comment or a rule at the end of a
section; `show` takes one off. Both leave closed code fences alone, and a line that begins with backslashes of its own
comes back with all of them. It must not know documents. What can hurt: a line that only one of the two knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from flower_mcp.core.marks import FENCE, UNDERLINE, bracket_left_open, fence_mark, heading, is_rule, label
from flower_mcp.core.names import is_ours, read_name


def show(line: str) -> str:
    """Take off the backslash that `hide` put before a line; any other line stays as it is."""
    stripped = line.lstrip(" \t")
    if stripped[:1] != "\\":
        return line
    return line[: len(line) - len(stripped)] + stripped[1:] if _means_something(stripped.lstrip("\\")) else line


def hide(lines: Sequence[str], *, level: int = 2, names: bool = False, fences: bool = False) -> list[str]:
    """Return lines that will be read as one section's text and nothing else.

    Headings down to `level` get a backslash, with `names` also deeper headings and labels that name a section; so do
    comments, fences that never close and a rule at the end. Lines in closed fences stay as they are, unless `fences`
    says that every fence is to be hidden.
    """
    written = list(lines)
    closers = _closers(lines)
    at = 0
    while at < len(written):
        line = written[at]
        stripped = line.lstrip(" \t")
        if stripped[:1] in {"`", "~"} and FENCE.match(stripped):
            end = None if fences else _closer(lines, at, stripped, closers)
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
    if end and (is_rule(written[end - 1]) or _goes_on_below(written[end - 1])):
        written[end - 1] = _hidden(written[end - 1])
    return written


def open_fence(lines: Sequence[str]) -> str:
    """Return the closing line for a fence that the lines leave open, "" when they leave none open."""
    closers = _closers(lines)
    at = 0
    while at < len(lines):
        stripped = lines[at].lstrip(" \t")
        found = FENCE.match(stripped) if stripped[:1] in {"`", "~"} else None
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
        return _heading_counts(lines[at], level, names)
    if first in {"=", "-"} and at and UNDERLINE.match(lines[at]):
        name = read_name(lines[at - 1].strip())
        return bool(name.claims or name.open) or names
    mark = label(lines[at], at) if names else None
    return mark is not None and bool(mark.name.claims or mark.name.open or mark.alone)


def _goes_on_below(line: str) -> bool:
    """Say whether a heading would take the next section's heading into itself: one that ends inside a bracket."""
    found = heading(line) if line.lstrip(" \t")[:1] in {"#", "＃"} else None
    return found is not None and bracket_left_open(found[1])


def _heading_counts(line: str, level: int, names: bool) -> bool:
    """Say whether a heading inside a section's text would begin a section."""
    found = heading(line)
    if found is None:
        return False
    return found[0] <= level or is_ours(found[1]) or (names and bool(read_name(found[1]).claims))


def _means_something(rest: str) -> bool:
    """Say whether a line without its leading backslashes is one that `hide` can have hidden."""
    first = rest[:1]
    if first in {"#", "＃"}:
        return heading(rest) is not None
    if first in {"`", "~"}:
        return FENCE.match(rest) is not None
    if rest.startswith("<!--") or is_rule(rest) or UNDERLINE.match(rest):
        return True
    return label(rest, 0) is not None


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
    mark, length = fence_mark(stripped)
    if closers[mark][at + 1] < length:
        return None
    for line in range(at + 1, len(lines)):
        bare = lines[line].strip(" \t")
        if len(bare) >= length and bare[:1] == mark and not bare.strip(mark):
            return line
    return None
