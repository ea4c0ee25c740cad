"""`windows.json` in the user's state folder: the windows that overflows taught, `{"<base url> <model>": {...}}`.

It must not know how a window is learned (core/windows.py), nor a run. All runs of the user share the file: each change
is made under a lock of the kernel's and replaces the file whole. What can hurt: a file that is not what it should be is
set aside, never overwritten, and the caller gets a sentence to say; keys and texts may carry a secret, so both are
masked on their way to the disk.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flower_mcp.core.windows import Learned, smaller
from flower_mcp.workbench.files import make_folder, read_whole, write_whole
from flower_mcp.workbench.json_files import dump, mask, set_aside
from flower_mcp.workbench.locks import write_lock

WINDOWS, LOCK = "windows.json", "windows.json.lock"
Entries = dict[str, Learned]


@dataclass(frozen=True, slots=True)
class Kept:
    """What windows.json holds, by "<base url> <model>": `entries` that count, and `notes`, sentences to say."""

    entries: Mapping[str, Learned] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class LearnedWindows:
    """The learned windows of a user. Making the object touches nothing on disk; nor does reading, unless it is broken.

    Every call raises FilesError for what cannot be read or written, and a change LockTimeout.
    """

    def __init__(self, state: Path) -> None:
        self.path = state / WINDOWS

    def read(self) -> Kept:
        """All windows that still count. A broken file is set aside, and `notes` says so."""
        try:
            return Kept(_counting(self._entries()))
        except ValueError:
            with self._locked():  # under the lock: what is set aside must be what was found broken
                entries, notes = self._entries_or_aside()
            return Kept(_counting(entries), notes)

    def look(self) -> Kept:
        """As `read`, for who may change nothing: a broken file stays where it lies, and `notes` says what is wrong."""
        try:
            return Kept(_counting(self._entries()))
        except ValueError as error:
            return Kept(notes=(f"{self.path} cannot be read ({error}).",))

    def find(self, key: str) -> tuple[Learned | None, tuple[str, ...]]:
        """The window that counts for a key, None when there is none; and sentences to say."""
        kept = self.read()
        return kept.entries.get(_masked(key)), kept.notes

    def learn(self, key: str, learned: Learned) -> tuple[Learned, tuple[str, ...]]:
        """Keep a window, unless a smaller one that counts is there; the one that counts now, and sentences to say."""
        key = _masked(key)
        learned = Learned(learned.window, learned.at, _masked(learned.said))

        def change(entries: Entries) -> Entries:
            return {**entries, key: smaller(entries.get(key), learned, time.time())}

        kept = self._change(change)
        return kept.entries.get(key, learned), kept.notes

    def forget(self, key: str, *, below: int | None = None) -> tuple[str, ...]:
        """Remove a key's window; with `below` only one that is smaller than so many tokens. Sentences to say."""
        key = _masked(key)

        def change(entries: Entries) -> Entries:
            found = entries.get(key)
            stays = found is not None and below is not None and found.window >= below
            return {name: one for name, one in entries.items() if name != key or stays}

        return self._change(change).notes

    def forget_all(self, wanted: Callable[[str], bool]) -> Kept:
        """Remove the windows whose key is wanted; what was removed, and sentences to say."""
        removed: Entries = {}

        def change(entries: Entries) -> Entries:
            removed.update({key: one for key, one in _counting(entries).items() if wanted(key)})
            return {key: one for key, one in entries.items() if key not in removed}

        return Kept(removed, self._change(change).notes)

    def _change(self, change: Callable[[Entries], Entries]) -> Kept:
        """Change the entries under the lock; those that do not count any more go at the same time."""
        with self._locked():
            entries, notes = self._entries_or_aside()
            changed = _counting(change(entries))
            if changed != entries:
                value = {key: {"window": one.window, "at": one.at, "from": one.said} for key, one in changed.items()}
                write_whole(self.path, (dump(value, indent=2) + "\n").encode())
        return Kept(changed, notes)

    def _entries_or_aside(self) -> tuple[Entries, tuple[str, ...]]:
        try:
            return self._entries(), ()
        except ValueError as error:
            aside = set_aside(self.path)
            name = aside.name if aside else "nothing"
            return {}, (f"{self.path} could not be read ({error}); it is kept as {name}, a new one begins.",)

    def _entries(self) -> Entries:
        """All that the file holds, whether it counts or not. Raises ValueError."""
        data = read_whole(self.path)
        try:
            value = {} if data is None else json.loads(data.decode("utf-8-sig"))
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        if not isinstance(value, dict):
            raise ValueError("it is no JSON object")
        return {key: _learned(key, one) for key, one in value.items()}

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_folder(self.path.parent)
        with write_lock(self.path.with_name(LOCK)):
            yield


def _learned(key: str, value: Any) -> Learned:
    """One entry. Raises ValueError for what is none."""
    fields = value if isinstance(value, dict) else {}
    window, at, said = (fields.get(name) for name in ("window", "at", "from"))
    if type(window) is not int or window <= 0 or not isinstance(at, str) or not isinstance(said, str):
        raise ValueError(f"the entry {_masked(key)!r} is no window")
    return Learned(window, at, said)


def _counting(entries: Mapping[str, Learned]) -> Entries:
    now = time.time()
    return {key: one for key, one in entries.items() if one.counts(now)}


def _masked(text: str) -> str:
    return mask(text).text
