"""One run's books while it runs: the row, the live state, the events, and whoever listens.

The only place in runtime that writes books. LiveStep is the authority; the manifest's row and the lineage are written
from it. A disk that refuses must not end the work: what could not be written is said once and owed (workbench/owed.py),
and paid at a later write; what is still owed at the end is said, and lies elsewhere. It decides nothing.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from flower_mcp.core.books import (
    OWED,
    DocumentState,
    Generation,
    LiveStep,
    State,
    StepResult,
    Supervisor,
    iso,
    seconds,
)
from flower_mcp.core.errors import FilesError
from flower_mcp.core.events import Event, Kind, Place, line
from flower_mcp.core.figures import Context, Cost
from flower_mcp.core.masking import mask
from flower_mcp.core.policy import HandoffPolicy
from flower_mcp.workbench.json_files import masked
from flower_mcp.workbench.ledger import Lineage, Manifest
from flower_mcp.workbench.live import Live
from flower_mcp.workbench.locks import PATIENCE, is_held
from flower_mcp.workbench.owed import Debt, Owed, keep_elsewhere

OnEvent = Callable[[Event], object]
LOOK = 0.02  # seconds between two looks at a lock
MOST_EVENTS = 10_000  # lines that wait for a disk; the oldest are given up beyond it


def now() -> str:
    """The present time, as the books write it."""
    return iso(time.time())


@dataclass(slots=True)
class Books:
    """Where a run writes."""

    lives: Live
    manifest: Manifest
    lineage: Lineage


class Record:
    """The books of one run. Change them with `change`, `generation` and `event`."""

    def __init__(
        self,
        books: Books,
        row: StepResult,
        policy: HandoffPolicy,
        on_event: OnEvent | None,
        document: DocumentState | None = None,
    ) -> None:
        self._books = books
        self._on_event = on_event
        self._said: set[str] = set()
        self._together = 0  # how many `together` are open, and whether one write is to wait for the disk
        self._changed: bool | None = None
        self.owed = Owed(self.say, self._tell)
        self.is_ours = True  # False once another supervisor has the step: its live state is not to be written over
        since = now()
        self.live = LiveStep(
            step=row.step,
            state=State.IDLE,
            row=replace(row, started_at=since),
            max_generations=policy.max_generations,
            at=policy.at,
            warn_at=policy.warn_at,
            document=document,
            supervisor=Supervisor(os.getpid(), socket.gethostname(), since),
        )

    @property
    def row(self) -> StepResult:
        """The row as it stands."""
        return self.live.row

    @property
    def place(self) -> Place:
        """Where in the books the run stands."""
        generation = self.row.generation
        return Place(self.row.run, self.row.step, generation.n if generation else 0, self.row.session_id)

    def change(self, *, durable: bool = False, live: dict[str, Any] | None = None, **row: Any) -> None:
        """Change the row (by keyword) and the live state (by `live`), and write the live state.

        `durable` waits until it is on the disk: for ids that must be known before a process starts. What a model or
        an error said is masked here already, since the row is also what the caller gets and a terminal shows.
        """
        row |= {name: mask(row[name]).text for name in ("text", "error") if row.get(name)}
        self.live = replace(self.live, **(live or {}), row=replace(self.row, **row), updated_at=now())
        if self._together and self.is_ours:
            self._changed = bool(self._changed) or durable
        else:
            self._write(durable)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write the live state once for all that is changed meanwhile: it is a whole file, and each write costs."""
        self._together += 1
        try:
            yield
        finally:
            self._together -= 1
            if not self._together and self._changed is not None:
                durable, self._changed = self._changed, None
                self._write(durable)

    def _write(self, durable: bool) -> None:
        debt = Debt(
            "live", "what the step is doing", self._books.lives.path(self.row.step),
            lambda: self._write_live(durable=durable), newest=True,
        )  # fmt: skip
        self.owed.write(debt, at_once=durable)

    def _write_live(self, *, durable: bool) -> None:
        """Write the live state as it is now, while the step is ours."""
        if self.is_ours:
            self._books.lives.write(self.live, durable=durable)

    def generation(self, *, durable: bool = False, **changes: Any) -> None:
        """Change the living session's entry."""
        self.change(durable=durable, generations=self.row.with_generation(**changes).generations)

    def measured(self, context: Context, *, estimated: bool = False) -> None:
        """Write down the living session's context."""
        generations = self.row.with_generation(context=context).generations
        self.change(live={"context_estimated": estimated}, generations=generations, context=context)

    def paid(self, turns: int, session: Cost | None, run: Cost | None) -> None:
        """Write down a turn's share of turns, and what its session and the run have cost by now; None: unknown."""
        generation = self.row.generation
        with self.together():
            self.generation(cost_usd=session, num_turns=(generation.num_turns if generation else 0) + turns)
            self.change(cost_usd=run, num_turns=self.row.num_turns + turns)

    def predecessor(self, **changes: Any) -> None:
        """Change the entry of the session before the living one, if this run has it."""
        generations = self.row.generations
        if len(generations) > 1:
            self.change(generations=(*generations[:-2], replace(generations[-2], **changes), generations[-1]))

    def begin_generation(self, number: int, session_id: str, *, owed: bool = False) -> None:
        """Write down a session before its process starts, and whether it owes its handoff. An entry of it stays."""
        generations = self.row.generations
        if not generations or generations[-1].session_id != session_id:
            entry = Generation(n=number, session_id=session_id, started_at=now(), why=OWED if owed else None)
            generations = (*generations, entry)
        self.change(durable=True, generations=generations, session_id=session_id)

    def enter(self, state: State, **row: Any) -> None:
        """Write down a new state; when work begins and when it ends, the manifest with it.

        What lies in between is mended from the live state, should the run not live to tell. What a session owes at the
        end of a run stays owed.
        """
        generations = (self.row.ended_in(self.live.state) if state.ended else self.row).generations
        self.change(live={"state": state}, state=state, generations=generations, **row)
        if state is State.WORKING or state.ended:
            self._put()

    def document(self, document: DocumentState | None) -> None:
        """Write down what is known of the current document."""
        self.change(live={"document": document})

    def policy(self, policy: HandoffPolicy, source: str) -> None:
        """Write down the window and its lines."""
        self.change(live={"at": policy.at, "warn_at": policy.warn_at}, window=policy.window, window_source=source)

    def remember_session(self) -> None:
        """Write the living session into the lineage."""
        session_id = self.row.session_id
        if session_id is not None:
            self.remember(session_id)

    def remember(self, session_id: str) -> None:
        """Write a session of the step into the lineage."""
        lineage = self._books.lineage
        self._lineage("session", lambda: self._notes(lineage.remember(self.row.step, session_id).notes))

    def wake(self) -> None:
        """Count in the lineage that a run found its step there."""
        self._lineage("wake", lambda: self._notes(self._books.lineage.wake().notes))

    def _lineage(self, lane: str, write: Callable[[], None]) -> None:
        what = "which session to resume" if lane == "session" else "the count of wakes"
        self.owed.write(Debt(f"lineage {lane}", what, self._books.lineage.path, write, newest=True))

    def error(self, text: str) -> None:
        """Add to the row's errors, once for each text."""
        masked = mask(text).text
        if masked not in self.row.errors:
            self.change(errors=(*self.row.errors, masked))

    def event(self, kind: Kind, text: str = "", **payload: Any) -> None:
        """Tell the listener and keep the line. A listener that raises is the caller's fault and stops nothing."""
        event = Event(str(kind), mask(text).text, masked(payload))
        told = line(event, self.place, now())
        journal = self._books.lives.events_path
        self.owed.write(
            Debt("events", "what happened", journal, lambda: self._books.lives.append((told,)), most=MOST_EVENTS)
        )
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception as error:  # noqa: BLE001  # the caller's code; contained here
                self.error(f"on_event raised {type(error).__name__}: {error}")

    def mend(self, row: StepResult) -> None:
        """Write the row of an earlier run once more."""
        self._put(row)

    async def until_free(self, lock: Callable[[], Path] | None = None) -> None:
        """Wait for a write lock (the manifest's) as long as a writer waits, and keep nobody else waiting meanwhile."""
        end = time.monotonic() + PATIENCE
        with suppress(OSError, FilesError):
            path = lock() if lock else self._books.manifest.lock
            while is_held(path) and time.monotonic() < end:
                await anyio.sleep(LOOK)

    def end(self) -> StepResult:
        """Close the row and its last session's entry, write everything, and say what could not be, and where it is."""
        ended = now()
        started = seconds(self.row.started_at or ended)
        last = self.row.generation
        if last is not None and last.ended_at is None:
            self.generation(ended_at=ended)
        self.change(durable=True, ended_at=ended, duration_s=round(seconds(ended) - started, 3))
        self._put()
        self.owed.pay(at_once=True)
        if self.owed:
            self._say_left()
        return self.row

    def _put(self, row: StepResult | None = None) -> None:
        """Write a row into the manifest; this run's as it stands by then."""
        manifest, run = self._books.manifest, (row or self.row).run
        self.owed.write(
            Debt(
                f"row {run}", "the row of the books", manifest.path,
                lambda: self._notes(manifest.put(row or self.row)), newest=True,
            )
        )  # fmt: skip

    def _say_left(self) -> None:
        """The run is over, and the disk still refuses: where each text is that nobody could write again."""
        left = self.owed.left()
        for debt in left:
            if debt.data is None:
                continue
            where = keep_elsewhere(debt)
            told = f"{debt.what} could not be written to {debt.path}"
            self.say(f"{told}; it is in {where}" if where else f"{told}, nor anywhere else; it follows")
            if where is None:
                self.event(Kind.TEXT, debt.data.decode("utf-8", "replace"))
        books = sorted({str(debt.path) for debt in left if debt.data is None})
        if books:
            self.say(f"these books are not up to date: {', '.join(books)}; the session is {self.row.session_id}")

    def _notes(self, notes: tuple[str, ...]) -> None:
        """Say what the disk's code noticed, each thing once."""
        for note in notes:
            self.say(note)

    def _tell(self, text: str) -> None:
        """Tell that what was refused is written."""
        self.event(Kind.RETRY, text)

    def say(self, text: str) -> None:
        """Tell about something that stops nobody, once, and keep it in the row's errors."""
        if text not in self._said:
            self._said.add(text)
            self.live = replace(self.live, row=self.row.with_error(mask(text).text))
            self.event(Kind.ERROR, text)
