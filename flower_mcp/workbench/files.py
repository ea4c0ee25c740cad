"""Whole files: written and created so that a reader at any instant, and after a kill, finds old or new.

Paths and bytes only; it must not know what a document is. Files are 0600 and folders 0700 whatever the umask. What can
hurt: the last part of a path that is a link is never followed; a temporary file of a killed writer stays behind, with a
random name, until `sweeping.py` finds it. Every OSError comes out as a FilesError that names the file.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from flower_mcp.core.errors import FilesError
from flower_mcp.workbench.exchange import move_new

SAFE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_REVISION_DIGITS = 12
_WHAT_TO_DO = {
    errno.ENOSPC: "Free some space on that disk.",
    errno.EDQUOT: "Free some space: the quota is used up.",
    errno.EFBIG: "Raise the limit on the size of files (ulimit -f).",
    errno.EROFS: "Make that file system writable.",
    errno.EACCES: "Give yourself the right to write there.",
    errno.EPERM: "Give yourself the right to write there.",
    errno.EIO: "Check that disk: it reports an error.",
}


def revision(data: bytes) -> str:
    """What a version of a document is called: the first 12 hex digits of the sha256 of its bytes."""
    return sha256(data).hexdigest()[:_REVISION_DIGITS]


def read_whole(path: Path) -> bytes | None:
    """The file's bytes, None when there is none. Raises FilesError for a link, a folder, or what cannot be read."""
    found = read_with_time(path)
    return None if found is None else found[0]


def read_with_time(path: Path) -> tuple[bytes, float] | None:
    """The file's bytes and when they were written (seconds since the epoch), both of the same open file."""
    with telling(path, "read"):
        try:
            descriptor = os.open(path, os.O_RDONLY | SAFE | getattr(os, "O_NONBLOCK", 0))  # a pipe must not block
        except (FileNotFoundError, NotADirectoryError):
            return None
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            os.close(descriptor)
            raise _no_file(path)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(), facts.st_mtime


def entries(folder: Path) -> tuple[os.DirEntry[str], ...]:
    """What lies in a folder, in no order; nothing when there is none. Raises FilesError."""
    with telling(folder, "listed"), suppress(FileNotFoundError), os.scandir(folder) as found:
        return tuple(found)
    return ()


def refuse_other(path: Path) -> None:
    """Raise FilesError when a folder, a pipe or the like is at the path, and not a file."""
    with telling(path, "found"):
        try:
            facts = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return
        if not stat.S_ISREG(facts.st_mode):
            raise _no_file(path)


def _no_file(path: Path) -> FilesError:
    return FilesError(f"{path} is not a file.", next="Move it away.")


def write_whole(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Put `data` in the place of whatever is at `path`. `durable`: it also survives a loss of power from now on."""
    with telling(path, "written"):
        temporary = _temporary(path, data, durable=durable)
        try:
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if durable:
            sync_folder(path.parent)


def create(path: Path, data: bytes, *, durable: bool = True, named: bool = True) -> bool:
    """Make the file, whole from its first instant. False, and nothing is written, when there is something already.

    `durable`: it also survives a loss of power. `named` False leaves its name to a `sync_folder` of the caller's, who
    is about to move it on.
    """
    with telling(path, "written"):
        temporary = _temporary(path, data, durable=durable)
        try:
            moved = move_new(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if not moved:
            temporary.unlink(missing_ok=True)
        elif durable and named:
            sync_folder(path.parent)
        return moved


def make_folder(path: Path) -> None:
    """Make the folder and the ones above it that are missing, each 0700. Raises FilesError."""
    with telling(path, "made"):
        if path.is_dir():
            return
        if not path.parent.exists():
            make_folder(path.parent)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        if not path.is_dir():
            raise FilesError(f"{path} is not a folder.", next="Move it away.")


def make_home(folder: Path) -> None:
    """Make a folder of ours that git is to ignore: with a `.gitignore` of `*` inside, unless there is one."""
    make_folder(folder)
    ignore = folder / ".gitignore"
    if not os.path.lexists(ignore):
        create(ignore, b"*\n", durable=False)


def inside(folder: Path, path: Path) -> Path:
    """The path itself, if it lies in the folder with all links resolved, and is no link. Raises FilesError."""
    with telling(path, "found"):
        if path.is_symlink():
            raise FilesError(f"{path} is a link, and links are not followed.", next="Put the file itself there.")
        home = str(folder)
        if not _without_links(home, str(path)) and not _within(home := os.path.realpath(home), path.parent):
            raise FilesError(
                f"{path} lies outside {home}: a link leads there.",
                kept="Nothing was read or written.",
                next="Remove the link.",
            )
        return path


def _without_links(folder: str, path: str) -> bool:
    """Whether a path goes on from the folder's, and none of the folders in between is a link.

    It answers for nearly every path in a fraction of the time that resolving takes, and each tool call asks several
    times.
    """
    if not path.startswith(folder + os.sep):
        return False
    between = path[len(folder) + 1 :].split(os.sep)[:-1]  # noqa: PTH206
    for part in between:
        folder = f"{folder}{os.sep}{part}"
        if part == ".." or os.path.islink(folder):  # noqa: PTH114  # pathlib takes three times as long
            return False
    return True


def _within(home: str, folder: Path) -> bool:
    """Whether the folder, all links resolved, is the resolved `home` or below it."""
    resolved = os.path.realpath(folder)
    return resolved == home or resolved.startswith(home + os.sep)


def restrict(descriptor: int, most: int = 0o600) -> None:
    """Take the rights of others off an open file that somebody else may have made; `most` are the rights that stay."""
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if mode & ~most and hasattr(os, "fchmod"):
        with suppress(OSError):  # another user's file
            os.fchmod(descriptor, mode & most)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. A file system that cannot is no error."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """os.write until all is written."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _temporary(path: Path, data: bytes, *, durable: bool) -> Path:
    """A file `.name.<random>.tmp` beside `path` with the data. `sweeping.py` knows such names, too."""
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFE, 0o600)
    try:
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, 0o600)  # a umask may have taken even the owner's bits
            write_all(descriptor, data)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


@contextmanager
def telling(path: Path, doing: str) -> Iterator[None]:
    """Turn an OSError into a FilesError that names the file."""
    try:
        yield
    except OSError as error:
        raise FilesError(
            f"{path} cannot be {doing}: {error.strerror or error}.", next=what_to_do(error.errno)
        ) from error


def what_to_do(number: int | None, otherwise: str = "Check the folder's rights and free space.") -> str:
    """What a person can do about an error of the system with this errno."""
    return _WHAT_TO_DO.get(number or 0, otherwise)
