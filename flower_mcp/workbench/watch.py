"""Hear of changes in folders as they happen, for a while.

A convenience: whoever must not miss a change looks at the file himself, and looks now and then all the same. So where
the system reports nothing (network file systems, WSL's mounts, no watches left) this ends at once, with the reason, and
the caller's looks are the polling. It must not know which file matters, nor why.

What can hurt: editors save through other names and rename, so folders are watched, not files; and a watch that is
cancelled while its thread waits ends seconds later, so `stop` is set before anything is cancelled. watchfiles is
imported only here, in a thread, since it takes longer than a save may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from watchfiles import Change

QUIET, AT_MOST = 20, 80  # milliseconds without a change before a batch is given, and at the most
ARMED = 0.1  # seconds after which a watch stands for sure
REMOTE = frozenset({"9p", "drvfs", "cifs", "smb3", "smbfs", "nfs", "nfs4", "vboxsf", "fuse.sshfs", "fuse.vmhgfs-fuse"})


async def watch(
    folders: Iterable[Path], matters: Callable[[str], bool], changed: Callable[[], object], stop: anyio.Event
) -> str | None:
    """Call `changed` whenever a file whose name `matters` was touched in one of the folders, until `stop` is set.

    It is called once more when the watch stands, for what happened before. None when it was stopped; else why nothing
    is reported here. Never raises for what the disk does.
    """
    there = [folder for folder in folders if folder.is_dir()]
    if not there:
        return "there is no folder to watch"
    try:
        await anyio.to_thread.run_sync(_import)
        for folder in there:
            if kind := await anyio.to_thread.run_sync(remote_kind, folder):
                return f"{folder} lies on {kind}, which reports no changes"
        await _watch(there, matters, changed, stop)
    except OSError as error:  # no watches left, a folder that went away
        return f"{there[0]} cannot be watched: {error}"
    except Exception as error:  # watchfiles' own error class is importable only once it is imported
        if type(error).__module__.partition(".")[0] not in ("watchfiles", "_rust_notify"):
            raise
        return f"{there[0]} cannot be watched: {error}"
    return None


async def _watch(
    folders: list[Path], matters: Callable[[str], bool], changed: Callable[[], object], stop: anyio.Event
) -> None:
    from watchfiles import awatch

    def filtered(_change: Change, path: str) -> bool:
        return matters(Path(path).name)

    batches = awatch(
        *folders,
        watch_filter=filtered,
        debounce=AT_MOST,
        step=QUIET,
        stop_event=stop,
        force_polling=False,
        recursive=False,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_call_when_armed, changed)
        async with aclosing(batches):
            async for _ in batches:
                changed()
        tasks.cancel_scope.cancel()


async def _call_when_armed(changed: Callable[[], object]) -> None:
    await anyio.sleep(ARMED)
    changed()


def remote_kind(folder: Path) -> str:
    """The type of the file system that the folder lies on, if it is one that reports no changes; else ""."""
    kind = mount_kind(folder)
    return kind if kind in REMOTE else ""


def mount_kind(folder: Path) -> str:
    """The type of the file system that the folder lies on, as the system calls it; "" where it does not say."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    kinds = {Path(fields[1].replace("\\040", " ")): fields[2] for line in mounts if len(fields := line.split()) > 2}
    return next((kinds[each] for each in (folder, *folder.parents) if each in kinds), "")


def _import() -> None:
    import watchfiles  # noqa: F401  # only to have it loaded, off the event loop
