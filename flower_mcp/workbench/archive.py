"""The archive: every version that was replaced, under its step's name and the time at which it was replaced.

It must not know what is in a version. What can hurt: there may be ten thousand of them in one folder, so a listing is
one scan and no file is opened for it; and the name of one step may begin with that of another.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flower_mcp.workbench.files import entries, read_whole, revision
from flower_mcp.workbench.names import TIMESTAMP, timestamp

_SUFFIX = ".md"
_TICK = 1e-6  # seconds: the resolution of a timestamp


@dataclass(frozen=True, slots=True)
class Version:
    """A version that was replaced. `replaced_at` is a timestamp in a file name's form, `written_at` seconds since the
    epoch."""

    path: Path
    replaced_at: str
    written_at: float

    def data(self) -> bytes:
        """Its bytes. Raises FilesError; empty when it has been removed."""
        return read_whole(self.path) or b""

    def revision(self) -> str:
        """Its revision; reads the file."""
        return revision(self.data())


def names(folder: Path, name: str) -> Iterator[Path]:
    """Paths `<name>-<timestamp>.md` from this moment on, a microsecond apart, for the first one that is free."""
    moment = time.time()
    while True:
        yield folder / f"{name}-{timestamp(moment)}{_SUFFIX}"
        moment += _TICK


def versions(folder: Path, name: str) -> tuple[Version, ...]:
    """The archived versions of a step with this file name, oldest first. No file is opened. Raises FilesError."""
    prefix = f"{name}-"
    found: list[Version] = []
    for entry in entries(folder):
        if not entry.name.startswith(prefix) or not entry.name.endswith(_SUFFIX):
            continue
        stamp = entry.name[len(prefix) : -len(_SUFFIX)]
        if TIMESTAMP.fullmatch(stamp) and entry.is_file(follow_symlinks=False):
            with suppress(OSError):  # an edit that was put back takes its own version away again
                found.append(Version(Path(entry.path), stamp, entry.stat(follow_symlinks=False).st_mtime))
    return tuple(sorted(found, key=lambda version: version.replaced_at))
