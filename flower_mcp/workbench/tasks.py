"""All that a person said to a step, word for word: the task, then each later text under a heading of its own.

It must not know what the words ask for. They are never masked and never shortened. What can hurt: a person may have the
file open in an editor, so an addition is swapped in and a save in between is added to, not lost.

Entries are not told apart again: the words stand as they were typed, and a text that itself holds a line like such a
heading reads like two entries. Nobody parses the file; who needs the beginning and the newest takes both ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path

from flower_mcp.core.books import iso
from flower_mcp.core.decode import decode, encode
from flower_mcp.workbench import archive
from flower_mcp.workbench.files import create, inside, make_folder, make_home, read_whole, revision
from flower_mcp.workbench.names import file_name, task_name
from flower_mcp.workbench.swap import swap, swap_if


class By(StrEnum):
    """How a person's later words came."""

    FLOWER = "flower"
    SAY = "say"
    INTERRUPT = "interrupt"


class Tasks:
    """The task files in `notes` of the workbench `root`. `lock` gives the step's write lock, and makes the folders.

    `wrote` is told the revision of each text that was written here.
    """

    def __init__(
        self,
        root: Path,
        lock: Callable[[str], AbstractContextManager[None]],
        wrote: Callable[[str], None] = lambda _revision: None,
    ) -> None:
        self.root = root
        self._wrote = wrote
        self.notes = root / "notes"
        self.archive = self.notes / "archive" / "任务"
        self._lock = lock

    def path(self, step: str) -> Path:
        """Where the step's words lie. Raises FilesError when a link leads out of the workbench."""
        return inside(self.root, self.notes / task_name(step))

    def start(self, step: str, words: str) -> Path:
        """Begin anew with these words; what was there goes to the archive. Raises FilesError, LockTimeout."""
        with self._locked(step):
            path = self.path(step)
            data = _bytes(words)
            if not create(path, data):
                swap(path, data, archive.names(self.archive, file_name(step)))
        self._wrote(revision(data))
        return path

    def add(self, step: str, words: str, by: By | str, at: str | None = None) -> Path:
        """Add later words under `## <at> · <by>`; `at` is ISO 8601, by default now. Raises FilesError, LockTimeout."""
        addition = entry(words, by, at or iso(time.time()))
        with self._locked(step):
            path = self.path(step)
            while True:
                old = read_whole(path)
                data = _bytes(addition) if old is None else _added(old, addition)
                done, kept = swap_if(path, data, old, archive.names(self.archive, file_name(step)))
                if done:
                    break
            if kept is not None:
                kept.unlink()  # all its bytes are in the new file
        self._wrote(revision(data))
        return path

    def read(self, step: str) -> str | None:
        """All the words, None when there are none. Raises FilesError."""
        data = read_whole(self.path(step))
        return None if data is None else decode(data).text

    def _locked(self, step: str) -> AbstractContextManager[None]:
        """The step's write lock, all folders made."""
        make_home(self.root)
        make_folder(inside(self.root, self.archive))
        return self._lock(step)


def entry(words: str, by: By | str, at: str) -> str:
    """Later words under their heading; `at` is ISO 8601. Raises ValueError for a `by` that there is not."""
    return f"## {at} · {By(by)}\n\n{words}"


def _bytes(words: str) -> bytes:
    """The words as they were typed: bytes that a terminal could not decode come out as they went in."""
    try:
        return words.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return words.encode("utf-8", "replace")


def _added(old: bytes, addition: str) -> bytes:
    """The old bytes, unchanged, and the addition in their encoding and with an empty line between."""
    decoded = decode(old)
    text = ("\n" if decoded.text.endswith(("\n", "\r")) else "\n\n") + addition
    if decoded.exact:
        whole = encode(decoded.text + text, decoded)
        if whole.startswith(old):
            return whole
    return old + _bytes(text)
