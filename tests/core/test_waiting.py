"""Which document waits, and what a new interactive session is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.waiting import Lying, greeting, is_taken_elsewhere, waits

FRESH = Lying("work", "aaaaaaaaaaaa", 1.0)


@pytest.mark.parametrize(
    ("lying", "expected"),
    [
        (FRESH, True),
        (replace(FRESH, taken="bbbbbbbbbbbb"), True),
        (replace(FRESH, launched=frozenset({"bbbbbbbbbbbb"})), True),
        (replace(FRESH, state="done"), True),
        (replace(FRESH, revision=""), False),
        (replace(FRESH, taken="aaaaaaaaaaaa"), False),
        (replace(FRESH, launched=frozenset({"bbbbbbbbbbbb", "aaaaaaaaaaaa"})), False),
        (replace(FRESH, is_held=True), False),
    ],
    ids=["fresh", "another taken", "another launched", "done", "none", "taken", "launched", "held"],
)
def test_a_document_waits_until_a_session_has_gone_on_from_it_and_while_nobody_runs_its_step(
    lying: Lying, expected: bool
) -> None:
    assert waits(lying) is expected


@pytest.mark.parametrize(
    ("revision", "taken", "launched", "expected"),
    [
        ("a1", "a1", (), True),
        ("a1", "a1", ("b2", "a1"), False),
        ("a1", "b2", (), False),
        ("", "", (), False),
    ],
    ids=["by a session elsewhere", "by a successor", "another version", "no document"],
)
def test_a_document_was_taken_elsewhere_when_no_launch_accounts_for_it(
    revision: str, taken: str, launched: tuple[str, ...], expected: bool
) -> None:
    assert is_taken_elsewhere(revision, taken, launched) is expected


def test_the_newest_document_that_waits_is_given_and_the_others_are_named() -> None:
    old, new = replace(FRESH, step="old"), replace(FRESH, step="new", written_at=3.0)
    taken = replace(FRESH, step="taken", written_at=9.0, taken=FRESH.revision)
    told = greeting([old, taken, new])
    assert (told.given, told.others) == (new, (old,))
    assert greeting([old, taken, new], "old").given == old
    assert greeting([old, new], "taken").given == new


def test_a_running_steps_document_is_not_given_and_a_strangers_is_only_told_of() -> None:
    running = replace(FRESH, step="running", is_held=True, written_at=9.0)
    strange = replace(FRESH, step="strange", is_known=False, written_at=5.0)
    told = greeting([running, strange, FRESH])
    assert (told.running, told.strange, told.given, told.others) == ((running,), (strange,), FRESH, ())
    assert greeting([running, strange]).given is None


revisions = st.sampled_from(["", "aaaaaaaaaaaa", "bbbbbbbbbbbb"])
lying = st.builds(
    Lying,
    step=st.sampled_from(["a", "b", "c"]),
    revision=revisions,
    written_at=st.floats(0, 9),
    taken=revisions,
    launched=st.frozensets(revisions),
    is_held=st.booleans(),
    is_known=st.booleans(),
)


@given(st.lists(lying, max_size=6), st.sampled_from(["", "a"]))
def test_whatever_lies_there_what_is_given_waits_is_ours_and_is_given_once(found: list[Lying], preferred: str) -> None:
    told = greeting(found, preferred)
    given_or_named = [one for one in (told.given, *told.others) if one is not None]
    assert all(waits(one) and one.is_known for one in given_or_named)
    assert len(given_or_named) + len(told.strange) == sum(map(waits, found))
    if told.given is not None:
        after = [replace(one, taken=one.revision) if one is told.given else one for one in found]
        assert greeting(after, preferred).given is not told.given
