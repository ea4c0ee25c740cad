"""One run of a step: decide, record, act, until the table says that it has ended.

`StepRun` holds what the moves share; each move is a function of its own (see moves.py) that does one thing and answers
how it ended. Nothing is decided here. One task group owns every session's task; one inbox takes every session's signals
and what is asked from outside, and only this step reads it. Clean-up is shielded: sessions are closed (each bounded by
the SDK's 20 s at worst), what carries the run's marker is ended, the books are closed.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from flower_mcp.core.books import LiveStep, State, StepResult
from flower_mcp.core.decide import Ending, Guard, decide
from flower_mcp.core.errors import FilesError, FlowerError
from flower_mcp.core.events import Kind
from flower_mcp.core.failures import Failure, Outcome
from flower_mcp.core.figures import Context
from flower_mcp.core.meter import Watermark
from flower_mcp.core.policy import AgentSpec, HandoffPolicy, RetryPolicy, WindowSource
from flower_mcp.core.runaway import Starts, Worked
from flower_mcp.runtime.costs import Costs
from flower_mcp.runtime.gate import Mode
from flower_mcp.runtime.handing import Handing
from flower_mcp.runtime.hearing import Hearing
from flower_mcp.runtime.keeping import Ended, end_marked
from flower_mcp.runtime.late_edits import LateEdits
from flower_mcp.runtime.learning import Windows
from flower_mcp.runtime.leftovers import clear_leftovers
from flower_mcp.runtime.mistakes import told_of
from flower_mcp.runtime.options import Opening
from flower_mcp.runtime.overflowing import filled
from flower_mcp.runtime.paying import Paying
from flower_mcp.runtime.permissions import Asker, Permissions
from flower_mcp.runtime.record import Books, OnEvent, Record, now
from flower_mcp.runtime.session import Session
from flower_mcp.runtime.signals import Asked, Signal, Stuck, What
from flower_mcp.runtime.starting import Spare, build
from flower_mcp.runtime.waiting import Waits
from flower_mcp.workbench.holds import Holds
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.workbench import Workbench

MoveEnd = tuple[Ending, Guard]
STOP_GRACE = 10.0  # seconds that running tools get after a stop was asked for
FORGIVEN_AFTER = 10  # good messages between two failures, or they count as in a row: one a retry is no progress
ENDED_NOW = "Ended at once, as asked. Run flower again to go on from here."
CLOSE_LIMIT = 25.0  # seconds; the SDK's own bound on a client's end is about 20


class Break(StrEnum):
    """Why the main thread was stopped at a message boundary."""

    LINE = "the context is nearly full; a handoff follows"
    ASKED = "a handoff was asked for"
    TURNS = "the step's turns are used up"
    STOP = "the person asked to stop"


@dataclass(frozen=True, slots=True)
class Setting:
    """What one run is given, and does not change."""

    workspace: Path
    run_dir: Path
    spec: AgentSpec
    prompt: str
    books: Books
    workbench: Workbench | None = None
    retry: RetryPolicy | None = None
    fresh: bool = False
    before: LiveStep | None = None
    rows: tuple[Mapping[str, Any], ...] = ()
    mcp_server: Any | None = None
    ask: Asker | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    review: bool = False  # hold at every handoff
    keep_lock: Callable[[], bool] = lambda: True  # whether this run still holds the step
    wake: int | None = None  # the how many-th wake this is; None for a step that was not in the lineage
    known: Known = field(default_factory=Known)
    is_known: bool = True  # what earlier books say of the step is this machine's
    unknown: Path | None = None  # a document that is not to be obeyed


class StepRun:
    """What the moves of one run share."""

    def __init__(
        self, setting: Setting, policy: HandoffPolicy, source: WindowSource, row: StepResult, on_event: OnEvent | None
    ) -> None:
        self.setting = setting
        self.spec = setting.spec
        self.policy = policy
        self.source = source
        self.windows = Windows(self)
        document = setting.before.document if setting.before and not setting.fresh else None
        self.record = Record(setting.books, row, policy, on_event, document)
        self.permissions = Permissions(self.record, setting.ask)
        self.costs = Costs()
        self.holds = Holds(setting.books.lives)
        self.late = LateEdits(self)
        self.hearing = Hearing(self)
        self.waits = Waits(self)
        self.launch_asked = False
        self.held_back = False  # a document that waited for this run has been through its hold
        self.session: Session | None = None
        self.spare: Spare | None = None
        self.handing = Handing()
        self.breaking: Break | None = None
        self.stuck: Stuck | None = None
        self.due_since = 0  # messages of the living session when its line was first seen crossed
        self.stop_by = math.inf  # the loop's clock: when a stop that was asked for interrupts
        self.stop_asked = False
        self.handoff_asked = False
        self.owes_handoff = False  # an earlier run ended in this session's handoff turn
        self.refused_401 = False
        self.near_said = False
        self.is_fresh = True  # the living session began in this run with a full prompt
        self.ending: Ending | None = None  # of the last move
        self.failure: Failure = Failure.NONE
        self.failures_in_a_row = 0
        self.good_at_failure = 0  # good messages of the living session when it last failed
        self.barren_sessions = 0
        self.handoffs = 0
        self.turns_before = 0  # of earlier runs
        self.turns_counted = 0  # of this run's sessions that are closed, handoff turns left out
        self.spent_before = 0.0
        self.next_id: str | None = None  # an id that was drawn and never begun
        self.words = ""  # the person's words, all of them
        self.worked: list[Worked] = []  # by each session that handed off
        self.floors: dict[str, Context] = {}  # what each session that began in this run carried at first
        self.reached: dict[str, Context] = {}  # each session's last context, its handoff turn left out
        self.told: set[tuple[str, str]] = set()  # what is said once a session
        self.asked_for: set[str] = set()  # sessions whose handoff a person asked for
        self.starts = Starts()
        self.ended: list[Ended] = []
        self._send, self._inbox = anyio.create_memory_object_stream[tuple[Session | None, Signal]](math.inf)
        self._sessions: list[Session] = []
        self._tasks: TaskGroup | None = None
        self._paying = Paying(self.record.owed)

    @property
    def run_id(self) -> str:
        """This run's id: the marker of all that it starts."""
        return self.record.row.run

    @property
    def step(self) -> str:
        """The step's name."""
        return self.spec.name

    async def run(self) -> StepResult:
        """Run to the end. Raises nothing for failures of the world: they are in the row."""
        from flower_mcp.runtime.look import look
        from flower_mcp.runtime.moves import MOVES

        try:
            async with anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(self._paying.run)
                state = State.IDLE
                await clear_leftovers(self)
                ending, guard = await look(self)
                self._tasks.start_soon(self.hearing.watch)
                while not state.ended:
                    row = decide(state, ending, guard)
                    state = row.next
                    self.record.enter(state)
                    self.ending = ending
                    ending, guard = await MOVES[row.move](self)
                await self.close()
                self._paying.end()
        except ExceptionGroup as group:
            told = told_of(group)
            self.record.enter(State.FAILED, error=told)
            self.record.event(Kind.ERROR, told, failure="mistake", final=True)
        finally:
            with anyio.CancelScope(shield=True):
                await self.close()
                await self.record.until_free()
            self.late.end()
            self.hearing.end()
            if not self.record.live.state.ended:
                self.record.enter(State.STOPPED, error=ENDED_NOW)
            self.record.end()
            self._say_result()
            self._send.close()
            self._inbox.close()
        return self.record.row

    def _say_result(self) -> None:
        """The last event: how it ended, what was refused, what was still running and was ended."""
        row = self.record.row
        self.record.event(
            Kind.RESULT,
            row.text if row.ok else (row.error or ""),
            ok=row.ok,
            state=str(row.state),
            denied=list(self.permissions.denied),
            ended=[f"{one.pid}: {one.command}" for one in self.ended],
        )

    def made_progress(self) -> None:
        """Forgive earlier failures, and sessions that came to nothing, once enough messages have come well since."""
        session = self.session
        if session is None:
            return
        forgiven = session.reader.good - self.good_at_failure >= FORGIVEN_AFTER
        if session.reader.good:
            self.barren_sessions = 0
            self.starts = Starts()
            self.waits.over(forgiven=forgiven)
        if forgiven:
            self.failures_in_a_row = 0

    async def receive(self, limit: float | None = None) -> Signal | None:
        """The next signal of the living session, or from outside. None after `limit` seconds."""
        signal: Signal | None = None
        with anyio.move_on_after(limit):
            while signal is None:
                session, came = await self._inbox.receive()
                if session is None or session is self.session:
                    signal = filled(self, came)
        return None if signal is None else await self.waits.look_into(signal)

    def ask(self, what: What) -> None:
        """Take in what is asked for from outside."""
        if what is What.STOP:
            self.stop_asked = True
            self.stop_by = min(self.stop_by, anyio.current_time() + STOP_GRACE)
            for session in [each for each in self._sessions if not each.alive]:
                session.close()  # nothing runs in it yet, and a CLI that hangs would have to be waited for
        elif what is What.HANDOFF:
            self.handoff_asked = True
        elif what is What.LAUNCH:
            self.launch_asked = self.record.live.state in (State.EDITING, State.HELD)
        self._send.send_nowait((None, Asked(what)))

    def wake(self) -> None:
        """Have the step look again at what it waits for."""
        self._send.send_nowait((None, Asked(What.LOOK)))

    async def tell(self) -> bool:
        """Tell the living session, at a boundary, what a person changed or said; whether there was something."""
        changed = await self.late.tell()
        return await self.hearing.tell() or changed

    def start_soon(self, task: Callable[..., Coroutine[Any, Any, object]], *given: object) -> None:
        """Run a task beside the moves, in the step's own group: it must end when it is told to."""
        self._group.start_soon(task, *given)

    def why_break(self) -> str | None:
        """Asked by the gate at each message boundary of the work: a reason to stop there, or None."""
        self.breaking = self._break()
        return self.breaking.value if self.breaking else None

    def _break(self) -> Break | None:
        session = self.session
        if self.stop_asked:
            return Break.STOP
        if self.handoff_asked:
            return Break.ASKED
        if session is None:
            return None
        used = self.turns_before + self.turns_counted + session.reader.turns
        if self.spec.max_turns is not None and used >= self.spec.max_turns:
            return Break.TURNS
        self.windows.heed()
        due = self.policy.enabled and session.reader.meter.watermark(self.policy) is Watermark.DUE
        return Break.LINE if due else None

    async def open(self, opening: Opening) -> Outcome | None:
        """Start a session's process, or take the one that waits for this id; None when it is connected."""
        if not opening.resume:  # else it holds for the session's next process, too
            self.near_said = self.handoff_asked = False
        self.refused_401, self.good_at_failure, self.due_since = False, 0, 0
        self.breaking = self.stuck = None
        spare, self.spare = self.spare, None
        if spare is not None and spare.opening.session_id == opening.session_id:
            if (ready := await spare.ready()) is not None or self.stop_asked:
                self.session = ready
                return None if ready else Outcome(is_error=True, exited=True, text="stopped before it was there")
            spare.session.close()  # it died before it had a prompt
        elif spare is not None:
            spare.session.close()
        return await self.start(opening)

    async def start(self, opening: Opening) -> Outcome | None:
        """Start a session's process and make that session the living one; None when it is connected."""
        if self.session is not None and self.session.id == opening.session_id:
            self.leave()  # it died while nothing was expected from it
        await self._until_gone(opening.session_id)
        try:
            self.session = self._built(opening)
        except (OSError, FilesError) as error:
            return Outcome(is_error=True, exited=True, text=f"the CLI cannot be started: {error}")
        failure: Outcome | None = await self._group.start(self.session.run)
        return failure

    async def _until_gone(self, session_id: str) -> None:
        """Wait for a process of the session that is being closed: two on one transcript would fork it."""
        with anyio.move_on_after(CLOSE_LIMIT):
            for session in [each for each in self._sessions if each.id == session_id]:
                await session.closed.wait()

    def start_ahead(self, opening: Opening) -> None:
        """Start a successor's process before it has a prompt. What goes wrong shows when it is opened."""
        self.drop_spare()  # of a handoff that had to wait
        with suppress(OSError, FlowerError):
            self.spare = Spare(self._built(opening), opening)
            self.spare.start(self._group)

    def drop_spare(self) -> None:
        """Close the process that was started ahead: something happened that it ought to have seen."""
        if self.spare is not None:
            self.spare.session.close()
            self.spare = None

    def receive_from(self, session: Session, signal: Signal) -> None:
        """Take a session's signal into the inbox."""
        if session is self.session:
            self.late.take(signal)
        self._send.send_nowait((session, signal))

    @property
    def _group(self) -> TaskGroup:
        assert self._tasks is not None, "the step does not run"
        return self._tasks

    def _built(self, opening: Opening) -> Session:
        session = build(self, opening)
        self._take_in_ended()
        self._sessions.append(session)
        return session

    def _take_in_ended(self) -> None:
        """Let go of sessions that have ended: each holds its client, and all that was read of it."""
        for session in [one for one in self._sessions if one.closed.is_set()]:
            self._sessions.remove(session)
            self.ended.extend(session.ended)

    def retire(self) -> Session | None:
        """Let go of the living session, for its successor. Close it as retired: what it had detached lives on."""
        if (retired := self.session) is not None:
            self.count_turns()
            with self.record.together():
                self.record.generation(ended_at=now())
                self.record.change(retired=(*self.record.row.retired, retired.id))
            self.record.event(Kind.SESSION, "", phase="retired", retired=retired.id)
            self.session = None
        return retired

    def leave(self) -> None:
        """Close the living session's process without retiring it: it will be resumed."""
        if self.session is not None:
            self.count_turns()
            self.session.close(retired=True)
            self.session = None

    def count_turns(self) -> None:
        """Count the living session's turns of work; those of its handoff turn are exempt."""
        if self.session is not None and self.session.gate.mode is Mode.WORK:
            self.turns_counted += self.session.reader.turns
            self.session.reader.turns = 0

    def draft_is_complete(self) -> bool:
        """Whether the handoff turn has handed in a complete draft."""
        from flower_mcp.runtime.handoff_turn import new_draft

        draft = new_draft(self)
        return draft is not None and draft.complete()

    def new_session_id(self) -> str:
        """An id for a new session: one that was drawn and never begun, else a fresh one."""
        drawn, self.next_id = self.next_id, None
        return drawn or str(uuid.uuid4())

    async def close(self) -> None:
        """Close every session, and end all that carries the run's marker."""
        self.hearing.stop()
        for session in self._sessions:
            session.close(over=session is self.session)
        with anyio.move_on_after(CLOSE_LIMIT, shield=True):
            for session in self._sessions:
                await session.closed.wait()
        self._take_in_ended()
        self._sessions.clear()
        if self.session is not None or self.ended or self.record.row.generations:
            self.ended.extend(await anyio.to_thread.run_sync(end_marked, self.run_id))
