"""The swap: a new version takes its place, and the one before it is in the archive, whatever happens in between.

Paths and bytes only; it must not know what a document is, nor choose the names in the archive. What can hurt: an editor
may save, delete or rename the file at any instant, and its save must never be lost; a kill may come at any instant.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum, auto
from itertools import chain
from pathlib import Path

from flower_mcp.workbench.exchange import exchange, move_new
from flower_mcp.workbench.files import SAFE, create, read_whole, refuse_other, sync_folder, telling, write_whole


def swap(path: Path, data: bytes, names: Iterator[Path]) -> Path | None:
    """Put `data` at `path` and keep what was there at that very instant at the first free one of `names`.

    Answers the kept file's path, None when there was nothing. The new text is put under the archive's name and then
    changes places with the old one, so every version is under a lasting name at every instant, and a save that comes in
    between is kept too. A kill before the exchange leaves the new text in the archive: a version too many, never one
    too few. Where the system has no exchange, the old file is copied, looked at again, and replaced.

    After a loss of power it is the same: the new text is on the disk before it gets its place, and file systems with a
    journal keep names in the order in which they changed, so the exchange is never there without the name before it.
    That name alone would not help where they do not, so the folders are synchronised once, after the exchange, the one
    that holds the old text first.
    """
    refuse_other(path)
    with telling(path, "written"):
        kept = _first_free(names, data, named=False)
        try:
            moved = _change_places(kept, path)
        except OSError:
            kept.unlink(missing_ok=True)
            raise
        if moved is _Moved.CANNOT:
            return _replace_by_copy(path, kept, names)
        sync_folder(kept.parent)
        sync_folder(path.parent)
        if moved is _Moved.NEW:
            return None
        _make_private(kept)
        return kept


def swap_if(path: Path, data: bytes, seen: bytes | None, names: Iterator[Path]) -> tuple[bool, Path | None]:
    """`swap`, but only if `seen` is what was there (None: nothing). (done, where the old file was kept).

    When something else was there, it is back in its place: (False, None). If yet another save came meanwhile, the newer
    save stays in its place and the older one in the archive.
    """
    if seen is None:
        return create(path, data), None
    if read_whole(path) != seen:
        return False, None
    kept = swap(path, data, names)
    if kept is None:  # deleted while we wrote: what was seen is kept all the same
        return True, _first_free(names, seen)
    if read_whole(kept) == seen:
        return True, kept
    _put_back(path, kept, data)
    return False, None


def _first_free(names: Iterator[Path], data: bytes, *, named: bool = True) -> Path:
    """Create a file under the first free name; `named`: that name, too, survives a loss of power."""
    return next(name for name in names if create(name, data, named=named))


class _Moved(Enum):
    """How a new file came to its place."""

    SWAPPED = auto()
    NEW = auto()
    CANNOT = auto()


def _change_places(new: Path, path: Path) -> _Moved:
    """Exchange the files, or give the new one its place when there is no old one. Both may change while we try."""
    while True:
        try:
            return _Moved.SWAPPED if exchange(new, path) else _Moved.CANNOT
        except FileNotFoundError:
            if os.path.lexists(path):
                if not new.exists():
                    raise
            elif move_new(new, path):
                return _Moved.NEW


def _put_back(path: Path, kept: Path, ours: bytes) -> None:
    """Undo a swap: the save that it took away, at `kept`, is in its place again, unless a newer one is there."""
    with telling(path, "written"):
        if not exchange(kept, path):
            write_whole(path, read_whole(kept) or b"")  # the kept copy stays in the archive
        elif read_whole(kept) == ours:
            kept.unlink()
        else:
            exchange(kept, path)
        sync_folder(path.parent)


def _replace_by_copy(path: Path, new: Path, names: Iterator[Path]) -> Path | None:
    """Where nothing can be exchanged: copy the old file, look again, replace. `new` holds the new text."""
    moving = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    new.replace(moving)
    names = chain((new,), names)  # its name is free again
    kept: Path | None = None
    try:
        while True:
            old = read_whole(path)
            if old is None:
                if move_new(moving, path):
                    break
                continue
            kept = _first_free(names, old)
            if read_whole(path) == old:
                moving.replace(path)
                break
    finally:
        moving.unlink(missing_ok=True)
    sync_folder(path.parent)
    return kept


def _make_private(path: Path) -> None:
    """0600 for a file that an editor may have made readable for others."""
    if not hasattr(os, "fchmod"):
        return
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | SAFE | os.O_NONBLOCK)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
