"""The main table: every row, nothing but the rows, and a way out of every state."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.books import State
from flower_mcp.core.decide import TABLE, Ending, Guard, IllegalMove, Move, Transition, decide, diagram
from flower_mcp.core.errors import OurError

ANY = Guard.ANY
# What the supervisor is to do, told apart from the table: state, ending, guard -> move, next state.
EXPECTED: list[tuple[State, Ending, Guard, Move, State]] = [
    # nothing runs yet: what an earlier run left decides
    (State.IDLE, Ending.NEW_TASK, ANY, Move.BEGIN, State.LAUNCHING),
    (State.IDLE, Ending.LIVING_SESSION, ANY, Move.RESUME, State.LAUNCHING),
    (State.IDLE, Ending.WAITING_DOCUMENT, ANY, Move.LAUNCH, State.LAUNCHING),
    (State.IDLE, Ending.WRITTEN, ANY, Move.FREEZE, State.WRITING),
    (State.IDLE, Ending.UNWRITTEN, ANY, Move.DEGRADE, State.WRITING),
    # a session is being opened
    (State.LAUNCHING, Ending.OPENED, ANY, Move.WORK, State.WORKING),
    (State.LAUNCHING, Ending.RETRY, ANY, Move.PAUSE, State.WAITING),
    (State.LAUNCHING, Ending.WAIT, ANY, Move.WAIT, State.WAITING),
    (State.LAUNCHING, Ending.GIVE_UP, ANY, Move.FAIL, State.FAILED),
    (State.LAUNCHING, Ending.ASKED, ANY, Move.DRAIN, State.DRAINING),
    (State.WRITING, Ending.GIVE_UP, ANY, Move.FAIL, State.FAILED),
    (State.LAUNCHING, Ending.BUDGET, ANY, Move.STOP, State.STOPPED),
    (State.LAUNCHING, Ending.TURNS, ANY, Move.STOP, State.STOPPED),
    (State.LAUNCHING, Ending.STOP, ANY, Move.STOP, State.STOPPED),
    (State.LAUNCHING, Ending.OVERFLOW, ANY, Move.REWIND, State.WRITING),
    (State.LAUNCHING, Ending.OVERFLOW, Guard.BARREN, Move.FAIL, State.FAILED),
    # it works
    (State.WORKING, Ending.COMPLETED, ANY, Move.FINISH, State.DONE),
    (State.WORKING, Ending.LINE, ANY, Move.DRAIN, State.DRAINING),
    (State.WORKING, Ending.LINE, Guard.FRESH, Move.FAIL, State.FAILED),
    (State.WORKING, Ending.ASKED, ANY, Move.DRAIN, State.DRAINING),
    (State.WORKING, Ending.OVERFLOW, ANY, Move.REWIND, State.WRITING),
    (State.WORKING, Ending.OVERFLOW, Guard.BARREN, Move.FAIL, State.FAILED),
    (State.WORKING, Ending.RETRY, ANY, Move.PAUSE, State.WAITING),
    (State.WORKING, Ending.WAIT, ANY, Move.WAIT, State.WAITING),
    (State.WORKING, Ending.GIVE_UP, ANY, Move.FAIL, State.FAILED),
    (State.WORKING, Ending.BUDGET, ANY, Move.STOP, State.STOPPED),
    (State.WORKING, Ending.TURNS, ANY, Move.STOP, State.STOPPED),
    (State.WORKING, Ending.STOP, ANY, Move.STOP, State.STOPPED),
    # its agents finish
    (State.DRAINING, Ending.DRAINED, ANY, Move.ASK, State.WRITING),
    (State.DRAINING, Ending.OVERFLOW, ANY, Move.REWIND, State.WRITING),
    (State.DRAINING, Ending.UNWRITTEN, ANY, Move.DEGRADE, State.WRITING),
    (State.DRAINING, Ending.STOP, ANY, Move.STOP, State.STOPPED),
    # it writes
    (State.WRITING, Ending.WRITTEN, ANY, Move.FREEZE, State.WRITING),
    (State.WRITING, Ending.INCOMPLETE, ANY, Move.ASK_AGAIN, State.WRITING),
    (State.WRITING, Ending.OVERFLOW, ANY, Move.REWIND, State.WRITING),
    (State.WRITING, Ending.UNWRITTEN, ANY, Move.DEGRADE, State.WRITING),
    (State.WRITING, Ending.FROZEN, Guard.LEFT, Move.OPEN_WINDOW, State.EDITING),
    (State.WRITING, Ending.FROZEN, Guard.NONE_LEFT, Move.STOP, State.STOPPED),
    (State.WRITING, Ending.FROZEN, Guard.THIN, Move.STOP, State.STOPPED),
    (State.WRITING, Ending.WAIT, ANY, Move.WAIT, State.WAITING),
    (State.WRITING, Ending.STOP, ANY, Move.STOP, State.STOPPED),
    # a person may edit
    (State.EDITING, Ending.CLOSED, ANY, Move.LAUNCH, State.LAUNCHING),
    (State.EDITING, Ending.STOP, ANY, Move.STOP, State.STOPPED),
    # the world failed, and a pause is taken
    (State.WAITING, Ending.PAUSED, Guard.BORN, Move.RESUME, State.LAUNCHING),
    (State.WAITING, Ending.PAUSED, Guard.UNBORN_TASK, Move.BEGIN, State.LAUNCHING),
    (State.WAITING, Ending.PAUSED, Guard.UNBORN_DOCUMENT, Move.LAUNCH, State.LAUNCHING),
    (State.WAITING, Ending.GIVE_UP, ANY, Move.FAIL, State.FAILED),
    (State.WAITING, Ending.STOP, ANY, Move.STOP, State.STOPPED),
]

HISTORIES: dict[str, tuple[list[tuple[Ending, Guard]], list[Move], State]] = {
    "a short task": (
        [(Ending.NEW_TASK, ANY), (Ending.OPENED, ANY), (Ending.COMPLETED, ANY)],
        [Move.BEGIN, Move.WORK, Move.FINISH],
        State.DONE,
    ),
    "one handoff, then done": (
        [
            (Ending.NEW_TASK, ANY), (Ending.OPENED, ANY), (Ending.LINE, ANY), (Ending.DRAINED, ANY),
            (Ending.WRITTEN, ANY), (Ending.FROZEN, Guard.LEFT), (Ending.CLOSED, ANY), (Ending.OPENED, ANY),
            (Ending.COMPLETED, ANY),
        ],
        [
            Move.BEGIN, Move.WORK, Move.DRAIN, Move.ASK, Move.FREEZE, Move.OPEN_WINDOW, Move.LAUNCH, Move.WORK,
            Move.FINISH,
        ],
        State.DONE,
    ),
    "a section is missing twice": (
        [
            (Ending.LIVING_SESSION, ANY), (Ending.OPENED, ANY), (Ending.ASKED, ANY), (Ending.DRAINED, ANY),
            (Ending.INCOMPLETE, ANY), (Ending.UNWRITTEN, ANY), (Ending.FROZEN, Guard.LEFT), (Ending.STOP, ANY),
        ],
        [
            Move.RESUME, Move.WORK, Move.DRAIN, Move.ASK, Move.ASK_AGAIN, Move.DEGRADE, Move.OPEN_WINDOW, Move.STOP,
        ],
        State.STOPPED,
    ),
    "an overflow, and the last handoff that is left": (
        [
            (Ending.WAITING_DOCUMENT, ANY), (Ending.OPENED, ANY), (Ending.OVERFLOW, ANY),
            (Ending.WRITTEN, ANY), (Ending.FROZEN, Guard.NONE_LEFT),
        ],
        [Move.LAUNCH, Move.WORK, Move.REWIND, Move.FREEZE, Move.STOP],
        State.STOPPED,
    ),
    "an overflow of the handoff turn, and no fork can write": (
        [
            (Ending.NEW_TASK, ANY), (Ending.OPENED, ANY), (Ending.LINE, ANY), (Ending.DRAINED, ANY),
            (Ending.OVERFLOW, ANY), (Ending.OVERFLOW, ANY), (Ending.INCOMPLETE, ANY), (Ending.OVERFLOW, ANY),
            (Ending.UNWRITTEN, ANY), (Ending.FROZEN, Guard.LEFT), (Ending.STOP, ANY),
        ],
        [
            Move.BEGIN, Move.WORK, Move.DRAIN, Move.ASK, Move.REWIND, Move.REWIND, Move.ASK_AGAIN, Move.REWIND,
            Move.DEGRADE, Move.OPEN_WINDOW, Move.STOP,
        ],
        State.STOPPED,
    ),
    "two retries, and the session was never born": (
        [
            (Ending.NEW_TASK, ANY), (Ending.RETRY, ANY), (Ending.PAUSED, Guard.UNBORN_TASK), (Ending.OPENED, ANY),
            (Ending.RETRY, ANY), (Ending.PAUSED, Guard.BORN), (Ending.GIVE_UP, ANY),
        ],
        [Move.BEGIN, Move.PAUSE, Move.BEGIN, Move.WORK, Move.PAUSE, Move.RESUME, Move.FAIL],
        State.FAILED,
    ),
    "a usage limit in the handoff turn is waited for, and the session writes": (
        [
            (Ending.LIVING_SESSION, ANY), (Ending.OPENED, ANY), (Ending.LINE, ANY), (Ending.DRAINED, ANY),
            (Ending.WAIT, ANY), (Ending.PAUSED, Guard.BORN), (Ending.ASKED, ANY), (Ending.DRAINED, ANY),
            (Ending.WRITTEN, ANY), (Ending.STOP, ANY),
        ],
        [
            Move.RESUME, Move.WORK, Move.DRAIN, Move.ASK, Move.WAIT, Move.RESUME, Move.DRAIN, Move.ASK, Move.FREEZE,
            Move.STOP,
        ],
        State.STOPPED,
    ),
    "a fresh session at the line": (
        [(Ending.NEW_TASK, ANY), (Ending.OPENED, ANY), (Ending.LINE, Guard.FRESH)],
        [Move.BEGIN, Move.WORK, Move.FAIL],
        State.FAILED,
    ),
}  # fmt: skip
COMBINATIONS = list(product(State, Ending, Guard))


def states_from(state: State) -> set[State]:
    """Every state that some run of legal moves leads to."""
    found, new = {state}, {state}
    while new:
        new = {row.next for row in TABLE.values() if row.state in new} - found
        found |= new
    return found


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: f"{row[0]}, {row[1].value}, {row[2].value or 'any'}")
def test_each_row_gives_its_move_and_its_next_state(row: tuple[State, Ending, Guard, Move, State]) -> None:
    state, ending, guard, move, following = row
    assert decide(state, ending, guard) == Transition(state, ending, guard, move, following)


def test_the_table_has_these_rows_and_no_others() -> None:
    assert set(TABLE) == {row[:3] for row in EXPECTED}
    assert all(key == (row.state, row.ending, row.guard) for key, row in TABLE.items())


@pytest.mark.parametrize(("endings", "moves", "last"), HISTORIES.values(), ids=HISTORIES)
def test_a_history_takes_the_moves_that_it_should(
    endings: list[tuple[Ending, Guard]], moves: list[Move], last: State
) -> None:
    state, made = State.IDLE, []
    for ending, guard in endings:
        assert not state.ended
        row = decide(state, ending, guard)
        made.append(row.move)
        state = row.next
    assert (made, state) == (moves, last)


def test_every_combination_without_a_row_raises_and_changes_nothing() -> None:
    before = dict(TABLE)
    illegal = [(s, e, g) for s, e, g in COMBINATIONS if (s, e, g) not in TABLE and (s, e, ANY) not in TABLE]
    assert len(illegal) > 1_000
    for state, ending, guard in illegal:
        with pytest.raises(IllegalMove) as caught:
            decide(state, ending, guard)
        assert (caught.value.state, caught.value.ending, caught.value.guard) == (state, ending, guard)
        assert str(state) in str(caught.value)
        assert ending.value in str(caught.value)
    assert before == TABLE
    assert issubclass(IllegalMove, OurError)


def test_a_guard_that_no_row_asks_for_is_let_pass() -> None:
    assert decide(State.WORKING, Ending.COMPLETED, Guard.FRESH) is decide(State.WORKING, Ending.COMPLETED)


@pytest.mark.parametrize(("state", "ending"), [(State.WRITING, Ending.FROZEN), (State.WAITING, Ending.PAUSED)])
def test_where_only_guarded_rows_stand_a_guard_must_be_given(state: State, ending: Ending) -> None:
    with pytest.raises(IllegalMove):
        decide(state, ending)


def test_nothing_comes_after_an_end_and_nothing_leads_back_to_the_beginning() -> None:
    assert not [row for row in TABLE.values() if row.state.ended]
    assert not [row for row in TABLE.values() if row.next is State.IDLE]


@pytest.mark.parametrize("state", sorted(states_from(State.IDLE)))
def test_every_run_of_legal_moves_can_end(state: State) -> None:
    assert state.ended or any(following.ended for following in states_from(state))


@pytest.mark.parametrize("state", sorted({row.state for row in TABLE.values()} - {State.IDLE}))
def test_a_person_can_stop_it_in_every_state_that_runs(state: State) -> None:
    assert decide(state, Ending.STOP).next is State.STOPPED


def test_every_state_of_the_table_is_reached_and_every_ending_and_move_is_used() -> None:
    rows = list(TABLE.values())
    reached = states_from(State.IDLE)
    assert {row.state for row in rows} <= reached
    assert {State.DONE, State.FAILED, State.STOPPED} <= reached
    assert {row.ending for row in rows} == set(Ending)
    assert {row.move for row in rows} == set(Move)
    assert {row.guard for row in rows} == set(Guard)


def test_the_handoff_turn_is_ended_by_its_own_endings_alone() -> None:
    """No line, budget or turn limit may cut the writing off: each document would be degraded."""
    endings = {row.ending for row in TABLE.values() if row.state is State.WRITING}
    assert endings.isdisjoint({Ending.LINE, Ending.BUDGET, Ending.TURNS, Ending.RETRY})
    assert decide(State.WRITING, Ending.OVERFLOW).next is State.WRITING


@given(st.data())
def test_a_walk_by_chance_stays_within_the_table_until_it_ends(data: st.DataObject) -> None:
    state = State.IDLE
    for _ in range(30):
        if state.ended:
            break
        rows = [row for row in TABLE.values() if row.state is state]
        row = data.draw(st.sampled_from(rows))
        assert decide(row.state, row.ending, row.guard) is row
        state = row.next
    assert state in states_from(State.IDLE)


def test_the_diagram_has_an_arrow_for_each_row_and_each_end() -> None:
    lines = diagram().splitlines()
    assert lines[0] == "stateDiagram-v2"
    arrows = [line for line in lines if "-->" in line]
    assert len(arrows) == len(lines) - 1 == len(TABLE) + 4
    assert "    working --> draining: at the line / drain" in lines
    assert "    working --> failed: at the line [first message of a fresh session] / fail" in lines
    labels = [line.split(": ", 1)[1] for line in arrows if ": " in line]
    assert len(labels) == len(TABLE)
    assert not [label for label in labels if set(label) & set(":;#\n")]  # Mermaid would end or bend the label there
