"""What a session that is full looks like in its messages, where no error says so."""

from __future__ import annotations

from flower_mcp.core.failures import Failure, failure_of
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.signals import Stuck, TurnEnded
from tests.runtime.test_reader import STOP, delta, ended, start, take


def test_an_answer_that_the_window_cut_is_told_at_once_and_is_a_full_context() -> None:
    reader = Reader()
    cut = [start("m1", read=9), delta("model_context_window_exceeded", output=9), STOP]
    stuck = [signal for signal in take(reader, *cut) if isinstance(signal, Stuck)]
    assert [failure_of(signal.outcome) for signal in stuck] == [Failure.OVERFLOW]
    assert reader.good == 0


def test_only_a_turn_that_went_well_and_said_nothing_is_empty() -> None:
    turns = take(
        Reader(),
        ended(terminal_reason="completed", result=""),
        ended(terminal_reason="completed", result="Done."),
        ended(terminal_reason="hook_stopped", result=""),
        ended(terminal_reason="completed", is_error=True, result=""),
    )
    assert [turn.outcome.empty for turn in turns if isinstance(turn, TurnEnded)] == [True, False, False, False]
