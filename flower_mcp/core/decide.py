"""The supervisor's main table: state x ending x guard -> move and next state.

The only place that says what comes after what. `runtime/step.py` does a move, learns how it ended, and asks here.
An illegal combination raises and changes nothing. The diagram in docs/architecture.md is drawn from this table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from flower_mcp.core.books import State
from flower_mcp.core.errors import OurError


class Ending(StrEnum):
    """How a move ended."""

    # looking at what an earlier run left
    NEW_TASK = "a new task"
    LIVING_SESSION = "a living session"
    WAITING_DOCUMENT = "a document waits"
    # opening a session
    OPENED = "opened"
    # working, draining
    COMPLETED = "completed"
    LINE = "at the line"
    ASKED = "asked for"
    OVERFLOW = "overflow"
    BUDGET = "budget reached"
    TURNS = "turns reached"
    DRAINED = "drained"
    # the handoff turn
    WRITTEN = "written"
    INCOMPLETE = "a section missing"
    UNWRITTEN = "not written"
    FROZEN = "frozen"
    # the edit window
    CLOSED = "window closed"
    # failures of the world, and the person
    RETRY = "try again"
    WAIT = "wait"
    PAUSED = "pause over"
    GIVE_UP = "give up"
    STOP = "stop"


class Guard(StrEnum):
    """What the answer depends on besides the ending. ANY where nothing."""

    ANY = ""
    FRESH = "first message of a fresh session"
    BARREN = "no message came of this session"
    LEFT = "generations left"
    NONE_LEFT = "no generation left"
    THIN = "two thin generations in a row"
    BORN = "its transcript exists"
    UNBORN_TASK = "never begun, task"
    UNBORN_DOCUMENT = "never begun, document"


class Move(StrEnum):
    """What to do next: one function each in runtime/moves.py."""

    BEGIN = "begin"
    RESUME = "resume"
    LAUNCH = "launch"
    WORK = "work"
    DRAIN = "drain"
    ASK = "ask for the handoff"
    ASK_AGAIN = "ask again"
    REWIND = "rewind and ask"
    FREEZE = "freeze"
    DEGRADE = "degrade and freeze"
    OPEN_WINDOW = "open the edit window"
    PAUSE = "pause"
    WAIT = "wait"
    FINISH = "finish"
    FAIL = "fail"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Transition:
    """One row."""

    state: State
    ending: Ending
    guard: Guard
    move: Move
    next: State


def _rows() -> Iterable[Transition]:
    any_ = Guard.ANY
    yield Transition(State.IDLE, Ending.NEW_TASK, any_, Move.BEGIN, State.LAUNCHING)
    yield Transition(State.IDLE, Ending.LIVING_SESSION, any_, Move.RESUME, State.LAUNCHING)
    yield Transition(State.IDLE, Ending.WAITING_DOCUMENT, any_, Move.LAUNCH, State.LAUNCHING)

    yield Transition(State.IDLE, Ending.WRITTEN, any_, Move.FREEZE, State.WRITING)
    yield Transition(State.IDLE, Ending.UNWRITTEN, any_, Move.DEGRADE, State.WRITING)

    yield Transition(State.LAUNCHING, Ending.OPENED, any_, Move.WORK, State.WORKING)
    yield Transition(State.LAUNCHING, Ending.ASKED, any_, Move.DRAIN, State.DRAINING)

    yield Transition(State.WORKING, Ending.COMPLETED, any_, Move.FINISH, State.DONE)
    yield Transition(State.WORKING, Ending.LINE, any_, Move.DRAIN, State.DRAINING)
    yield Transition(State.WORKING, Ending.LINE, Guard.FRESH, Move.FAIL, State.FAILED)
    yield Transition(State.WORKING, Ending.ASKED, any_, Move.DRAIN, State.DRAINING)

    yield Transition(State.DRAINING, Ending.DRAINED, any_, Move.ASK, State.WRITING)
    yield Transition(State.DRAINING, Ending.OVERFLOW, any_, Move.REWIND, State.WRITING)
    yield Transition(State.DRAINING, Ending.UNWRITTEN, any_, Move.DEGRADE, State.WRITING)

    yield Transition(State.WRITING, Ending.WRITTEN, any_, Move.FREEZE, State.WRITING)
    yield Transition(State.WRITING, Ending.INCOMPLETE, any_, Move.ASK_AGAIN, State.WRITING)
    yield Transition(State.WRITING, Ending.OVERFLOW, any_, Move.REWIND, State.WRITING)
    yield Transition(State.WRITING, Ending.UNWRITTEN, any_, Move.DEGRADE, State.WRITING)
    yield Transition(State.WRITING, Ending.FROZEN, Guard.LEFT, Move.OPEN_WINDOW, State.EDITING)
    yield Transition(State.WRITING, Ending.FROZEN, Guard.NONE_LEFT, Move.STOP, State.STOPPED)
    yield Transition(State.WRITING, Ending.FROZEN, Guard.THIN, Move.STOP, State.STOPPED)

    yield Transition(State.WRITING, Ending.GIVE_UP, any_, Move.FAIL, State.FAILED)
    yield Transition(State.WRITING, Ending.WAIT, any_, Move.WAIT, State.WAITING)

    yield Transition(State.EDITING, Ending.CLOSED, any_, Move.LAUNCH, State.LAUNCHING)

    yield Transition(State.WAITING, Ending.PAUSED, Guard.BORN, Move.RESUME, State.LAUNCHING)
    yield Transition(State.WAITING, Ending.PAUSED, Guard.UNBORN_TASK, Move.BEGIN, State.LAUNCHING)
    yield Transition(State.WAITING, Ending.PAUSED, Guard.UNBORN_DOCUMENT, Move.LAUNCH, State.LAUNCHING)
    yield Transition(State.WAITING, Ending.GIVE_UP, any_, Move.FAIL, State.FAILED)

    for state in (State.LAUNCHING, State.WORKING):
        yield Transition(state, Ending.OVERFLOW, any_, Move.REWIND, State.WRITING)
        yield Transition(state, Ending.OVERFLOW, Guard.BARREN, Move.FAIL, State.FAILED)
        yield Transition(state, Ending.RETRY, any_, Move.PAUSE, State.WAITING)
        yield Transition(state, Ending.WAIT, any_, Move.WAIT, State.WAITING)
        yield Transition(state, Ending.GIVE_UP, any_, Move.FAIL, State.FAILED)
        yield Transition(state, Ending.BUDGET, any_, Move.STOP, State.STOPPED)
        yield Transition(state, Ending.TURNS, any_, Move.STOP, State.STOPPED)
    for state in (
        State.LAUNCHING, State.WORKING, State.DRAINING, State.WRITING, State.EDITING, State.WAITING,
    ):  # fmt: skip
        yield Transition(state, Ending.STOP, any_, Move.STOP, State.STOPPED)


TABLE: dict[tuple[State, Ending, Guard], Transition] = {(row.state, row.ending, row.guard): row for row in _rows()}


class IllegalMove(OurError):
    """A combination that the table does not know."""

    def __init__(self, state: State, ending: Ending, guard: Guard) -> None:
        super().__init__(f"No move from {state} on {ending.value!r} ({guard.value or 'no guard'}).")
        self.state = state
        self.ending = ending
        self.guard = guard


def decide(state: State, ending: Ending, guard: Guard = Guard.ANY) -> Transition:
    """What comes next. A guard that the row does not ask for is let pass. Raises IllegalMove."""
    row = TABLE.get((state, ending, guard)) or TABLE.get((state, ending, Guard.ANY))
    if row is None:
        raise IllegalMove(state, ending, guard)
    return row


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> idle"]
    for row in TABLE.values():
        guard = f" [{row.guard.value}]" if row.guard else ""
        lines.append(f"    {row.state} --> {row.next}: {row.ending.value}{guard} / {row.move.value}")
    lines += [f"    {state} --> [*]" for state in State if state.ended]
    return "\n".join(lines) + "\n"
