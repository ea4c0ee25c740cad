"""Late edits: what a person changes in the document while a session works from it, told at its next message boundary.

At a boundary the file is compared with what the session knows. A change is the session's own when a tool of it has
touched the document since the boundary before, and a person's otherwise. What cannot be known: what a script or a
background shell of the session does without naming the file counts as a person's, and the prompt says so; what a person
saves while a command of the session that names the file runs counts as the session's. For Edit, Write and edit_section
what they do is worked out, so that a person's save beside them is told all the same.

Nothing here waits for a save, and nothing decides what a session does with it.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from flower_mcp.core.changes import Change, changes, late_text, names_of
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.events import Kind
from flower_mcp.runtime.own_changes import explains, touches
from flower_mcp.runtime.signals import Signal, Used
from flower_mcp.runtime.taking import mark_taken
from flower_mcp.workbench.files import read_whole, revision
from flower_mcp.workbench.following import NOTHING, Follower, Seen

if TYPE_CHECKING:
    from flower_mcp.runtime.documents import Text
    from flower_mcp.runtime.step import StepRun

STILL, STILL_LIMIT = 0.1, 0.5  # seconds that a save must stand still before it is told, and that are waited for it


@dataclass(frozen=True, slots=True)
class Save:
    """A save that the living session has not been told of."""

    changes: tuple[Change, ...]
    revision: str


class LateEdits:
    """The late edits of a run. Without a workbench there is no file, and nothing happens here."""

    def __init__(self, run: StepRun) -> None:
        self._run = run
        workbench = run.setting.workbench
        self.follower = None if workbench is None else Follower(workbench.documents, run.step, run.record.say)
        self.known: Seen | None = None
        self._saves: list[Save] = []
        self._touches: list[Used] = []
        self._unanswered: set[str] = set()
        self._swapped_out: Path | None = None
        self._replaced = NOTHING  # what is known of the file that was swapped out

    @property
    def is_waiting(self) -> bool:
        """Whether a session was told something that no turn has taken in yet."""
        return bool(self._unanswered)

    def begin(self, seen: Seen | None = None) -> None:
        """A session begins that knows this version of the document; None: the one that lies there."""
        self._unanswered.clear()
        self._touches.clear()
        if self.follower is not None:
            self.known = self.follower.look(sure=True) if seen is None else seen

    def resume(self, known_revision: str | None) -> None:
        """A session of an earlier run goes on that knew this revision: what differs was saved while nobody ran."""
        if self.follower is None or self.known is not None:
            return
        seen = self.follower.look(sure=True)
        if known_revision in (None, seen.revision):
            self.known = seen
        else:
            self.known = self.follower.archived(known_revision or "") or NOTHING

    def frozen(self, document: Text) -> None:
        """A document was put in place of the one that was there; a save that it replaced unseen is told later."""
        if self.follower is None or document.path is None:
            return
        self._swapped_out, self._replaced = document.archived, self.known or NOTHING
        self._look_at_swapped()
        self._touches.clear()
        self.known = Seen.of(document.data, self._run.step)
        self.follower.begin(self.known)

    def take(self, signal: Signal) -> None:
        """Note a tool that may touch the document; what has changed before it began is not of its making."""
        if self.follower is not None and isinstance(signal, Used) and touches(signal, self.follower.path):
            self.notice(settled=True)
            self._touches.append(signal)

    def answered(self, uuids: Collection[str]) -> None:
        """A turn has ended that took these prompts in."""
        self._unanswered.difference_update(uuids)

    def notice(self, *, settled: bool = False) -> None:
        """Compare the document with what the session knows; `settled`: only if it was not written just now.

        That is asked in the middle of a message, whose tools may all be at work yet, so they explain what comes, too.
        """
        if self.follower is None or self.known is None:
            return
        self._look_at_swapped()
        seen = self.follower.look()
        if settled and time.time() - seen.written_at < STILL:
            return
        touched = self._touches
        if seen.has_text and not settled:
            self._touches = []
        if seen.revision == self.known.revision or not seen.has_text:
            return
        if not explains(touched, self.known.text, seen.text):
            self._add(self.known.text if self.known.data is not None else None, seen)
        elif (before := self._run.record.live.document) is not None:  # else the next run would take it for a person's
            self._run.record.document(seen.state(str(self.follower.path), edited=before.edited))
            mark_taken(self._run, seen.revision)
        self.known = seen

    async def tell(self) -> bool:
        """Tell the living session what it has not been told of; whether it was told something."""
        if self.follower is None or not await self._stands_still():
            return False
        self.notice()
        session = self._run.session
        if not self._saves or session is None or not session.alive:
            return False
        saves, self._saves = self._saves, []
        found = tuple(change for save in saves for change in save.changes)
        path = str(self.follower.path)
        self._unanswered.add(await session.say(late_text(found, path=path)))
        self._say(found, delivered=True)
        if self.known is not None and self.known.has_text:
            self._run.record.document(self.known.state(path, edited=True))
            mark_taken(self._run, self.known.revision)
        return True

    def end(self) -> None:
        """The run is over: say what no session was told of."""
        self.notice()
        saves, self._saves = self._saves, []
        if saves:
            found = tuple(change for save in saves for change in save.changes)
            self._say(found, delivered=False)
            self._run.record.error(
                f"a person's change of {names_of(found)} came too late, when the session had ended: nobody was told, "
                "and it lies in the document or its archive"
            )

    def _say(self, found: tuple[Change, ...], *, delivered: bool) -> None:
        """One event for each changed section."""
        how = "the session was told" if delivered else "too late: the session has ended"
        for change in found:
            self._run.record.event(
                Kind.EDIT, f"late edit of {names_of((change,))}: {how}", phase="late", section=change.section,
                delivered=delivered,
            )  # fmt: skip

    def _add(self, before: str | None, seen: Seen) -> None:
        found = changes(before, seen.text)
        if found:
            self._saves.append(Save(found, seen.revision))

    def _look_at_swapped(self) -> None:
        """An editor that had the replaced file open may have written into it since: the archive has it, tell of it."""
        data = None
        if self._swapped_out is not None:
            with suppress(FlowerError):
                data = read_whole(self._swapped_out)
        if data is None or not data.strip() or revision(data) == self._replaced.revision:
            return
        seen, before = Seen.of(data, self._run.step), self._replaced
        self._replaced = seen
        if not explains(self._touches, before.text, seen.text):
            self._add(before.text if before.data is not None else None, seen)

    async def _stands_still(self) -> bool:
        """Wait a moment for a file that is just being written; True, also when it goes on."""
        follower = self.follower
        if follower is None:
            return False
        seen, waited = follower.look(), 0.0
        while waited < STILL_LIMIT and (self.known is None or seen.revision != self.known.revision):
            await anyio.sleep(STILL)
            waited += STILL
            again = follower.look(sure=True)
            if again.revision == seen.revision:
                break
            seen = again
        return True
