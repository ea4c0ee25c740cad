"""How long the edit window stays open, and what is launched when it closes: every row of the table."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.faults import FaultKind
from flower_mcp.core.review import AWAY, TABLE, Choice, Review, Why, Window, review

KEEP, FILE, GOOD = Choice.KEEP_OPEN, Choice.LAUNCH_FILE, Choice.LAUNCH_LAST_GOOD
WINDOW = Window(frozen_at=100.0, edit_window=5.0, edit_limit=60.0)
INCOMPLETE, DELETED, EMPTY = FaultKind.INCOMPLETE, FaultKind.DELETED, FaultKind.EMPTY

CASES = [
    # nobody does anything
    (100.0, WINDOW, Review(KEEP, Why.NEW, 105.0)),
    (104.999, WINDOW, Review(KEEP, Why.NEW, 105.0)),
    (105.0, WINDOW, Review(FILE, Why.QUIET)),
    (9_999.0, replace(WINDOW, edit_limit=1e9), Review(FILE, Why.QUIET)),
    (50.0, WINDOW, Review(KEEP, Why.NEW, 105.0)),  # the clock was set back
    # a save
    (105.0, replace(WINDOW, saved_at=103.0), Review(KEEP, Why.SAVED, 108.0)),
    (108.0, replace(WINDOW, saved_at=103.0), Review(FILE, Why.QUIET)),
    (159.0, replace(WINDOW, saved_at=158.0), Review(KEEP, Why.SAVED, 160.0)),
    (160.0, replace(WINDOW, saved_at=158.0), Review(FILE, Why.LIMIT)),
    # an editor with unsaved changes
    (120.0, replace(WINDOW, unsaved=True), Review(KEEP, Why.UNSAVED, 160.0)),
    (160.0, replace(WINDOW, unsaved=True), Review(FILE, Why.LIMIT)),
    # held, and released
    (101.0, replace(WINDOW, held=True), Review(KEEP, Why.HELD, math.inf)),
    (99_999.0, replace(WINDOW, held=True, fault=INCOMPLETE), Review(KEEP, Why.HELD, math.inf)),
    (500.0, replace(WINDOW, released_at=500.0), Review(FILE, Why.QUIET)),
    (500.0, replace(WINDOW, released_at=500.0, fault=INCOMPLETE), Review(KEEP, Why.BROKEN, 560.0)),
    (560.0, replace(WINDOW, released_at=500.0, fault=INCOMPLETE), Review(GOOD, Why.LIMIT_BROKEN)),
    (101.0, replace(WINDOW, released_at=90.0), Review(KEEP, Why.NEW, 105.0)),
    # broken
    (105.0, replace(WINDOW, saved_at=99.0, fault=INCOMPLETE), Review(KEEP, Why.BROKEN, 160.0)),
    (160.0, replace(WINDOW, saved_at=99.0, fault=INCOMPLETE), Review(GOOD, Why.LIMIT_BROKEN)),
    (150.0, replace(WINDOW, saved_at=101.0, fault=EMPTY), Review(KEEP, Why.BROKEN, 160.0)),
    # as it stands
    (101.0, replace(WINDOW, as_is=True), Review(FILE, Why.AS_IS)),
    (101.0, replace(WINDOW, as_is=True, held=True, fault=INCOMPLETE), Review(FILE, Why.AS_IS)),
    (101.0, replace(WINDOW, as_is=True, fault=EMPTY), Review(GOOD, Why.AS_IS_NOTHING)),
    (101.0, replace(WINDOW, as_is=True, fault=DELETED), Review(GOOD, Why.AS_IS_NOTHING)),
    # deleted: at once, but for the moment in which editors put it back
    (102.0, replace(WINDOW, saved_at=102.0, fault=DELETED), Review(KEEP, Why.NEW, 105.0)),
    (105.0, replace(WINDOW, saved_at=104.9, fault=DELETED), Review(KEEP, Why.AWAY, 104.9 + AWAY)),
    (105.0, replace(WINDOW, saved_at=102.0, fault=DELETED), Review(GOOD, Why.DELETED)),
    # no window
    (100.0, replace(WINDOW, edit_window=0.0), Review(FILE, Why.OFF)),
    (100.0, replace(WINDOW, edit_window=0.0, unsaved=True), Review(FILE, Why.OFF)),
    (100.0, replace(WINDOW, edit_window=0.0, fault=INCOMPLETE), Review(GOOD, Why.OFF_BROKEN)),
    (100.0, replace(WINDOW, edit_window=0.0, held=True), Review(KEEP, Why.HELD, math.inf)),
    (200.0, replace(WINDOW, edit_window=0.0, released_at=190.0), Review(FILE, Why.QUIET)),
    (200.0, replace(WINDOW, edit_window=0.0, released_at=190.0, fault=INCOMPLETE), Review(KEEP, Why.BROKEN, 250.0)),
    # a limit below the window: the window is never shorter than without an edit
    (103.0, replace(WINDOW, edit_limit=1.0, saved_at=102.0), Review(KEEP, Why.NEW, 105.0)),
    (105.0, replace(WINDOW, edit_limit=1.0, saved_at=102.0), Review(FILE, Why.LIMIT)),
]


@pytest.mark.parametrize(("now", "window", "answer"), CASES)
def test_the_first_row_that_applies_answers(now: float, window: Window, answer: Review) -> None:
    assert review(now, window) == answer


def test_every_row_has_a_case() -> None:
    assert {answer.why for _, _, answer in CASES} == {row.why for row in TABLE} == {*Why}


@pytest.mark.parametrize("fault", [*FaultKind])
def test_at_the_limit_a_broken_file_is_never_launched(fault: FaultKind) -> None:
    assert review(160.0, replace(WINDOW, fault=fault)).choice is GOOD


TIMES = st.floats(0, 1e6)
WINDOWS = st.builds(
    Window,
    frozen_at=TIMES,
    edit_window=st.just(0.0) | st.floats(0.01, 1e3),
    edit_limit=st.floats(0, 1e4),
    saved_at=st.none() | TIMES,
    unsaved=st.booleans(),
    held=st.booleans(),
    released_at=st.none() | TIMES,
    as_is=st.booleans(),
    fault=st.none() | st.sampled_from(FaultKind),
)


@given(TIMES, WINDOWS)
def test_a_window_that_stays_open_names_a_later_time_and_is_over_at_its_limit(now: float, window: Window) -> None:
    answer = review(now, window)
    assert (answer.choice is KEEP) == (answer.until is not None)
    if answer.until is not None:
        assert now < answer.until
        assert answer.until <= window.limit or window.held
    if not window.held:
        assert review(max(now, window.limit), window).choice is not KEEP


@given(TIMES, WINDOWS)
def test_a_broken_file_is_launched_only_as_it_stands_and_a_good_one_is_never_passed_over(
    now: float, window: Window
) -> None:
    answer = review(now, window)
    if answer.choice is FILE:
        assert window.fault is None or (window.as_is and window.fault.has_text)
    if answer.choice is GOOD:
        assert window.fault is not None


@given(TIMES, WINDOWS)
def test_nobody_there_means_no_waiting_beyond_the_window(now: float, window: Window) -> None:
    alone = replace(window, saved_at=None, unsaved=False, held=False, released_at=None, as_is=False, fault=None)
    assert (review(now, alone).choice is KEEP) == (now < alone.closes)
