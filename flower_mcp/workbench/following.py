"""Follow one step's document: what it says now, what it said before, and nothing lost in between.

It must not know windows or sessions, nor whose a change was. What can hurt: an editor writes over the file without
asking anybody, so the version that was seen last is put into the archive as soon as another one is seen; a file that
was changed within one tick of the clock looks unchanged, so a fresh one is read again; and a look that matters reads
and hashes whatever the file's time says.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from flower_mcp.core.books import DocumentState, iso
from flower_mcp.core.decode import decode
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.faults import Fault, FaultKind, new_faults
from flower_mcp.core.handoff import Handoff
from flower_mcp.workbench.archive import Version
from flower_mcp.workbench.documents import Documents
from flower_mcp.workbench.files import read_with_time, revision
from flower_mcp.workbench.names import document_name

_SETTLED = 100_000_000  # nanoseconds; a file changed just now may change again without a new time

Signature = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """A document as it was at one look. Without a text: `data` is None, `revision` "", and `absent` says why."""

    data: bytes | None = None
    text: str = ""
    revision: str = ""
    handoff: Handoff = field(default_factory=Handoff)
    written_at: float = 0.0
    absent: Fault | None = None

    @classmethod
    def of(cls, data: bytes, step: str, written_at: float = 0.0) -> Self:
        """The document with these bytes. Never fails on them."""
        text = decode(data).text
        return cls(data, text, revision(data), Handoff.from_markdown(text, step), written_at)

    @classmethod
    def nothing(cls, kind: FaultKind = FaultKind.DELETED, why: str = "") -> Self:
        """No document, or none that can be read."""
        return cls(absent=Fault(kind, why or kind.value))

    @property
    def has_text(self) -> bool:
        """Whether there is something in it."""
        return bool(self.text.strip("\ufeff\0 \t\r\n"))

    def faults_since(self, before: Seen) -> tuple[Fault, ...]:
        """What is wrong with it that was not wrong with the version before."""
        return (self.absent,) if self.absent is not None else new_faults(before.text, self.text)

    def state(self, path: str, *, edited: bool) -> DocumentState:
        """What the books keep of it."""
        return DocumentState(
            path=path,
            revision=self.revision,
            complete=self.handoff.complete(),
            missing=self.handoff.missing(),
            degraded=self.handoff.degraded,
            edited=edited,
            sections=self.handoff.sections(),
            written_at=iso(self.written_at or time.time()),
        )


NOTHING = Seen.nothing()


class Follower:
    """Follows the document of `step`. `last` is what was seen last; `say` gets what could not be kept."""

    def __init__(self, documents: Documents, step: str, say: Callable[[str], None]) -> None:
        self.documents = documents
        self.step = step
        self.path = documents.notes / document_name(step)  # for names alone; reading looks for links first
        self.last = NOTHING
        self._signature: Signature | None = None
        self._say = say

    def begin(self, seen: Seen) -> None:
        """This version was just written, or is what is known: what differs from it is a change."""
        self.last, self._signature = seen, None

    def look(self, *, sure: bool = False) -> Seen:
        """The document as it is now; `sure`: read and hashed even if nothing suggests a change. Never raises."""
        before = self._facts()
        if not sure and before is not None and before == self._signature:
            return self.last
        seen = self._read()
        is_settled = before is not None and time.time_ns() - max(before[0], before[3]) > _SETTLED
        self._signature = before if is_settled and before == self._facts() else None
        if seen.revision != self.last.revision:
            self._keep(self.last)
            self.last = seen
        elif seen.absent != self.last.absent:
            self.last = seen
        return self.last

    def put_back(self, seen: Seen, expected: str) -> str | None:
        """Put an earlier version back in place of the one with revision `expected`; where that one is kept.

        Raises Conflict when the file has changed again, FilesError and LockTimeout when it cannot be done.
        """
        archived = self.documents.put_back(self.step, seen.data or b"", expected)
        self.begin(seen)
        return None if archived is None else str(archived)

    def archived(self, wanted: str) -> Seen | None:
        """The newest archived version with this revision, None when there is none that can be read."""
        versions: tuple[Version, ...] = ()
        with suppress(FlowerError):
            versions = self.documents.history(self.step)
        for version in reversed(versions):
            try:
                data = version.data()
            except FlowerError:
                continue
            if revision(data) == wanted:
                return Seen.of(data, self.step, version.written_at)
        return None

    def _read(self) -> Seen:
        try:
            found = read_with_time(self.documents.path(self.step))
        except FlowerError as error:
            return Seen.nothing(FaultKind.UNREADABLE, str(error))
        if found is None:
            return Seen.nothing()
        if self.last.data == found[0]:
            return self.last
        return Seen.of(found[0], self.step, found[1])

    def _facts(self) -> Signature | None:
        try:
            facts = os.lstat(self.documents.path(self.step))
        except (OSError, FlowerError):
            return None
        return facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_ctime_ns

    def _keep(self, seen: Seen) -> None:
        """Put a version that was written over into the archive."""
        if seen.data is None or not seen.has_text:
            return
        try:
            self.documents.keep(self.step, seen.data)
        except FlowerError as error:
            self._say(f"the version {seen.revision} could not be kept: {error}")
