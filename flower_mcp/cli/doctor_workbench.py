"""`flower doctor`: the health of the workbench: its documents, its files, what it weighs, and what is not trusted.

It reads alone. What the readers of a run would set aside stays where it lies here, and is named. What can hurt: a
workbench of thousands of files, so no more than MOST are looked at.
"""

from __future__ import annotations

import os
import shlex
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flower_mcp.cli.clean import old_versions, size_text
from flower_mcp.cli.doctor_finding import Examined, Finding
from flower_mcp.cli.phrases import home_path
from flower_mcp.core.errors import FlowerError
from flower_mcp.server.steps import Steps
from flower_mcp.workbench.files import read_whole
from flower_mcp.workbench.live import fault_of
from flower_mcp.workbench.workbench import FOLDER, Workbench

MOST = 20_000  # files that are looked at
MANY = 100 * 10**6  # bytes of events.jsonl at which one may want to be rid of it: weeks of work
DAYS, NEWEST = 30, 3  # what `flower clean` removes unless told otherwise
_NAMED = 3  # files that a finding names
_DAY = 86_400.0  # seconds


def workbench_check(examined: Examined) -> Iterator[Finding]:
    """All of it. Raises FilesError where the workbench is no folder or leads out."""
    words = examined.words
    if not examined.workspace.is_dir():
        return
    workbench = Workbench(examined.workspace)
    if not workbench.folder.is_dir():
        yield Finding(words("doctor no workbench", folder=FOLDER))
        return
    steps = tuple(each.step for each in Steps(workbench).all())
    yield Finding(words("doctor workbench", path=home_path(workbench.folder), count=len(steps)))
    yield from _documents(examined, workbench, steps)
    yield from _live_states(examined, workbench)
    yield from _weight(examined, workbench)
    yield from _rights_and_links(examined, workbench)
    yield from _trust(examined, workbench, steps)


def _documents(examined: Examined, workbench: Workbench, steps: tuple[str, ...]) -> Iterator[Finding]:
    """The documents that no session could be started from."""
    from flower_mcp.cli.editor import faults_now
    from flower_mcp.core.faults import FaultKind

    for step in steps:
        faults = [fault for fault in faults_now(workbench, step) if fault.kind is not FaultKind.DELETED]
        if faults:
            what = "; ".join(fault.what.rstrip(".") for fault in faults[:_NAMED])
            mend = examined.command("edit", step)
            text = examined.words("doctor document", step=step, what=what)
            yield Finding(text, ok=False, do=(examined.words("doctor document do", command=mend),))


def _live_states(examined: Examined, workbench: Workbench) -> Iterator[Finding]:
    """Live states that cannot be read, and those that a run has set aside."""
    words, aside = examined.words, []
    for path in _files(workbench.lives.folder):
        if ".broken-" in path.name:
            aside.append(path)
        elif path.suffix == ".json":
            with suppress(FlowerError):
                why = fault_of(read_whole(path) or b"")
                if why:
                    text = words("doctor live", path=home_path(path), why=why)
                    yield Finding(text, ok=False, do=(words("doctor live do"),))
    if aside:
        named = ", ".join(sorted(path.name for path in aside)[-_NAMED:])
        yield Finding(words("doctor aside", count=len(aside), names=named), do=(words("doctor aside do"),))


def _weight(examined: Examined, workbench: Workbench) -> Iterator[Finding]:
    """The events and the archive, in bytes."""
    words = examined.words
    with suppress(OSError):
        size = workbench.lives.events_path.lstat().st_size
        path = home_path(workbench.lives.events_path)
        do = (words("doctor events do"),) if size > MANY else ()
        yield Finding(words("doctor events", path=path, size=size_text(size)), do=do)
    sizes = [path.lstat().st_size for path in _files(workbench.notes / "archive", deep=True)]
    if sizes:
        old = old_versions(workbench, before=time.time() - DAYS * _DAY, keep=NEWEST)
        do = (words("doctor clean", count=len(old), days=DAYS, command=examined.command("clean")),) if old else ()
        yield Finding(words("doctor archive", count=len(sizes), size=size_text(sum(sizes))), do=do)


def _rights_and_links(examined: Examined, workbench: Workbench) -> Iterator[Finding]:
    """What others may read, and links that lead out."""
    words, opened, links, others = examined.words, [], [], []
    home = os.path.realpath(workbench.folder)
    is_open = os.name == "posix" and stat.S_IMODE(workbench.folder.stat().st_mode) & 0o077  # else nobody gets in
    for path in _files(workbench.folder, deep=True, folders=True):
        with suppress(OSError):
            facts = path.lstat()
            if stat.S_ISLNK(facts.st_mode):
                if not os.path.realpath(path).startswith(home + os.sep):
                    links.append(path)
            elif hasattr(os, "geteuid") and facts.st_uid != os.geteuid():
                others.append(path)
            elif is_open and stat.S_IMODE(facts.st_mode) & 0o077 and path.name != ".gitignore":
                opened.append(path)
    folder = shlex.quote(str(workbench.folder))
    if links:
        yield Finding(words("doctor links", names=_list(examined, links)), ok=False, do=(words("doctor links do"),))
    if others:
        do = words("doctor owner do", command=f"sudo chown -R $(id -u) {folder}")
        yield Finding(words("doctor owner", names=_list(examined, others)), ok=False, do=(do,))
    if opened:
        do = words("doctor rights do", command=f"chmod -R go-rwx {folder}")
        yield Finding(words("doctor rights", count=len(opened), names=_list(examined, opened)), ok=False, do=(do,))


def _trust(examined: Examined, workbench: Workbench, steps: tuple[str, ...]) -> Iterator[Finding]:
    """What a run would not believe or use, since it may have come with a cloned repository."""
    from flower_mcp.runtime.trust import brought, is_trusted, look

    words = examined.words
    if workbench.known.fault():
        return  # the state folder's own finding says so
    for step in steps:
        with suppress(FlowerError):
            if not look(workbench, step).known:
                do = words("doctor trust do", command=examined.command("trust", step))
                yield Finding(words("doctor strange", step=step), do=(do,))
    if not is_trusted(workbench.workspace, examined.environ, workbench.known):
        out = brought(workbench.workspace, examined.environ)
        if out:
            named = ", ".join(str(each.path) for each in out[:_NAMED])
            do = words("doctor trust do", command=examined.command("trust"))
            yield Finding(words("doctor brought", names=named), do=(do,))


def _list(examined: Examined, paths: list[Path]) -> str:
    named = ", ".join(home_path(path) for path in paths[:_NAMED])
    return named + (", ..." if len(paths) > _NAMED else "")


def _files(folder: Path, *, deep: bool = False, folders: bool = False) -> Iterator[Path]:
    """The files of a folder, with `deep` those below it; `folders`: the folders, too. Links are not followed."""
    left = MOST
    waiting = [folder]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder and deep:
                    waiting.append(Path(entry.path))
                if not is_folder or folders:
                    left -= 1
                    yield Path(entry.path)
                if left <= 0:
                    return
