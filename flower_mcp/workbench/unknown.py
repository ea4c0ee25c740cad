"""What lies in a workbench for a step that this machine does not know: it may have come with a cloned repository.

Such files are not believed. A live state would choose the session that is resumed, an inbox would speak for the
person, a draft would be frozen, a hold would wait for ever, and the task's file would give orders in the person's name.
So they are moved into the archive before anything reads them, never removed. The document itself is data and may stay
where it is when its text is known. It must not know sessions, nor ask anybody.

What can hurt: the caller holds the step's run lock, so nobody writes these files meanwhile.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from flower_mcp.workbench.exchange import move_new
from flower_mcp.workbench.files import inside, make_folder, read_whole, restrict, revision, telling
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.live import EVENTS, Live
from flower_mcp.workbench.names import file_name, timestamp
from flower_mcp.workbench.tasks import Tasks

ARCHIVE = "unknown"  # the folder in the archive
_OF_A_STEP = (".json", ".draft.md", ".inbox", ".hold", ".taken")
_LEASE = re.compile(r"\.lease-\d+$")


def left(lives: Live, tasks: Tasks | None, workspace: Path, step: str, known: Known) -> tuple[Path, ...]:
    """What lies there of an unknown step, its document left out; nothing for a known one.

    The events of all steps count as this one's as long as no step of the workspace is known. Raises FilesError where a
    link leads out.
    """
    if known.step(workspace, step):
        return ()
    found = [path for path in _candidates(lives, step) if os.path.lexists(path)]
    if os.path.lexists(events := lives.folder / EVENTS) and not known.any_step(workspace):
        found.append(events)
    path = None if tasks is None else tasks.path(step)
    data = None if path is None else read_whole(path)
    if path is not None and data is not None and not known.revision(revision(data)):
        found.append(path)
    return tuple(found)


def put_aside(lives: Live, files: tuple[Path, ...]) -> Path | None:
    """Move files of an unknown step into the archive; the folder that they lie in now. Raises FilesError."""
    if not files:
        return None
    above = (lives.folder if lives.archive is None else lives.archive.parent) / ARCHIVE
    inside(lives.home, above)
    make_folder(above)
    base = time.time()
    folder = next(each for n in count() if _made(each := inside(lives.home, above / timestamp(base + n / 1e6))))
    for path in files:
        with telling(path, "moved to the archive"), suppress(FileNotFoundError):
            move_new(path, folder / path.name)
    return folder


def make_private(home: Path) -> None:
    """Take the rights of others off a workbench that somebody else's program made. No link is followed."""
    if not hasattr(os, "fwalk"):
        return
    with suppress(OSError):
        for _, _, files, folder in os.fwalk(home, follow_symlinks=False):
            restrict(folder, 0o700)
            for name in files:
                with suppress(OSError):
                    _restrict_file(name, folder)


def _restrict_file(name: str, folder: int) -> None:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        restrict(descriptor)
    finally:
        os.close(descriptor)


def _made(folder: Path) -> bool:
    with telling(folder, "made"):
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            return False
        return True


def _candidates(lives: Live, step: str) -> Iterator[Path]:
    name = file_name(step)
    yield from (lives.folder / f"{name}{extension}" for extension in _OF_A_STEP)
    with suppress(OSError), os.scandir(lives.folder) as entries:
        yield from (Path(entry.path) for entry in entries if _is_lease(entry.name, name))


def _is_lease(entry: str, name: str) -> bool:
    return entry.startswith(name) and _LEASE.fullmatch(entry[len(name) :]) is not None
