"""What a run left that was killed together with its keepers: processes that nobody watches, private files, half-written
ones.

Looked for when a step starts. It must not touch what belongs to a run that lives, here or on another machine that
shares the run folder: a keeper's folder goes when neither its supervisor nor any process of its session is there. What
can hurt: a process id is used again, so an owner that began after the folder was made is none.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from flower_mcp.core.events import Kind, Phase
from flower_mcp.runtime import keeper
from flower_mcp.runtime.keeping import end_marked
from flower_mcp.runtime.starting import keeper_folders
from flower_mcp.workbench.sweeping import sweep
from flower_mcp.workbench.workbench import Workbench

if TYPE_CHECKING:
    from flower_mcp.runtime.step import StepRun

_LATER = 5.0  # seconds by which a process must be younger than a folder so that it cannot have made it
_HALF = 600.0  # seconds after which a folder that lacks a file is not just being made or removed
_PREFIX = "keeper-"


async def clear_leftovers(run: StepRun) -> None:
    """End what the step's lost run still has running, and remove private files of the dead."""
    before = run.setting.before
    if before is not None and before.row.run and not before.state.ended:
        ended = await anyio.to_thread.run_sync(end_marked, before.row.run)
        if ended:
            run.ended.extend(ended)
            names = ", ".join(f"{one.pid}: {one.command}" for one in ended)
            run.record.event(Kind.SESSION, f"ended what the run before had left running: {names}", phase=Phase.CLEARED)
    for folder in keeper_folders(run):
        await anyio.to_thread.run_sync(clear_folders, folder)
    await anyio.to_thread.run_sync(_sweep, run.setting.workbench, run.setting.run_dir)


def _sweep(workbench: Workbench | None, run_dir: Path) -> None:
    """Remove the temporary files of killed writers. The run folder may hold what is not ours, so not below it."""
    now = time.time()
    sweep(run_dir, now=now, below=False)
    if workbench is not None:
        sweep(workbench.folder, now=now)


def clear_folders(folder: Path) -> tuple[Path, ...]:
    """Remove this user's keepers' folders in `folder` whose supervisor, keeper and CLI are dead; which these were."""
    folders = []
    with suppress(OSError):
        folders = [path for path in folder.iterdir() if path.name.startswith(_PREFIX) and _is_ours(path)]
    if not folders:
        return ()
    found = keeper.processes()
    variables = b"".join(each for _, each in found.values())
    dead = tuple(path for path in folders if _is_dead(path, variables))
    for path in dead:
        with suppress(OSError):
            for name in keeper.FILES:
                (path / name).unlink(missing_ok=True)
            path.rmdir()
    return dead


def _is_ours(path: Path) -> bool:
    """Whether it is no link, and not another user's: the last place for keepers is the folder for temporary files."""
    return not path.is_symlink() and path.lstat().st_uid == os.getuid()


def _is_dead(folder: Path, variables: bytes) -> bool:
    """Whether nobody can need the folder any more."""
    keeper_id = folder.name.removeprefix(_PREFIX)
    marks = (f"\0{keeper.KEEPER_VARIABLE}={keeper_id}\0", f"\0{keeper.FOLDER_VARIABLE}={folder}\0")
    return _is_left(folder) and not any(os.fsencode(mark) in variables for mark in marks)


def _is_left(folder: Path) -> bool:
    """Whether its supervisor is dead, as far as its files tell; half of them tell that only some time later."""
    try:
        host = _content(folder / "host")
        settings = _content(folder / "settings")
        if host is None or settings is None:
            return host in (None, _this_host()) and time.time() - folder.stat().st_mtime > _HALF
        made = (folder / "settings").stat().st_mtime
    except OSError:
        return False  # being removed just now, or not to be read
    owner = os.fsdecode(settings.partition(b"\0")[0])
    return owner.isdecimal() and host == _this_host() and not _lives(int(owner), made)


def _content(path: Path) -> bytes | None:
    """A file's bytes, None when it is not there or empty: a kill may come before the first of them. Raises OSError."""
    with suppress(FileNotFoundError):
        return path.read_bytes() or None
    return None


def _this_host() -> bytes:
    return os.fsencode(socket.gethostname())


def _lives(pid: int, made: float) -> bool:
    """Whether the process that made something at `made` is still there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    began = _began(pid)
    return began is None or began < made + _LATER


def _began(pid: int) -> float | None:
    """When a process began, in seconds since the epoch; None where that cannot be known."""
    with suppress(OSError, ValueError, IndexError):
        ticks = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
        lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
        boot = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
        return boot + ticks / os.sysconf("SC_CLK_TCK")
    return None
