"""What a person says to a step while it runs, and what was said when nobody ran: heard, kept, told, and done with.

Messages lie in the step's inbox, a file each. The words of one are put into the task's file as soon as they are heard,
so that every later session gets them; the living session is told at its next message boundary; and the file is removed
when a session has taken the words in. So a kill at any instant loses nothing. Nor does it say anything twice: the
prompt's uuid is made from the message, and the CLI writes it into the transcript when the session gets the prompt.

The folder is looked at four times a second and at each boundary. A look costs some microseconds, and where nothing
reports changes (network folders, no watches left) it hears all the same. What can hurt: a request to stop that was left
for a run that is over must not stop the next one, so the next one forgets it as soon as it has the run lock.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from flower_mcp.core.books import State, iso
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.events import Kind, Phase
from flower_mcp.core.texts import render
from flower_mcp.runtime.person import add_words
from flower_mcp.runtime.signals import What
from flower_mcp.workbench.inbox import Asks, Message, Waiting
from flower_mcp.workbench.live import Live
from flower_mcp.workbench.tasks import By, entry
from flower_mcp.workbench.transcripts import holds_prompt

if TYPE_CHECKING:
    from flower_mcp.runtime.session import Session
    from flower_mcp.runtime.step import StepRun

TICK = 0.25  # seconds between two looks
_HANDS_OVER = (State.DRAINING, State.WRITING, State.EDITING, State.HELD)


@dataclass(slots=True)
class Heard:
    """Words that no session has taken in yet. `file` is None where the disk refused one."""

    words: str
    by: By
    at: str
    uuid: str
    file: Waiting | None = None
    kept: bool = False  # they stand in the task's file
    told: bool = False  # the living session was given them

    @property
    def entry(self) -> str:
        """How they stand in the task's file."""
        return entry(self.words, self.by, self.at)

    @property
    def prompt(self) -> str:
        """What a session is told: a person's task word for word, unless the CLI would read it as a command."""
        words = self.words.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        is_command = words.lstrip().startswith(("/", "!", "#"))
        return words if self.by is By.FLOWER and not is_command else render("said", {"words": words})


class Hearing:
    """What is said to one run of a step."""

    def __init__(self, run: StepRun) -> None:
        self._run = run
        self._heard: dict[str, Heard] = {}
        self._done_with: set[str] = (
            set()
        )  # stamps of messages that could not be removed: they are heard once all the same
        self._first: Heard | None = None  # its words are in the prompt that a resumed session is opened with
        self._over = False
        self._scope: anyio.CancelScope | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a session was told something that no turn has taken in yet."""
        return any(heard.told for heard in self._heard.values())

    async def watch(self) -> None:
        """Look again and again, until the end."""
        with anyio.CancelScope() as self._scope:
            while not self._over:
                self._keep_lock()
                if self.look():
                    self._run.wake()
                await anyio.sleep(TICK)

    def stop(self) -> None:
        """Look no more."""
        self._over = True
        if self._scope is not None:
            self._scope.cancel()

    def add(self, words: str, by: By) -> None:
        """Take words in that come from this process; where the disk refuses, they are kept in memory."""
        message = Message(iso(time.time()), str(by), Asks.SAY, words)
        try:
            self._run.setting.books.lives.put(self._run.step, message)
        except (OSError, FlowerError) as error:
            self._run.record.say(f"could not be written, kept in memory: {error}")
            mine = str(uuid.uuid4())
            self._heard[f"memory-{mine}"] = Heard(words, by, message.at, mine)
        self.look()

    def look(self) -> bool:
        """Hear what has come; whether there was anything."""
        lives, step = self._run.setting.books.lives, self._run.step
        try:
            waiting = [one for one in lives.waiting(step) if one.stamp not in self._heard.keys() | self._done_with]
            found = [self._hear(one) for one in waiting]
            self._keep_words()
        except (OSError, FlowerError) as error:
            self._run.record.say(f"what is said to the step could not be heard or kept; it is tried again: {error}")
            return False
        return any(found)

    async def tell(self) -> bool:
        """Tell the living session, at a boundary, what it has not been told; whether there was something."""
        self.look()
        self._confirm(lambda heard: heard.told)
        session = self._run.session
        if session is None or not session.alive:
            return False
        untold = [heard for heard in self._heard.values() if not heard.told]
        for heard in untold:
            heard.told = True
            await session.say(heard.prompt, heard.uuid)
            self._say(heard, "the session was told")
        return bool(untold)

    def answered(self, uuids: Collection[str]) -> None:
        """A turn has ended that took these prompts in."""
        self._done(lambda heard: heard.uuid in uuids)

    def begin(self) -> None:
        """Another session begins, or the same one in a new process: what was told and not taken in is to be told."""
        self._confirm(lambda _: True)
        self._first = None
        for heard in self._heard.values():
            heard.told = False

    def for_resumed(self) -> str:
        """The first words that the session which is resumed has not taken in yet, as a part of its prompt; "" if none.

        All others are told at its first boundary.
        """
        self.look()
        self.begin()
        self._first = next(iter(self._heard.values()), None)
        return "" if self._first is None else self._first.prompt

    async def open(self, session: Session, prompt: str) -> None:
        """Give a session its first prompt. What that carries in full is done with: so will each later one."""
        first, self._first = self._first, None
        if first is None:
            await session.say(prompt)
            self._done(lambda heard: heard.kept and heard.entry in prompt)
        else:
            first.told = True
            await session.say(prompt, first.uuid)

    def put_away(self) -> None:
        """The step begins anew: what waits belongs to what was said before, and goes where that goes."""
        self.look()
        self._done(lambda heard: heard.kept)

    def end(self) -> None:
        """The run is over: say what no session was told of. It stays in the inbox, for the next run."""
        self.look()
        for heard in self._heard.values():
            if not heard.told:
                self._say(heard, "too late, the session has ended; the next run tells it")
                self._run.record.error(f"said at {heard.at}, when the session had ended: the next run tells it")

    def _hear(self, one: Waiting) -> bool:
        """Take one message in; False for a request that must wait for its moment."""
        state, message = self._run.record.live.state, one.message
        if message.kind is Asks.SAY and not message.text.strip():
            self._remove(one)
        elif message.kind is Asks.SAY:
            by = By(message.by) if message.by in tuple(By) else By.SAY
            name = sha256(f"{self._run.step}\0{one.stamp}\0{message.text}".encode("utf-8", "replace")).hexdigest()
            self._heard[one.stamp] = Heard(message.text, by, one.at, str(uuid.uuid5(uuid.NAMESPACE_OID, name)), one)
        elif message.kind is Asks.STOP:
            self._remove(one)
            self._run.ask(What.STOP)
        elif state is State.WORKING or state in _HANDS_OVER:
            self._remove(one)
            if state is not State.EDITING and state is not State.HELD:  # the document is there already
                self._run.ask(What.HANDOFF)
        else:
            return False
        return True

    def _keep_words(self) -> None:
        """Put what was heard into the task's file, once."""
        for heard in self._heard.values():
            if not heard.kept:
                add_words(self._run, heard.words, heard.by, heard.at)
                heard.kept = True

    def _confirm(self, may_be: Callable[[Heard], bool]) -> None:
        """Be done with what stands in the transcript: the session has taken it in."""
        from flower_mcp.runtime.look import transcript_of

        session_id = self._run.record.row.session_id
        path: Path | None = transcript_of(self._run, session_id) if self._heard and session_id else None
        if path is not None:
            self._done(lambda heard: may_be(heard) and holds_prompt(path, heard.uuid))

    def _done(self, is_done: Callable[[Heard], bool]) -> None:
        for stamp, heard in list(self._heard.items()):
            if is_done(heard):
                if heard.file is not None:
                    self._remove(heard.file)
                del self._heard[stamp]

    def _remove(self, one: Waiting) -> None:
        """Take a message away; one that cannot be removed has been heard by this run all the same."""
        try:
            one.remove()
        except FlowerError as error:
            self._done_with.add(one.stamp)
            self._run.record.say(str(error))

    def _say(self, heard: Heard, how: str) -> None:
        self._run.record.event(Kind.SESSION, f"{how}: {heard.words}", phase=Phase.TOLD, by=str(heard.by), at=heard.at)

    def _keep_lock(self) -> None:
        """Keep the run lock, whose file goes when somebody deletes the workbench."""
        run = self._run
        try:
            kept = run.setting.keep_lock()
        except (OSError, FlowerError):
            return  # the disk refuses; looked at again
        if not kept and run.record.is_ours:
            run.record.is_ours = False
            run.record.change(
                error="The workbench was deleted while the step ran, and another supervisor has taken the step. "
                "This one has stopped; its sessions are in the books. `flower status` shows the other one."
            )
            run.ask(What.STOP)


def forget_requests(lives: Live, step: str) -> None:
    """Take away requests to stop or to hand off that an earlier run did not live to hear. Raises FilesError."""
    for one in lives.waiting(step):
        if one.message.kind is not Asks.SAY:
            one.remove()
