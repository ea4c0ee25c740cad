"""How long the edit window stays open, and what is launched when it closes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.review import Choice, Fault, Review, Window, review

FAULTS = [fault for fault in Fault if fault is not Fault.NONE]
TIMES = st.floats(0, 1e10)
LENGTHS = st.floats(0, 1e5)


@pytest.mark.parametrize(
    ("now", "answer"),
    [
        (100.0, Review(Choice.KEEP_OPEN, 105.0)),
        (104.999, Review(Choice.KEEP_OPEN, 105.0)),
        (105.0, Review(Choice.LAUNCH_FILE)),
        (9_999.0, Review(Choice.LAUNCH_FILE)),
        (50.0, Review(Choice.KEEP_OPEN, 105.0)),
    ],
)
def test_the_window_is_open_from_the_freeze_for_its_seconds(now: float, answer: Review) -> None:
    assert review(now, Window(frozen_at=100.0, edit_window=5.0)) == answer


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_no_successor_can_use_is_not_launched(fault: Fault) -> None:
    window = Window(frozen_at=100.0, edit_window=5.0, fault=fault)
    assert review(105.0, window) == Review(Choice.LAUNCH_LAST_GOOD)
    assert review(101.0, window) == Review(Choice.KEEP_OPEN, 105.0)


def test_without_a_window_the_file_is_launched_at_once() -> None:
    assert review(100.0, Window(frozen_at=100.0, edit_window=0.0)) == Review(Choice.LAUNCH_FILE)


@given(TIMES, TIMES, LENGTHS, st.sampled_from(Fault))
def test_asked_again_at_the_time_it_names_the_window_is_closed(
    now: float, frozen_at: float, length: float, fault: Fault
) -> None:
    window = Window(frozen_at, length, fault)
    answer = review(now, window)
    assert (answer.choice is Choice.KEEP_OPEN) == (answer.until is not None)
    if answer.until is not None:
        assert now < answer.until < math.inf
        answer = review(answer.until, window)
    assert answer.choice is (Choice.LAUNCH_FILE if fault is Fault.NONE else Choice.LAUNCH_LAST_GOOD)
