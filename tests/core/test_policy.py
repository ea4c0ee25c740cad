"""When to hand off, and what a caller may not ask for."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.errors import Usage
from flower_mcp.core.policy import (
    AT_FLOOR,
    SMALLEST_WINDOW,
    AgentSpec,
    CompactPolicy,
    HandoffPolicy,
    RetryPolicy,
    default_headroom,
    guess_window,
)

WINDOWS = st.integers(1, 2_000_000)
HEADROOMS = st.integers(0, 2_000_000)
NO_NUMBERS: list[Any] = ["200000", "60%", b"1", [], {}, {1: 2}, True, False, math.nan, math.inf, -math.inf, 1j]


def test_a_policy_that_was_given_nothing_reads_as_numbers_all_the_same() -> None:
    policy = HandoffPolicy()
    assert (policy.window, policy.headroom, policy.at, policy.warn_at) == (1_000_000, 50_000, 950_000, 930_000)
    assert (policy.window_given, policy.headroom_given) == (False, False)
    assert policy.enabled
    assert policy.max_generations == 8
    assert (policy.write_timeout, policy.drain_timeout) == (600.0, 900.0)
    assert (policy.edit_window, policy.edit_limit) == (5.0, 900.0)
    assert policy.advice() is None


@pytest.mark.parametrize(
    ("window", "headroom", "at", "warn_at"),
    [
        (200_000, 50_000, 150_000, 130_000),
        (1_000_000, 50_000, 950_000, 930_000),
        (60_000, 50_000, 10_000, 1_000),
        (30_000, 9_000, 21_000, 1_000),
        (31_001, 10_000, 21_001, 1_001),
        (5_000, 0, 10_000, 1_000),
        (5_000, 50_000, 10_000, 1_000),
        (200_000, 0, 200_000, 180_000),
    ],
)
def test_the_lines_are_plain_numbers_with_a_floor_each(window: int, headroom: int, at: int, warn_at: int) -> None:
    policy = HandoffPolicy(window=window, headroom=headroom)
    assert (policy.at, policy.warn_at) == (at, warn_at)


@pytest.mark.parametrize(
    ("window", "headroom"),
    [(2_000_000, 50_000), (200_000, 50_000), (199_999, 49_999), (131_072, 32_768), (32_000, 8_000), (3, 0)],
)
def test_headroom_that_is_not_given_is_a_quarter_of_the_window_and_50_000_at_most(window: int, headroom: int) -> None:
    policy = HandoffPolicy(window=window)
    assert policy.headroom == headroom
    assert (policy.window_given, policy.headroom_given) == (True, False)


def test_headroom_that_is_not_given_follows_the_window_and_given_headroom_stays() -> None:
    assert HandoffPolicy().with_window(100_000).headroom == 25_000
    assert HandoffPolicy().with_window(100_000).with_window(1_000_000).headroom == 50_000
    assert HandoffPolicy(headroom=40_000).with_window(100_000).headroom == 40_000


def test_a_window_put_in_from_elsewhere_does_not_count_as_given_and_changes_nothing_else() -> None:
    policy = HandoffPolicy(
        enabled=False, max_generations=3, write_timeout=1, drain_timeout=2, edit_window=3, edit_limit=4
    )
    other = policy.with_window(200_000)
    assert (other.window, other.window_given, other.headroom_given) == (200_000, False, False)
    assert HandoffPolicy(window=1).with_window(2).window_given
    assert other.with_window(1_000_000) == policy
    with pytest.raises(Usage, match="window"):
        policy.with_window(0)


def test_a_copy_made_with_replace_counts_its_numbers_as_given() -> None:
    copy = dataclasses.replace(HandoffPolicy(), edit_window=0.0)
    assert (copy.window, copy.window_given, copy.headroom_given) == (1_000_000, True, True)


@pytest.mark.parametrize("name", ["window", "headroom", "max_generations"])
@pytest.mark.parametrize("value", [*NO_NUMBERS, -1, -0.5], ids=repr)
def test_what_is_no_number_of_tokens_is_refused_in_one_sentence_that_names_it(name: str, value: Any) -> None:
    with pytest.raises(Usage) as caught:
        HandoffPolicy(**{name: value})
    sentence = str(caught.value)
    assert sentence.startswith(f"{name} must be a number")
    assert repr(value) in sentence
    assert sentence.count("\n") == 0
    assert sentence.endswith(".")


@pytest.mark.parametrize("name", ["window", "max_generations"])
@pytest.mark.parametrize("value", [0, 0.0, 0.5])
def test_a_window_and_a_cap_of_nothing_are_refused(name: str, value: float) -> None:
    with pytest.raises(Usage, match=f"{name} must be a number above 0, not {value}"):
        HandoffPolicy(**{name: value})  # type: ignore[arg-type]


def test_no_headroom_at_all_is_taken_and_said() -> None:
    policy = HandoffPolicy(window=200_000, headroom=0)
    assert policy.at == 200_000
    assert "--headroom 50000" in (policy.advice() or "")


@pytest.mark.parametrize("value", [None, *NO_NUMBERS, -1], ids=repr)
@pytest.mark.parametrize("name", ["write_timeout", "drain_timeout", "edit_window", "edit_limit"])
def test_what_is_no_number_of_seconds_is_refused(name: str, value: Any) -> None:
    with pytest.raises(Usage, match=f"{name} must be a number of seconds"):
        HandoffPolicy(**{name: value})


def test_max_generations_cannot_be_left_to_a_default_with_none() -> None:
    with pytest.raises(Usage, match="max_generations"):
        HandoffPolicy(max_generations=None)  # type: ignore[arg-type]


def test_numbers_of_any_kind_and_size_are_taken_as_whole_tokens() -> None:
    assert HandoffPolicy(window=200_000.9).window == 200_000  # type: ignore[arg-type]
    assert HandoffPolicy(window=10**400).at == 10**400 - 50_000
    assert HandoffPolicy(edit_window=0).edit_window == 0.0


@pytest.mark.parametrize(
    ("window", "headroom", "words"),
    [
        (200_000, 50_000, None),
        (200_000, 28_000, None),
        (200_000, 27_999, "--headroom 50000"),
        (100_000, 25_000, None),
        (100_000, 24_999, "--headroom 25000"),
        (200_000, 190_000, None),
        (200_000, 190_001, "its floor of 10,000; use --headroom 50000"),
        (200_000, 400_000, "its floor of 10,000; use --headroom 50000"),
        (SMALLEST_WINDOW, SMALLEST_WINDOW // 4, None),
        (12_000, 3_000, "use --window 13333 or more"),
    ],
)
def test_given_headroom_that_will_not_serve_is_said_with_the_number_to_use(
    window: int, headroom: int, words: str | None
) -> None:
    advice = HandoffPolicy(window=window, headroom=headroom).advice()
    assert (words is None and advice is None) or (words or "") in (advice or "")


@given(WINDOWS, HEADROOMS)
def test_who_follows_the_advice_gets_no_more_of_it(window: int, headroom: int) -> None:
    advice = HandoffPolicy(window=window, headroom=headroom).advice()
    if advice is None:
        return
    words = advice.split()
    if "--window" in words:
        assert HandoffPolicy(window=int(words[words.index("--window") + 1])).at == AT_FLOOR
    else:
        better = int(words[words.index("--headroom") + 1])
        assert HandoffPolicy(window=window, headroom=better).advice() is None


@given(WINDOWS, st.none() | HEADROOMS)
def test_the_lines_stand_in_order_above_their_floors(window: int, headroom: int | None) -> None:
    policy = HandoffPolicy(window=window, headroom=headroom)  # type: ignore[arg-type]
    assert 1_000 <= policy.warn_at < policy.at
    assert policy.at >= AT_FLOOR
    assert policy.next_request_limit <= policy.window
    assert policy.window - policy.next_request_limit == min(20_000, policy.headroom // 2)
    if headroom is None:
        assert policy.headroom == default_headroom(window)


@pytest.mark.parametrize(
    ("environ", "window"),
    [
        ({}, 1_000_000),
        ({"ANTHROPIC_MODEL": ""}, 1_000_000),
        ({"ANTHROPIC_MODEL": "claude-opus-5[1m]"}, 1_000_000),
        ({"ANTHROPIC_MODEL": "claude-haiku-4-5"}, 200_000),
        ({"ANTHROPIC_MODEL": "Claude-HAIKU"}, 200_000),
        ({"ANTHROPIC_MODEL": "claude-haiku[1m]"}, 1_000_000),
        ({"ANTHROPIC_MODEL": "claude-haiku-1M"}, 1_000_000),
        ({"ANTHROPIC_MODEL": "haiku_1m_v2"}, 1_000_000),
        ({"ANTHROPIC_MODEL": "haiku-11m"}, 200_000),
        ({"ANTHROPIC_MODEL": "haiku-1mb"}, 200_000),
        ({"ANTHROPIC_MODEL": "haiku-v1m"}, 200_000),
        ({"ANTHROPIC_MODEL": "mimo-v2.5-pro"}, 1_000_000),
        ({"ANTHROPIC_MODEL": "us.anthropic.claude-haiku-4-5-20251001-v1:0"}, 200_000),
        ({"ANTHROPIC_DEFAULT_OPUS_MODEL": "haiku"}, 200_000),
        ({"ANTHROPIC_MODEL": "opus", "ANTHROPIC_DEFAULT_OPUS_MODEL": "haiku"}, 1_000_000),
        ({"ANTHROPIC_MODEL": "", "ANTHROPIC_DEFAULT_OPUS_MODEL": "haiku"}, 200_000),
        ({"ANTHROPIC_DEFAULT_HAIKU_MODEL": "haiku", "CLAUDE_MODEL": "haiku"}, 1_000_000),
    ],
)
def test_a_window_is_guessed_from_the_models_name_in_two_variables(environ: dict[str, str], window: int) -> None:
    assert guess_window(environ) == window


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 2.0), (1, 2.0), (2, 4.0), (3, 8.0), (6, 64.0), (7, 120.0), (10**9, 120.0)]
)
def test_the_pause_doubles_with_each_failure_up_to_its_cap(failures: int, seconds: float) -> None:
    assert RetryPolicy().pause(failures) == seconds


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_attempts", 0), ("max_attempts", True), ("base", -1), ("cap", math.nan), ("offline", "1h"), ("stall", None)],
)
def test_a_retry_policy_takes_numbers_alone(name: str, value: Any) -> None:
    with pytest.raises(Usage, match=name):
        RetryPolicy(**{name: value})


@pytest.mark.parametrize("mode", ["", "off", None, True])
def test_a_compact_policy_knows_two_modes(mode: Any) -> None:
    assert CompactPolicy("auto").mode == "auto"
    with pytest.raises(Usage, match="CompactPolicy mode"):
        CompactPolicy(mode)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": "  "}, "needs a name"),
        ({"name": None}, "needs a name"),
        ({"permission_mode": "yolo"}, "permission_mode"),
        ({"max_turns": 0}, "max_turns"),
        ({"max_turns": True}, "max_turns"),
        ({"max_budget_usd": 0}, "max_budget_usd"),
        ({"max_budget_usd": math.nan}, "max_budget_usd"),
        ({"mcp_servers": {"flower": {}}}, "'flower' is taken"),
        ({"allowed_tools": "Bash"}, "allowed_tools"),
        ({"disallowed_tools": "Bash"}, "disallowed_tools"),
        ({"setting_sources": "user"}, "setting_sources"),
    ],
)
def test_an_agent_that_cannot_be_run_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(Usage, match=words):
        AgentSpec(**values)


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"])
def test_the_clis_permission_modes_are_taken(mode: str) -> None:
    assert AgentSpec(permission_mode=mode).permission_mode == mode


def test_an_agent_for_another_step_differs_in_its_name_alone() -> None:
    spec = AgentSpec(model="opus", allowed_tools=("Bash",), max_budget_usd=5)
    assert spec.named("work") is spec
    assert spec.named("论文 综述") == dataclasses.replace(spec, name="论文 综述")


def test_policies_cannot_be_changed() -> None:
    for value, name in ((HandoffPolicy(), "window"), (RetryPolicy(), "base"), (AgentSpec(), "name")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, 1)
