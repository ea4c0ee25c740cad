"""One run's books while it runs: the row, the live state, the events, and whoever listens.

The only place in runtime that writes books. LiveStep is the authority; the manifest's row and the lineage are written
from it. A disk that refuses must not end the work: what could not be written is said once and kept in memory, to be
written with the next change. It decides nothing.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flower_mcp.core.books import (
    DocumentState,
    Generation,
    LiveStep,
    State,
    StepResult,
    Supervisor,
    iso,
    seconds,
)
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.events import Event, Kind, Place, line
from flower_mcp.core.masking import mask
from flower_mcp.core.policy import HandoffPolicy
from flower_mcp.workbench.json_files import masked
from flower_mcp.workbench.ledger import Lineage, Manifest
from flower_mcp.workbench.live import Live

OnEvent = Callable[[Event], object]


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
        self._try(lambda: self._books.lives.write(self.live, durable=durable))

    def generation(self, *, durable: bool = False, **changes: Any) -> None:
        """Change the living session's entry."""
        self.change(durable=durable, generations=self.row.with_generation(**changes).generations)

    def predecessor(self, **changes: Any) -> None:
        """Change the entry of the session before the living one, if this run has it."""
        generations = self.row.generations
        if len(generations) > 1:
            self.change(generations=(*generations[:-2], replace(generations[-2], **changes), generations[-1]))

    def begin_generation(self, number: int, session_id: str) -> None:
        """Write down a session before its process starts. An entry that is there already stays."""
        generations = self.row.generations
        if not generations or generations[-1].session_id != session_id:
            generations = (*generations, Generation(n=number, session_id=session_id, started_at=now()))
        self.change(durable=True, generations=generations, session_id=session_id)

    def enter(self, state: State) -> None:
        """Write down a new state, and the manifest with it."""
        self.change(live={"state": state}, state=state)
        self._try(lambda: self._notes(self._books.manifest.put(self.row)))

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
            self._try(lambda: self._notes(self._books.lineage.remember(self.row.step, session_id).notes))

    def error(self, text: str) -> None:
        """Add to the row's errors, once for each text."""
        masked = mask(text).text
        if masked not in self.row.errors:
            self.change(errors=(*self.row.errors, masked))

    def event(self, kind: Kind, text: str = "", **payload: Any) -> None:
        """Tell the listener and keep the line. A listener that raises is the caller's fault and stops nothing."""
        event = Event(str(kind), mask(text).text, masked(payload))
        self._try(lambda: self._books.lives.append((line(event, self.place, now()),)))
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception as error:  # noqa: BLE001  # the caller's code; contained here
                self.error(f"on_event raised {type(error).__name__}: {error}")

    def mend(self, row: StepResult) -> None:
        """Write the row of an earlier run once more."""
        self._try(lambda: self._notes(self._books.manifest.put(row)))

    def end(self) -> StepResult:
        """Close the row and write everything a last time."""
        ended = now()
        started = seconds(self.row.started_at or ended)
        self.change(durable=True, ended_at=ended, duration_s=round(seconds(ended) - started, 3))
        self._try(lambda: self._notes(self._books.manifest.put(self.row)))
        return self.row

    def _notes(self, notes: tuple[str, ...]) -> None:
        """Say what the disk's code noticed, each thing once."""
        for note in notes:
            self.say(note)

    def _try(self, write: Callable[[], None]) -> None:
        """Write, or say that it could not be written."""
        try:
            write()
        except (OSError, FlowerError) as error:
            self.say(f"could not be written, kept in memory: {error}")

    def say(self, text: str) -> None:
        """Tell about something that stops nobody, once, and keep it in the row's errors."""
        if text not in self._said:
            self._said.add(text)
            self.live = replace(self.live, row=self.row.with_error(mask(text).text))
            self.event(Kind.ERROR, text)
