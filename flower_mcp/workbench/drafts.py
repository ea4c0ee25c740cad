"""The draft of a step: a handoff that its session wrote by tool, before its turn to write has come.

It must not know whether the draft is complete. A draft that a newer one replaces is kept in the archive beside the
versions of the document, where there is an archive: it is a whole handoff, and may hold what the newer one left out.
Callers hold the write lock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flower_mcp.workbench.exchange import move_new
from flower_mcp.workbench.files import read_with_time, revision, telling, write_whole
from flower_mcp.workbench.json_files import mask
from flower_mcp.workbench.swap import swap


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft as it lies on disk. `written_at` in seconds since the epoch; `masked` is told by the writer alone."""

    path: Path
    text: str
    revision: str
    written_at: float
    masked: int = 0


def write(path: Path, text: str, archive: Iterator[Path] | None) -> Draft:
    """Write the draft, secrets masked; the one before it goes to the archive, if there is one. Raises FilesError."""
    safe = mask(text.replace("\0", ""))
    data = safe.text.encode("utf-8", "replace")
    if archive is None:
        write_whole(path, data)
    else:
        swap(path, data, archive)
    return Draft(path, safe.text, revision(data), time.time(), safe.count)


def read(path: Path) -> Draft | None:
    """The draft, None when there is none. Raises FilesError."""
    found = read_with_time(path)
    if found is None:
        return None
    data, written_at = found
    return Draft(path, data.decode("utf-8", "replace"), revision(data), written_at)


def put_away(path: Path, archive: Iterator[Path]) -> Path | None:
    """Move the draft to the first free one of these names; None when there is none. Raises FilesError."""
    with telling(path, "moved to the archive"):
        for name in archive:
            try:
                if move_new(path, name):
                    return name
            except FileNotFoundError:
                return None
    return None
