"""What waits, and how long: the table's answer, and the reset times that the words of a refusal tell."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.failures import LONGEST, MOST_WAITS, RULES, Action, Failure, Outcome, action_of, most_retries
from flower_mcp.core.resets import reset_in

NOW = datetime(2026, 11, 30, 10, 53, tzinfo=UTC).timestamp()
HOUR = 3600.0
HERE = timezone(timedelta(hours=1))
NAMED: dict[str, tzinfo] = {"": HERE, "UTC": UTC, "America/New_York": timezone(timedelta(hours=-5))}


def ask(kind: Failure, *, rest: float | None = None, waited: float = 0.0, waits: int = 0) -> Action:
    outcome = Outcome(is_error=True, resets_at=None if rest is None else NOW + rest)
    return action_of(kind, outcome, now=NOW, waited=waited, waits=waits, offline=HOUR)


@pytest.mark.parametrize(
    ("given", "action"),
    [
        ({"rest": None}, Action.STOP),
        ({"rest": 5 * HOUR}, Action.WAIT),
        ({"rest": LONGEST}, Action.WAIT),
        ({"rest": LONGEST + 1}, Action.STOP),
        ({"rest": 4 * HOUR, "waited": 3 * HOUR}, Action.STOP),
        ({"rest": -HOUR}, Action.WAIT),  # it says it is reset and refuses: a moment, and not for ever
        ({"rest": -HOUR, "waits": MOST_WAITS - 1}, Action.WAIT),
        ({"rest": -HOUR, "waits": MOST_WAITS}, Action.STOP),
        ({"rest": 1.0, "waits": MOST_WAITS}, Action.STOP),
    ],
)
def test_a_usage_limit_is_waited_for_when_its_reset_is_known_and_some_hours_away(
    given: dict[str, float], action: Action
) -> None:
    assert ask(Failure.LIMITED, **given) is action  # type: ignore[arg-type]


def test_an_endpoint_that_cannot_be_reached_is_waited_for_as_long_as_the_policy_says() -> None:
    assert ask(Failure.UNREACHABLE) is Action.WAIT
    assert ask(Failure.UNREACHABLE, waited=HOUR - 1, waits=99) is Action.WAIT
    assert ask(Failure.UNREACHABLE, waited=HOUR) is Action.STOP
    assert action_of(Failure.UNREACHABLE, Outcome(), now=NOW) is Action.STOP  # nobody is to wait


@pytest.mark.parametrize("kind", Failure)
def test_what_was_tried_again_often_enough_stops_and_only_an_endpoint_that_may_mend_is_waited_for(
    kind: Failure,
) -> None:
    def used_up(waited: float) -> Action:
        return action_of(kind, Outcome(), now=NOW, waited=waited, waits=99, offline=HOUR, used_up=True)

    if RULES[kind].action is not Action.RETRY:
        assert used_up(0.0) is action_of(kind, Outcome(), now=NOW, waits=99, offline=HOUR)
    elif kind in (Failure.SERVER, Failure.RATE, Failure.NETWORK):
        assert [used_up(waited) for waited in (0.0, HOUR - 1, HOUR)] == [Action.WAIT, Action.WAIT, Action.STOP]
        assert action_of(kind, Outcome(), now=NOW, used_up=True) is Action.STOP  # nobody is to wait
        broken = Outcome(broken=True)  # answers that break off cost, and what they ask for is done each time
        assert action_of(kind, broken, now=NOW, offline=HOUR, used_up=True) is Action.STOP
        assert action_of(kind, broken, now=NOW, offline=HOUR) is Action.RETRY
    else:
        assert used_up(0.0) is Action.STOP


@pytest.mark.parametrize(
    ("kind", "attempts", "most"),
    [
        (Failure.SERVER, 6, 5),
        (Failure.SERVER, 1, 0),
        (Failure.SERVER, 0, 0),
        (Failure.CLI_DIED, 6, 3),
        (Failure.CLI_DIED, 2, 1),
    ],
)
def test_a_kind_is_tried_again_as_often_as_the_policy_and_its_own_limit_let_it(
    kind: Failure, attempts: int, most: int
) -> None:
    assert most_retries(kind, attempts) == most


@given(st.sampled_from(Failure), st.none() | st.floats(-1e6, 1e6), st.floats(0, 1e6), st.integers(0, 99))
def test_only_what_the_table_lets_wait_waits_and_everything_else_is_as_the_table_says(
    kind: Failure, rest: float | None, waited: float, waits: int
) -> None:
    action = ask(kind, rest=rest, waited=waited, waits=waits)
    if RULES[kind].action is Action.WAIT:
        assert action in (Action.WAIT, Action.STOP)
        assert RULES[kind].next
    else:
        assert action is RULES[kind].action


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("You've hit your 5-hour limit · resets 1:56pm (UTC)", "2026-11-30T13:56Z"),
        ("You've hit your weekly limit · resets Dec 5, 5:02am (UTC)", "2026-12-05T05:02Z"),
        ("You've hit your weekly limit · resets Sep 14 at 8pm", "2027-09-14T20:00+01:00"),
        ("You've hit your weekly limit · resets Nov 30, 5am (UTC)", "2026-11-30T05:00Z"),
        ("You've hit your weekly limit · resets Jan 2, 2027, 5am (UTC)", "2027-01-02T05:00Z"),
        ("session limit · resets 3am", "2026-12-01T03:00+01:00"),
        ("Your limit will reset at 3pm (America/New_York).", "2026-11-30T15:00-05:00"),
        ("limit will reset at 12am (UTC)", "2026-12-01T00:00Z"),
        ("limit will reset at 12 p.m. (UTC)", "2026-11-30T12:00Z"),
        ("resets 10:45am (UTC)", "2026-11-30T10:45Z"),  # it has just passed: not tomorrow's
        ("resets 10:05am (UTC)", "2026-12-01T10:05Z"),
        ("Claude AI usage limit reached|1766502000", "2025-12-23T15:00Z"),
        ("limit resets at 2026-11-30T12:30:00Z", "2026-11-30T12:30Z"),
        ("limit resets at 2026-11-30T12:30", "2026-11-30T12:30+01:00"),
        ("usage limit reached, try again in 2 hours and 30 minutes", "2026-11-30T13:23Z"),
        ("weekly limit, resets in 3d 2h", "2026-12-03T12:53Z"),
    ],
)  # fmt: skip
def test_the_words_of_a_refusal_tell_when_the_limit_is_reset(words: str, moment: str) -> None:
    assert reset_in(words, NOW, NAMED.get) == datetime.fromisoformat(moment).timestamp()


@pytest.mark.parametrize(
    "words",
    [
        "", "Claude AI usage limit reached", "resets soon", "resets 3", "resets 13pm", "resets 3:75pm",
        "resets Feb 30, 5am", "resets Foo 3, 5am", "resets 3pm (Nowhere/Land)", "resets at 2026-13-40T12:00Z",
    ],
)  # fmt: skip
def test_words_that_tell_no_time_give_none(words: str) -> None:
    assert reset_in(words, NOW, NAMED.get) is None


@given(st.text(max_size=3_000) | st.from_regex(r"resets? (at )?[A-Z][a-z]{2} \d{1,2},? \d{1,2}(:\d\d)?[ap]m.{0,20}"))
def test_no_words_make_it_raise(words: str) -> None:
    moment = reset_in(words, NOW, NAMED.get)
    assert moment is None or abs(moment) < 1e12
