"""Locks of the kernel: the run lock, held as long as a step runs, and the write lock, held for one freeze or edit.

A lock belongs to an open file: it goes when that file is closed, so a dead owner's lock is free by itself, and two
holders within one process conflict as two processes do. Lock files are never removed: removing one that somebody waits
for would give two owners. What can hurt: a check must not look like an owner, so it takes a shared lock for an instant,
and whoever wants the run lock looks again for a moment before believing that it is taken.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from flower_mcp.core.errors import FilesError, LockTimeout
from flower_mcp.workbench.files import what_to_do

PATIENCE = 5.0  # seconds that a writer waits for the write lock; a write takes milliseconds
IN_A_LOOP = 0.05  # seconds that a writer waits which others wait for; it tries again later, and gives up after PATIENCE
_ONLY_READABLE = frozenset((errno.EROFS, errno.EACCES, errno.EPERM))
_CHECKS = 0.1  # seconds in which a run lock's wanter takes a holder for a passing check
_SHORTEST, _UNEVEN = 0.0005, 0.0015  # seconds between two looks; short and uneven, so that no waiter starves
_NEXT = ".next"  # beside a write lock: the lock of whoever is to have it next

if sys.platform == "win32":
    import msvcrt

    def _try(descriptor: int, *, shared: bool = False) -> bool:
        """Take the lock of an open file if it is free now. There are no shared locks here: a check is an owner."""
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try(descriptor: int, *, shared: bool = False) -> bool:
        """Take the lock of an open file if it is free now."""
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class RunLock:
    """The lock that a supervisor holds as long as its step runs. `prepare` makes the folder, if that is still to do.

    `acquire` answers at once, but for a tenth of a second in which a check of somebody else may pass. Used as a
    context manager it acquires on entering and gives whether it did.
    """

    def __init__(self, path: Path, prepare: Callable[[], None] | None = None) -> None:
        self.path = path
        self._prepare = prepare
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take the lock; False when somebody else, in this process or in another, holds it."""
        if self._descriptor is None:
            if self._prepare is not None:
                self._prepare()
            self._descriptor = _take(self.path, _CHECKS)
        return self._descriptor is not None

    @property
    def is_ours(self) -> bool:
        """Whether the lock was taken and not given back."""
        return self._descriptor is not None

    def keep(self) -> bool:
        """Whether the lock is still held, looked at again: a lock goes with its file when somebody deletes the folder.

        Then the file is made and locked anew; False when somebody else has done that first. Raises FilesError.
        """
        if self._descriptor is None:
            return False
        if _is_at(self._descriptor, self.path):
            return True
        anew = RunLock(self.path, self._prepare)
        if not anew.acquire():
            return False
        os.close(self._descriptor)
        self._descriptor = anew._descriptor
        return True

    def release(self) -> None:
        """Give the lock back; nothing happens when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock of this file. Makes no file, waits for nobody."""
    flags = os.O_RDWR if sys.platform == "win32" else os.O_RDONLY  # a file system may refuse to lock what is read-only
    try:
        descriptor = _open(path, flags)
    except FileNotFoundError:
        return False
    try:
        return not _try(descriptor, shared=True)
    finally:
        os.close(descriptor)


@contextmanager
def write_lock(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the write lock. Its folder must exist. Raises LockTimeout after `patience` seconds."""
    descriptor = _take(path, patience)
    if descriptor is None:
        raise LockTimeout(
            f"Another program has been writing for {patience:g} seconds and holds the lock {path}.",
            kept="Nothing was written.",
            next="Try again; if it stays so, look for a stopped flower or flower-mcp process.",
        )
    try:
        yield
    finally:
        os.close(descriptor)


def _take(path: Path, patience: float) -> int | None:
    """The open, locked file; None when the lock stayed taken for `patience` seconds.

    Who has to wait, waits in a place of its own, one at a time, and whoever comes while it is taken waits for that. So
    a writer that takes the lock again as soon as it has given it back lets the one before it go first.
    """
    end = time.monotonic() + patience
    queue = path.with_name(path.name + _NEXT)
    if not _is_waited_at(queue):
        taken = _poll(path, 0.0)
        if taken is not None:
            return taken
    place: int | None = None
    with suppress(OSError, FilesError):  # no room for it: then by chance
        place = _poll(queue, end)
    try:
        return _poll(path, end)
    finally:
        if place is not None:
            os.close(place)


def _is_waited_at(queue: Path) -> bool:
    try:
        return is_held(queue)
    except (OSError, FilesError):
        return False


def _poll(path: Path, end: float) -> int | None:
    """The open, locked file; None when the lock is taken until `end`, of the monotonic clock. Tries at least once."""
    descriptor = _open(path, os.O_RDWR | os.O_CREAT)
    try:
        while True:
            if _try(descriptor):
                if _is_at(descriptor, path):
                    taken, descriptor = descriptor, -1
                    return taken
                os.close(descriptor)  # the folder was emptied while we waited: this lock is nobody's any more
                descriptor = -1
                descriptor = _open(path, os.O_RDWR | os.O_CREAT)
            elif time.monotonic() >= end:
                return None
            else:
                time.sleep(_SHORTEST + _UNEVEN * (time.monotonic_ns() % 1000) / 1000)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _open(path: Path, flags: int) -> int:
    """Open a lock file, never through a link. Raises FileNotFoundError, else FilesError.

    What may only be read is opened for reading, where there is such a file: it can be locked all the same.
    """
    safe = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, flags | safe, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in _ONLY_READABLE and sys.platform != "win32":
            with suppress(OSError):
                return os.open(path, os.O_RDONLY | safe)
        usual = "Is it a link or a folder?"
        raise FilesError(
            f"The lock file {path} cannot be opened: {error.strerror}.", next=what_to_do(error.errno, usual)
        ) from error


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
