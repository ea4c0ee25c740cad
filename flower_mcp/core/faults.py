"""What is wrong with a document that a person saved: what no successor should be started from without a word.

It must not know files: a text is given, and what cannot be given as one (gone, unreadable) is named by whoever looked.
What can hurt: a session may itself have written what looks like a fault (the marks of a merge that it tells about, a
document with a section missing), so what counts is what a save brought in; and conflict marks inside a code fence are
an example and no conflict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from flower_mcp.core.editing import sections_of
from flower_mcp.core.handoff import Handoff
from flower_mcp.core.headings import OUR_HEADINGS
from flower_mcp.core.outline import outline
from flower_mcp.core.scan import CODE

MOST = 20  # faults that are named; a document full of conflicts needs no longer list
_LONGEST = 80  # characters of a line that a fault repeats
_OPENS = re.compile(r"<{7}(?: |$)")
_INSIDE = re.compile(r"(?:\|{7}(?: |$)|={7}$)")
_CLOSES = re.compile(r">{7}(?: |$)")


class FaultKind(StrEnum):
    """The kinds, the worst first: of the first three nothing can be launched, not even as it stands."""

    DELETED = "the file is gone"
    UNREADABLE = "the file cannot be read"
    EMPTY = "the file is empty"
    CONFLICT = "conflict marks of git are in it"
    INCOMPLETE = "a section that the next session needs is missing"

    @property
    def has_text(self) -> bool:
        """Whether there is a text that could be launched as it stands."""
        return self in (FaultKind.CONFLICT, FaultKind.INCOMPLETE)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, in words for people; `line` from 1, None where no line can be named."""

    kind: FaultKind
    what: str
    line: int | None = None


def faults_of(text: str) -> tuple[Fault, ...]:
    """All that is wrong with a text, the worst first, 20 at the most. Never raises; linear time."""
    if not text.strip("\ufeff\0 \t\r\n"):
        return (Fault(FaultKind.EMPTY, FaultKind.EMPTY.value, 1),)
    return (*_conflicts(text), *_missing(text))[:MOST]


def new_faults(before: str, after: str) -> tuple[Fault, ...]:
    """The faults of `after` that `before` did not have: what a save brought in."""
    if before == after:
        return ()
    known = {(fault.kind, fault.what) for fault in faults_of(before)}
    return tuple(fault for fault in faults_of(after) if (fault.kind, fault.what) not in known)


def worst(faults: tuple[Fault, ...]) -> FaultKind | None:
    """The kind of the worst fault, None when there is none."""
    order = [*FaultKind]
    return min((fault.kind for fault in faults), key=order.index, default=None)


def _conflicts(text: str) -> Iterator[Fault]:
    """The marks that a merge left at the start of lines outside code."""
    found = outline(text)
    is_open = False
    for at, line in enumerate(found.scan.lines):
        if line[:1] not in {"<", "|", "=", ">"} or found.scan.kinds[at] == CODE:
            continue
        stripped = line.rstrip()
        opens, closes = bool(_OPENS.match(stripped)), bool(_CLOSES.match(stripped))
        if opens or closes or (is_open and _INSIDE.match(stripped)):
            is_open = (is_open or opens) and not closes
            yield Fault(FaultKind.CONFLICT, f"a conflict mark of git: {stripped[:_LONGEST]}", at + found.view.first + 1)


def _missing(text: str) -> Iterator[Fault]:
    """The required sections that say nothing."""
    places = {span.field: span.line for span in reversed(sections_of(text))}
    for name in Handoff.from_markdown(text).missing():
        line = places.get(name)
        state = "is not there" if line is None else "is empty"
        yield Fault(FaultKind.INCOMPLETE, f"the section {OUR_HEADINGS[name]} {state}", line)
