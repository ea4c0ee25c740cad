"""Real disks that refuse: a small file system that is full, folders that are read-only, a limit on the size of files.

Where nothing can be mounted, the tests that need it are skipped; those with a limit on file size run everywhere.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BLOCK = 4096  # bytes that a tmpfs gives out at a time


@contextmanager
def small_disk(folder: Path, size: str = "512k") -> Iterator[Path]:
    """A file system of this size, mounted at the folder, which is made."""
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder and all in it cannot be written, by root neither."""
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(disk: Path, *, leave: int = 0) -> Path:
    """Fill a small disk up to the last `leave` blocks; the file to remove to have room again."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * BLOCK)
        except OSError:
            pass
        file.truncate(max(0, file.tell() - leave * BLOCK))
    return filler


def files(folder: Path) -> dict[str, bytes]:
    """All files below the folder, by their path in it, but for the filler and what is empty by design (locks)."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "filler" and path.suffix not in (".lock", ".write")
    }


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], check=False, capture_output=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.decode(errors='replace').strip()}")
