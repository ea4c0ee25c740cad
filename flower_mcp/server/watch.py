"""Announce what others do to the workbench: a person's editor, a supervisor, another server.

Whoever must not miss an edit reads the file; this is for clients that show documents. What counts is a comparison of
all documents before and after, so saves through other names are seen, and what happened while nobody watched. What can
hurt: `.flower` may not exist yet, and nothing is made here, so the folder above it is watched until it does; where
nothing is reported, it is looked at now and then. Watching begins once somebody may be listening, and not in the first
moments, which belong to the first answer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from flower_mcp.core.errors import FlowerError
from flower_mcp.server.memo import Signature, signature
from flower_mcp.server.notify import Notifier
from flower_mcp.server.service import Service
from flower_mcp.server.steps import LIVE, PREFIX, SUFFIX, files_in
from flower_mcp.workbench.files import read_whole, revision
from flower_mcp.workbench.watch import watch
from flower_mcp.workbench.workbench import FOLDER, Workbench

_FIRST = 0.25  # seconds left to the first requests before watchfiles is imported
_GONE = 0.25  # seconds that a document may be away: editors rename it and put it back
_POLL = 1.0  # seconds between two looks where nothing is reported
_FOLDERS = frozenset({FOLDER, "notes", "live"})

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Seen:
    """The documents and live files as they were, by the part of their names that stands for the step."""

    documents: Mapping[str, Signature] = field(default_factory=dict)
    lives: Mapping[str, Signature] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changes:
    """What others did: steps whose document is another one, steps whose document is gone, and whether lives changed.

    `steps_changed`: there are other steps.
    """

    edited: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    lives: bool = False
    steps_changed: bool = False


class Watcher:
    """The watcher of one server: `begin`, then `run`, which returns after `stop`."""

    def __init__(self, service: Service, notifier: Notifier) -> None:
        self._service = service
        self._notifier = notifier
        self._seen = Seen()
        self._touched = anyio.Event()
        self._stopping = anyio.Event()
        self._over = anyio.Event()  # stopping, or other folders are to be watched
        self._said = False

    async def begin(self) -> None:
        """Take in what is there, so that whatever changes from now on is announced."""
        self._seen = await anyio.to_thread.run_sync(self._look)

    async def run(self) -> None:
        """Announce what others change until `stop`. Never raises for what the disk does."""
        await self._notifier.wanted.wait()
        with anyio.move_on_after(_FIRST):
            await self._stopping.wait()
        while not self._stopping.is_set():
            folders = await anyio.to_thread.run_sync(self._folders)
            self._over = over = anyio.Event()
            if self._stopping.is_set():
                return
            async with anyio.create_task_group() as group:
                group.start_soon(self._announce_all, folders, over)
                why_not = await watch(folders, _matters, self._touch, over)
                if why_not is not None:
                    await self._poll(why_not, over)
                group.cancel_scope.cancel()

    def stop(self) -> None:
        """End `run`. Call this before cancelling it: a watch that is cancelled without it holds its thread for 5 s."""
        self._stopping.set()
        self._over.set()

    def _touch(self) -> None:
        """Something was reported; whoever waits for it looks."""
        self._touched.set()

    async def _announce_all(self, folders: tuple[Path, ...], over: anyio.Event) -> None:
        """Announce each time that something was touched, until these are no longer the folders to watch."""
        while not over.is_set():
            await self._touched.wait()
            self._touched = anyio.Event()
            await self.announce()
            if await anyio.to_thread.run_sync(self._folders) != folders:
                over.set()

    async def _poll(self, why: str, over: anyio.Event) -> None:
        """Look now and then, where nothing is reported."""
        if not self._said:
            log.warning("%s: it is looked at every %g seconds instead", why, _POLL)
            self._said = True
        while not over.is_set():
            self._touch()
            with anyio.move_on_after(_POLL):
                await over.wait()

    async def announce(self) -> None:
        """Compare with what was there, and tell."""
        changes = await anyio.to_thread.run_sync(self._compare)
        if changes.gone:
            await anyio.sleep(_GONE)
            later = await anyio.to_thread.run_sync(partial(self._compare, missing=changes.gone))
            changes = _joined(changes, later)
        for step in (*changes.edited, *changes.gone):
            await self._notifier.updated(step)
        if changes.edited or changes.gone or changes.steps_changed:
            await self._notifier.list_changed()
        if changes.lives:
            await self._notifier.status_updated()

    def _compare(self, missing: tuple[str, ...] = ()) -> Changes:
        """What others changed since the last look. `missing`: steps whose document was gone then."""
        with self._service.writing:
            before, now = self._seen, self._look()
            self._seen = now
            changed = [name for name, each in now.documents.items() if before.documents.get(name) != each]
            edited = [step for name in changed if (step := self._others(name)) is not None]
        removed = [self._named(name) for name in before.documents if name not in now.documents]
        there = {self._named(name) for name in now.documents}
        gone = [step for step in (*removed, *missing) if step is not None and step not in there]
        return Changes(
            edited=tuple(edited),
            gone=tuple(dict.fromkeys(gone)),
            lives=before.lives != now.lives,
            steps_changed=before.lives.keys() != now.lives.keys(),
        )

    def _others(self, name: str) -> str | None:
        """The step of a document that somebody else changed; None when it was this server."""
        step = self._named(name)
        if step is None:
            return None
        try:
            data = read_whole(self._service.workbench.documents.path(step))
        except FlowerError:
            return step
        ours = data is not None and self._service.written.get(step) == revision(data)
        return None if ours else step

    def _named(self, name: str) -> str | None:
        try:
            return self._service.steps.named(name)
        except FlowerError:
            return None

    def _look(self) -> Seen:
        """The files as they are."""
        try:
            workbench = self._service.workbench
        except FlowerError:
            return Seen()
        return Seen(_signatures(workbench.notes, PREFIX, SUFFIX), _signatures(workbench.lives.folder, "", LIVE))

    def _folders(self) -> tuple[Path, ...]:
        """The folders to watch: notes and live, else the nearest ones above that exist; none without a workbench."""
        try:
            workbench = self._service.workbench
        except FlowerError:
            return ()
        return tuple(dict.fromkeys(_nearest(folder, workbench) for folder in (workbench.notes, workbench.lives.folder)))


def _nearest(folder: Path, workbench: Workbench) -> Path:
    """The folder, or the first one above it that exists; the workspace at the most."""
    while not folder.is_dir() and folder not in (workbench.workspace, folder.parent):
        folder = folder.parent
    return folder


def _signatures(folder: Path, prefix: str, suffix: str) -> dict[str, Signature]:
    found = {}
    for entry in files_in(folder, prefix, suffix):
        try:
            found[entry.name.removeprefix(prefix).removesuffix(suffix)] = signature(entry.stat(follow_symlinks=False))
        except OSError:
            continue
    return found


def _joined(first: Changes, later: Changes) -> Changes:
    """Two looks as one: what was gone at the first and is back at the second was edited."""
    return Changes(
        edited=tuple(dict.fromkeys((*first.edited, *later.edited))),
        gone=later.gone,
        lives=first.lives or later.lives,
        steps_changed=first.steps_changed or later.steps_changed,
    )


def _matters(name: str) -> bool:
    """Whether a changed name is worth a look: documents, live files, and the folders themselves."""
    return name.endswith((SUFFIX, LIVE)) or name in _FOLDERS
