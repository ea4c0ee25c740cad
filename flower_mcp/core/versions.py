"""Two accounts in one document: which one counts.

A draft with its correction below it, or a log of sessions with the newest on top. It must not know how sections are
found. What can hurt: joined, the successor is told to do again what an old session left; "the last one counts" is
right for a draft and wrong for a log, so the titles' dates, numbers and words decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flower_mcp.core.lookup import fold
from flower_mcp.core.marks import Mark
from flower_mcp.core.parts import Part
from flower_mcp.core.scan import Scan

_REQUIRED = frozenset({"doing", "next"})
_DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})")
_NUMBER = re.compile(r"\d{1,9}")
_FINAL = re.compile(r"final|corrected|revised|updated|latest|newest|current|定稿|最终|改好|最新|修订")
_OLD = re.compile(r"\bold|previous|earlier|archive|draft|旧|上一|之前|草稿|历史|归档|上次")
_LONGEST_TITLE = 240


def newest(parts: list[Part], level: int, title: Mark | None) -> tuple[list[Part], Mark | None]:
    """Keep of several sessions in one document the newest; the others become one unknown part each, whole.

    `parts` are the headings down to the sections' `level`, without the document's `title`. A session begins at a
    heading above that level and has headings for both required sections. Returns the parts and the title that is left:
    the newest session's own.
    """
    first = [Part(title, [(title.end, parts[0].line)])] if title and parts else []
    groups: list[list[Part]] = [first]
    for part in parts:
        if part.mark and part.mark.level < level:
            groups.append([])
        groups[-1].append(part)
    sessions = [at for at, group in enumerate(groups) if _is_session(group, level)]
    if len(sessions) < 2:
        return parts, title
    chosen = _newest_of(groups, sessions, level)
    older = {*sessions} - {chosen}
    kept: list[Part] = []
    for at, group in enumerate(groups):
        if at in older:
            whole = group[0]
            whole.ranges = [(whole.ranges[0][0], group[-1].ranges[-1][1])]
            whole.whole = True
            kept.append(whole)
        elif at == chosen and group[0].mark and group[0].mark.level < level:
            title = group[0].mark
            kept += group[1:]
        else:
            kept += [part for part in group if part.mark is not title]
    return kept, title


def drop_draft(parts: list[Part], found: Scan) -> list[Part]:
    """Of a document that stands twice keep the last copy: one that has both required sections, with content, and
    every section that the copy before it has. Otherwise keep all: joined is better than lost."""
    sections = [at for at, part in enumerate(parts) if part.fields]
    before_each: list[frozenset[str]] = [frozenset()]
    for at in sections:
        before_each.append(before_each[-1].union(parts[at].fields))
    after: set[str] = set()
    for position in range(len(sections) - 1, 0, -1):
        after |= {*parts[sections[position]].fields}
        if not (_REQUIRED <= before_each[position] <= after):
            continue
        later = parts[sections[position] :]
        if not all(_has_content(later, name, found) for name in _REQUIRED):
            return parts
        headings = {part.mark.raw for part in later if part.mark and not part.fields}
        kept = [
            part
            for part in parts[: sections[position]]
            if not part.fields and part.mark and part.mark.raw not in headings
        ]
        return [*kept, *later]
    return parts


def _is_session(group: Sequence[Part], level: int) -> bool:
    fields = {
        claim.field for part in group if part.mark and part.mark.level == level for claim in part.mark.name.claims
    }
    return fields >= _REQUIRED


def _newest_of(groups: Sequence[Sequence[Part]], sessions: Sequence[int], level: int) -> int:
    """Return which group is the newest session: by date, number, words; the same title twice: the last; else the
    first, since logs grow at the top."""
    titles = []
    for at in sessions:
        mark = groups[at][0].mark
        titles.append(fold(mark.words[:_LONGEST_TITLE]) if mark and mark.level < level else "")
    dates = [[int(number) for number in match.groups()] if (match := _DATE.search(title)) else [] for title in titles]
    numbers = [[int(number) for number in _NUMBER.findall(_DATE.sub("", title))] for title in titles]
    words = [[bool(_FINAL.search(title)) - bool(_OLD.search(title))] for title in titles]
    for ages in (dates, numbers, words):
        known = [age for age in ages if age]
        if len(known) == len(ages) and ages.count(max(ages)) == 1:
            return sessions[ages.index(max(ages))]
    return sessions[-1] if len(set(titles)) == 1 else sessions[0]


def _has_content(parts: Sequence[Part], name: str, found: Scan) -> bool:
    return any(
        (part.mark and part.mark.text)
        or any(found.lines[at].strip() for start, end in part.ranges for at in range(start, end))
        for part in parts
        if name in part.fields
    )
