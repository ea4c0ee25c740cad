"""The handoff documents: the current one of each step, and the versions before it in the archive.

It must not know sessions, nor when a document is due. What can hurt: a person edits the file while code writes it. So
nothing is overwritten: each write swaps, and what was there is in the archive; an edit of one section changes no other
byte; and who gives the revision that he knows is refused when the file has another one, even if it changed in the very
instant of writing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from flower_mcp.core.books import DocumentState, iso
from flower_mcp.core.decode import decode, encode
from flower_mcp.core.errors import Conflict, FilesError, NothingThere, Usage
from flower_mcp.core.handoff import Handoff
from flower_mcp.core.headings import FIELDS
from flower_mcp.workbench import archive
from flower_mcp.workbench.archive import Version
from flower_mcp.workbench.exchange import move_new
from flower_mcp.workbench.files import (
    create,
    inside,
    make_folder,
    make_home,
    read_whole,
    read_with_time,
    revision,
    telling,
)
from flower_mcp.workbench.json_files import mask
from flower_mcp.workbench.names import document_name, file_name
from flower_mcp.workbench.swap import swap, swap_if

_NEWEST = 8  # versions in the archive that are compared with one that is to be kept
NEW = "new"  # as an expected revision, like "": there must be no document yet


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it lies on disk.

    `data` are its bytes, of which `revision` is made; `text` is what they say, `handoff` what the reader found in it;
    `written_at` in seconds since the epoch.
    """

    step: str
    path: Path
    data: bytes
    text: str
    revision: str
    handoff: Handoff
    encoding: str
    written_at: float

    def state(self, *, edited: bool = False) -> DocumentState:
        """What the books say about it; whether a person edited it is for the caller to know."""
        missing = self.handoff.missing()
        return DocumentState(
            path=str(self.path),
            revision=self.revision,
            complete=not missing,
            missing=missing,
            degraded=self.handoff.degraded,
            edited=edited,
            sections=self.handoff.sections(),
            written_at=iso(self.written_at),
        )


@dataclass(frozen=True, slots=True)
class Frozen:
    """What a freeze did: the document and its revision, where the one before went, how many secrets were masked."""

    path: Path
    revision: str
    archived: Path | None = None
    masked: int = 0


def _nobody(*_told: str) -> None:
    """Where nobody wants to know."""


class Documents:
    """The documents in `notes` of the workbench `root`. `lock` gives the step's write lock, and makes the folders.

    `froze` is told of each freeze: step, revision. `changed` of each edit: step, the revisions before and after.
    """

    def __init__(
        self,
        root: Path,
        lock: Callable[[str], AbstractContextManager[None]],
        *,
        froze: Callable[[str, str], None] = _nobody,
        changed: Callable[[str, str, str], None] = _nobody,
    ) -> None:
        self.root = root
        self._froze = froze
        self._changed = changed
        self.notes = root / "notes"
        self.archive = self.notes / "archive" / "交接"
        self._lock = lock

    def path(self, step: str) -> Path:
        """Where the step's document lies. Raises FilesError when a link leads out of the workbench."""
        return inside(self.root, self.notes / document_name(step))

    def read(self, step: str, known: Document | None = None) -> Document | None:
        """The step's document, None when there is none. Never fails on its text. Raises FilesError.

        `known` is what was read or written before; it is not parsed again when the bytes are the same.
        """
        path = self.path(step)
        found = read_with_time(path)
        if found is None:
            return None
        data, written_at = found
        if known is not None and known.step == step and known.data == data:
            return replace(known, written_at=written_at)
        return _document(step, path, data, written_at)

    def freeze(self, step: str, content: str | Handoff, expected: str | None = None, *, typed: bool = False) -> Frozen:
        """Write the document to its place; the one before it goes to the archive.

        Secrets are masked, unless a person `typed` the text. `expected` is the revision that must be there now, "" or
        "new" for none, None for whatever is there. Raises Conflict (nothing was written), FilesError, LockTimeout.
        """
        text = content if isinstance(content, str) else replace(content, step=step).to_markdown()
        masked = 0
        if not typed:
            safe = mask(text.replace("\0", ""))
            text, masked = safe.text, safe.count
        data = text.encode("utf-8", "replace")
        with self._locked(step):
            path = self.path(step)
            archived = self._put(step, path, data, expected)
        self._froze(step, revision(data))
        return Frozen(path, revision(data), archived, masked)

    def edit(
        self,
        step: str,
        section: str,
        text: str,
        mode: str = "replace",
        expected: str | None = None,
        *,
        typed: bool = False,
    ) -> Document:
        """Change one section, and not a byte outside it; the version before goes to the archive.

        `section` is a field or a heading's name. `text` is masked, unless a person `typed` it. Answers the document as
        it was written here, whatever anybody makes of it in the next instant. Raises Usage for an unknown section or
        mode, NothingThere, Conflict (nothing was written), FilesError, LockTimeout.
        """
        field = field_of(section)
        new_text = text if typed else mask(text.replace("\0", "")).text
        if not self.path(step).exists():
            raise _nothing(step)
        with self._locked(step):
            while True:
                path = self.path(step)
                found = read_with_time(path)
                if found is None:
                    raise _nothing(step)
                before, written_at = found
                _check(step, expected, before)
                data = _edited(path, before, field, new_text, mode)
                if data == before:
                    return _document(step, path, data, written_at)
                done, _ = swap_if(path, data, before, self._names(step))
                if done:
                    break
        self._changed(step, revision(before), revision(data))
        return _document(step, path, data, time.time())

    def put_away(self, step: str) -> Path | None:
        """Move the step's document to the archive, for a step that begins anew; where it went, None if there was none.

        Raises FilesError, LockTimeout.
        """
        path = self.path(step)
        if not path.exists():
            return None
        with self._locked(step), telling(path, "moved to the archive"):
            for name in self._names(step):
                try:
                    if move_new(path, name):
                        return name
                except FileNotFoundError:
                    return None
        return None

    def put_back(self, step: str, data: bytes, expected: str) -> Path | None:
        """Put an earlier version's bytes back in their place; where the version that was there went.

        `expected` is the revision that must be there now, "" for none. Raises Conflict, FilesError, LockTimeout.
        """
        with self._locked(step):
            return self._put(step, self.path(step), data, expected)

    def keep(self, step: str, data: bytes) -> Path | None:
        """Keep in the archive a version that an editor has written over; None when it is among the newest there.

        Raises FilesError.
        """
        make_folder(inside(self.root, self.archive))
        if any(version.data() == data for version in self.history(step)[-_NEWEST:]):
            return None
        return next(name for name in self._names(step) if create(name, data))

    def history(self, step: str) -> tuple[Version, ...]:
        """The versions before the current one, oldest first. No file is opened for it. Raises FilesError."""
        return archive.versions(inside(self.root, self.archive), file_name(step))

    def _put(self, step: str, path: Path, data: bytes, expected: str | None) -> Path | None:
        """Write under the lock; where the old version went."""
        if expected is None:
            return swap(path, data, self._names(step))
        while True:
            current = read_whole(path)
            _check(step, expected, current)
            done, archived = swap_if(path, data, current, self._names(step))
            if done:
                return archived

    def _names(self, step: str) -> Iterator[Path]:
        return archive.names(self.archive, file_name(step))

    def _locked(self, step: str) -> AbstractContextManager[None]:
        """The step's write lock, all folders made."""
        make_home(self.root)
        make_folder(inside(self.root, self.archive))
        return self._lock(step)


def field_of(section: str) -> str:
    """The field that a section's name means: a field itself, or any name that a heading may have. Raises Usage."""
    if section in FIELDS:
        return section
    from flower_mcp.core.names import read_name

    name = read_name(section.strip().lstrip("#").strip())
    if not name.claims or name.open:
        raise Usage(f"There is no section {section!r}.", next=f"The sections are {', '.join(FIELDS)}.")
    return name.claims[0].field


def _nothing(step: str) -> NothingThere:
    return NothingThere(f"There is no document of step {step!r} to edit.", next="Write one first.")


def _check(step: str, expected: str | None, data: bytes | None) -> None:
    """Raises Conflict when the document is not at the expected revision."""
    current = "" if data is None else revision(data)
    if expected is not None and ("" if expected == NEW else expected) != current:
        raise Conflict(step, expected, current)


def _document(step: str, path: Path, data: bytes, written_at: float) -> Document:
    """What these bytes say as the step's document."""
    decoded = decode(data)
    handoff = Handoff.from_markdown(decoded.text, step)
    return Document(step, path, data, decoded.text, revision(data), handoff, decoded.encoding, written_at)


def _edited(path: Path, data: bytes, field: str, new_text: str, mode: str) -> bytes:
    """The document's bytes with one section changed."""
    from flower_mcp.core.markdown import edit_section

    decoded = decode(data)
    if not decoded.exact:
        raise FilesError(
            f"{path} holds bytes that are no text in {decoded.encoding}, so a section cannot be changed "
            "without changing them.",
            kept="Nothing was written.",
            next="Save it as UTF-8 in an editor.",
        )
    return encode(edit_section(decoded.text, field, new_text, mode), decoded)
