"""`flower doctor`: does the watcher report changes where the workspace lies, do locks hold there, and who holds which?

Both are tried for real, in a temporary folder on the same file system: the system's own where that is the same one,
else one inside the workbench or the workspace, which is removed again. No workbench is made where there is none. What
can hurt: a file system that takes a watch and never reports (bind mounts, WSL), so only a change that was reported
counts.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flower_mcp.cli.choosing import local_time
from flower_mcp.cli.doctor_finding import Examined, Finding
from flower_mcp.cli.phrases import home_path
from flower_mcp.core.errors import FlowerError
from flower_mcp.workbench.locks import RunLock, is_held
from flower_mcp.workbench.watch import REMOTE, mount_kind
from flower_mcp.workbench.workbench import FOLDER, Workbench

HEARD, ARMING = 2.0, 5.0  # seconds; a report takes milliseconds, importing watchfiles on a busy machine a second


def workspace_check(examined: Examined) -> Iterator[Finding]:
    """Whether there is a folder to work in, and whether it may be written."""
    words, workspace = examined.words, examined.workspace
    path = home_path(workspace)
    if not workspace.is_dir():
        yield Finding(words("doctor no workspace", path=path), ok=False, do=(words("doctor name workspace"),))
    elif not os.access(workspace, os.R_OK | os.W_OK | os.X_OK):
        do = words("doctor may write", command=f"chmod u+rwx '{workspace}'")
        yield Finding(words("doctor workspace closed", path=path), ok=False, do=(do,))
    else:
        kind = mount_kind(workspace) or words("doctor mount unknown")
        yield Finding(words("doctor workspace", path=path, kind=kind))


def watcher_check(examined: Examined) -> Iterator[Finding]:
    """A watch, a change, and whether it was reported."""
    words = examined.words
    with _probe_folder(examined) as folder:
        if folder is None:
            return  # the workspace's own finding says why
        kind = mount_kind(folder)
        if kind in REMOTE:
            yield Finding(words("doctor polls", kind=kind))
            return
        import anyio

        heard, why = anyio.run(_heard, folder)
        if heard:
            yield Finding(words("doctor watcher"))
        elif why:
            yield Finding(words("doctor watcher fails", why=why), ok=False, do=(words("doctor watches"),))
        else:
            text = words("doctor watcher silent", seconds=f"{HEARD:g}", kind=kind or "?")
            yield Finding(text, ok=False, do=(words("doctor watcher do"),))


def locks_check(examined: Examined) -> Iterator[Finding]:
    """Whether a lock that is held keeps others out, and who holds the locks of this workspace's steps."""
    words = examined.words
    with _probe_folder(examined) as folder:
        if folder is None:
            return
        path = folder / "probe.lock"
        first, second = RunLock(path), RunLock(path)
        try:
            holds = first.acquire() and not second.acquire() and is_held(path)
            first.release()
            holds = holds and not is_held(path)
        finally:
            first.release()
            second.release()
        if holds:
            yield Finding(words("doctor locks"))
        else:
            kind = mount_kind(folder) or "?"
            yield Finding(words("doctor no locks", kind=kind), ok=False, do=(words("doctor no locks do"),))
    for step, by in _holders(examined):
        yield Finding(words("doctor held", step=step, by=by or words("doctor somebody")))


def _holders(examined: Examined) -> Iterator[tuple[str, str]]:
    """The steps that somebody runs now, and who, as far as their live states tell."""
    with suppress(FlowerError):
        workbench = Workbench(examined.workspace)
        for step in workbench.lives.steps():
            if is_held(workbench.lives.run_lock(step).path):
                live = workbench.lives.read(step, owner=False)
                by = None if live is None else live.supervisor
                since = "" if by is None else local_time(by.since)
                yield step, "" if by is None else f"pid {by.pid}, {by.host}, {since}"


@contextmanager
def _probe_folder(examined: Examined) -> Iterator[Path | None]:
    """A temporary folder on the workspace's file system; None where none can be made."""
    place = probe_place(examined.workspace, examined.scratch)
    if place is None:
        yield None
        return
    try:
        made = tempfile.TemporaryDirectory(prefix=".flower-doctor-", dir=place, ignore_cleanup_errors=True)
    except OSError:
        yield None
        return
    with made as name:
        yield Path(name).resolve()


def probe_place(workspace: Path, scratch: Path) -> Path | None:
    """Where to try: the doctor's own folder if it lies on the same file system, else the workbench, else the workspace.

    None where there is no workspace.
    """
    try:
        device = workspace.stat().st_dev
        if not workspace.is_dir():
            return None
        if scratch.stat().st_dev == device:
            return scratch
        workbench = workspace / FOLDER
        return workbench if workbench.is_dir() and not workbench.is_symlink() else workspace
    except OSError:
        return None


async def _heard(folder: Path) -> tuple[bool, str]:
    """Whether a change in the folder was reported; and why nothing is, where the system says so."""
    import anyio

    from flower_mcp.workbench.watch import watch

    stands, reported, stop = anyio.Event(), anyio.Event(), anyio.Event()
    reasons: list[str] = []

    def changed() -> None:
        (reported if stands.is_set() else stands).set()

    async def watching() -> None:
        why = await watch([folder], lambda name: name == "probe.md", changed, stop)
        if why:
            reasons.append(why)
            stands.set()
            reported.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watching)
        with anyio.move_on_after(ARMING):
            await stands.wait()
        if not reasons:
            (folder / "probe.md").write_bytes(b"probe\n")
            with anyio.move_on_after(HEARD):
                await reported.wait()
        stop.set()
    return reported.is_set() and not reasons, reasons[0] if reasons else ""
