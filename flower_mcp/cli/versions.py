"""The versions of a step's document, oldest first and numbered, with what the books know of each.

Reads alone. A version is known by its revision, never by what it says. What can hurt: the run folder may hold rows of
another workspace's step of the same name, so what the books say counts only for versions that lie here; and the books
may be broken, which a look must not mend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from flower_mcp.cli.choosing import typed
from flower_mcp.core.books import Generation, WrittenBy
from flower_mcp.core.decode import decode
from flower_mcp.core.errors import FilesError, NothingThere, Usage
from flower_mcp.core.events import Kind, Phase
from flower_mcp.workbench.files import read_with_time, revision
from flower_mcp.workbench.ledger import Manifest
from flower_mcp.workbench.workbench import Workbench

SHORTEST = 4  # digits of a revision that name it
_EVENTS = 2_000  # that are looked through for a person's saves
_NAMES = frozenset(field.name for field in fields(Generation))


@dataclass(frozen=True, slots=True)
class Entry:
    """One version. `written_at` in seconds since the epoch; `generation` is the one whose document it is, if known.

    `edited`: a person's text; None when nobody knows. `is_current`: it is the document now.
    """

    number: int
    path: Path
    data: bytes
    revision: str
    written_at: float
    generation: Generation | None = None
    edited: bool | None = None
    is_current: bool = False

    @property
    def text(self) -> str:
        """What it says."""
        return decode(self.data).text

    @property
    def is_launched(self) -> bool:
        """Whether a successor was started from it."""
        return self.generation is not None and self.generation.launched == self.revision


@dataclass(frozen=True, slots=True)
class Versions:
    """All versions of a step's document, oldest first, and the generations that the books know, oldest first."""

    step: str
    entries: tuple[Entry, ...]
    generations: tuple[Generation, ...]
    history: str = "flower history"  # what to type to see them all

    @property
    def current(self) -> Entry | None:
        """The document as it is now."""
        return next((entry for entry in self.entries if entry.is_current), None)

    @property
    def last_frozen(self) -> Entry | None:
        """The newest version that a session left."""
        frozen = (self._with_revision(each.frozen) for each in reversed(self.generations))
        return next((entry for entry in frozen if entry is not None), None)

    def of_generation(self, number: int) -> Entry:
        """The version that was launched for a generation's document, else the last one of it. Raises NothingThere."""
        for each in reversed(self.generations):
            if each.n != number:
                continue
            if each.launched is None and each is self.generations[-1] and self.current is not None:
                return self.current
            for wanted in (each.launched, each.frozen):
                entry = self._with_revision(wanted)
                if entry is not None:
                    return entry
        numbers = ", ".join(dict.fromkeys(str(each.n) for each in self.generations))
        known = f"They know generation {numbers}." if numbers else "They know none."
        raise NothingThere(
            f"The books know no document of generation {number} of step {self.step!r}. {known}",
            next=f"All versions: {self.history}",
        )

    def named(self, name: str) -> Entry:
        """The version with this number, generation (g1) or beginning of a revision. Raises Usage, NothingThere."""
        if name.isascii() and name.isdigit() and 1 <= int(name) <= len(self.entries):
            return self.entries[int(name) - 1]
        if name[:1] in ("g", "G") and name[1:].isascii() and name[1:].isdigit():
            return self.of_generation(int(name[1:]))
        found = {entry.revision: entry for entry in self.entries if entry.revision.startswith(name.lower())}
        if len(name) < SHORTEST or not found:
            raise NothingThere(
                f"There is no version {name!r} of step {self.step!r}.",
                next=f"Name one by its number, generation (g1) or revision: {self.history}",
            )
        if len(found) > 1:
            listed = ", ".join(found)
            raise Usage(
                f"{name!r} is the beginning of {len(found)} revisions: {listed}.", next="Give more of its digits."
            )
        return next(iter(found.values()))

    def _with_revision(self, wanted: str | None) -> Entry | None:
        return next((entry for entry in reversed(self.entries) if entry.revision == wanted), None)


def is_version_name(name: str) -> bool:
    """Whether a word could name a version: a number, g and a number, or the beginning of a revision."""
    digits = name[1:] if name[:1] in ("g", "G") else name
    is_number = digits.isascii() and digits.isdigit()
    return is_number or (len(name) >= SHORTEST and all(each in "0123456789abcdef" for each in name.lower()))


def versions_of(workbench: Workbench, step: str, run_dir: Path) -> Versions:
    """Read all versions of a step's document. A version that cannot be read is left out. Raises FilesError."""
    generations = tuple(_generations(workbench, step, run_dir))
    saved = _saved_by_a_person(workbench, step)
    entries: list[Entry] = []
    for path, data, written_at, is_current in _files(workbench, step):
        name = revision(data)
        mine = [each for each in generations if name in (each.frozen, each.launched)]
        known = mine[-1] if mine else None
        if known is not None:
            edited: bool | None = name != known.frozen
        else:
            edited = True if name in saved else None
        entries.append(Entry(len(entries) + 1, path, data, name, written_at, known, edited, is_current))
    return Versions(step, tuple(entries), generations, typed(workbench, "history", step))


def writer_of(generation: Generation) -> WrittenBy:
    """Who wrote a generation's document."""
    return generation.written_by or WrittenBy.SESSION


def _files(workbench: Workbench, step: str) -> Iterator[tuple[Path, bytes, float, bool]]:
    """The files with their bytes; a copy of what stands there now is not a version of its own."""
    current = workbench.documents.path(step)
    now = read_with_time(current)
    for version in workbench.history(step):
        with suppress(FilesError):
            data = version.data()
            if data and (now is None or data != now[0]):
                yield version.path, data, version.written_at, False
    if now is not None:
        yield current, *now, True


def _generations(workbench: Workbench, step: str, run_dir: Path) -> Iterator[Generation]:
    """The generations with a document, oldest first: of the manifest's rows, then of the live state, which is newer."""
    found: dict[str, Generation] = {}
    with suppress(FilesError):
        for row in Manifest(run_dir).rows():
            given = row.get("generations")
            for value in given if row.get("step") == step and isinstance(given, list) else ():
                known = _generation(value)
                if known is not None:
                    found[known.session_id] = known
    live = workbench.live(step)
    for each in live.row.generations if live is not None else ():
        found.pop(each.session_id, None)
        found[each.session_id] = each
    return (each for each in found.values() if each.frozen or each.launched)


def _generation(value: object) -> Generation | None:
    """A generation of the manifest; None for what is none."""
    if not isinstance(value, Mapping):
        return None
    known: dict[str, Any] = {name: each for name, each in value.items() if name in _NAMES}
    if not isinstance(known.get("n"), int) or not isinstance(known.get("session_id"), str):
        return None
    sections = known.get("sections_edited")
    known["sections_edited"] = tuple(map(str, sections)) if isinstance(sections, list) else ()
    written_by = known.get("written_by")
    known["written_by"] = WrittenBy(written_by) if written_by in set(WrittenBy) else None
    return Generation(**known)


def _saved_by_a_person(workbench: Workbench, step: str) -> frozenset[str]:
    """Revisions that a person saved in an edit window, and the one that lies there, as far as the books tell."""
    lines = workbench.lives.tail(_EVENTS)
    seen = {
        str(line.get("revision"))
        for line in lines
        if line.get("kind") == Kind.EDIT and line.get("phase") == Phase.SEEN and line.get("step") == step
    }
    live = workbench.live(step)
    if live is not None and live.document is not None and live.document.edited:
        seen.add(live.document.revision)
    return frozenset(seen)
