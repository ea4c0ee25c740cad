"""What a refusal teaches about the window, how long that counts, and what undoes it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.books import iso
from flower_mcp.core.failures import Outcome
from flower_mcp.core.policy import FixedLine, HandoffPolicy
from flower_mcp.core.windows import (
    LASTS,
    Doubt,
    Learned,
    Refusal,
    doubt,
    earlier_line,
    key,
    lesson,
    smaller,
    teaches,
    words_of,
)

STATED = "prompt is too long: 61050 tokens > 60000 maximum"
NOW = 1_790_000_000.0
DAY = 86_400.0


def refusal(said: str = STATED, *, window: int = 1_000_000, **changes: Any) -> Refusal:
    """A session that began with 15,000, got to 55,000, and was refused at 61,000."""
    return Refusal(said, **{"policy": HandoffPolicy().with_window(window), "accepted": 55_000, "carried": 61_000,
                            "floor": 15_000, **changes})  # fmt: skip


LESSONS: dict[str, tuple[Refusal, int | None]] = {
    "the text's limit comes first": (refusal(), 60_000),
    "without one it is the context at which the API refused": (refusal("Prompt is too long"), 61_000),
    "a gateway's words": (refusal("This model's maximum context length is 65536 tokens."), 65_536),
    "a limit that was believed already is not counted as ours": (refusal(window=60_000, carried=58_000), 58_000),
    "a limit that was passed without a refusal, too": (refusal(accepted=64_000, carried=70_000), 70_000),
    "what was believed is right: the handoff only came late": (refusal(window=60_000), None),
    "a leap over the believed window says nothing": (refusal("too long", window=60_000, carried=900_000), None),
    "a session that was resumed is refused at once": (refusal("Prompt is too long", accepted=0), 61_000),
    "nobody reports usage, and no limit is stated": (refusal("Prompt is too long", accepted=0, carried=0), None),
    "nothing was accepted, and the text states a limit": (refusal(accepted=0, floor=0), 60_000),
    "the first request of a fresh session: nothing fits": (refusal(first=True), None),
    "a fresh session begins above the line of it": (refusal(floor=45_000), None),
    "a fresh session has room below the line": (refusal(floor=44_999), 60_000),
    "the text's limit is below the floor, the context is not": (
        refusal("prompt is too long: 61050 tokens > 16000 maximum", accepted=55_000), 61_000,
    ),
    "bytes teach nothing": (refusal("request exceeds the maximum allowed number of bytes: 33554432"), None),
    "a media limit teaches nothing": (refusal("413 request too large: image exceeds 5 MB maximum"), None),
    "a stated limit of another kind is passed over": (refusal("max_tokens: 64000 > 32000, the maximum"), 61_000),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LESSONS))
def test_a_refusal_teaches(name: str) -> None:
    given_refusal, window = LESSONS[name]

    assert lesson(given_refusal) == window


@given(
    accepted=st.integers(0, 300_000),
    carried=st.integers(0, 2_000_000),
    floor=st.integers(0, 100_000),
    window=st.integers(1, 2_000_000),
    stated=st.integers(256, 2_000_000),
)
def test_a_lesson_is_always_smaller_than_what_was_believed_and_leaves_room(
    accepted: int, carried: int, floor: int, window: int, stated: int
) -> None:
    policy = HandoffPolicy().with_window(window)
    said = f"prompt is too long: {stated + 5} tokens > {stated} maximum"
    learned = lesson(Refusal(said, policy, accepted=accepted, carried=carried, floor=floor))

    assert learned is None or accepted <= learned < window
    assert learned is None or floor < policy.with_window(learned).at


TEACHING = {
    "prompt_too_long": (Outcome(is_error=True, terminal_reason="prompt_too_long", status=400), True),
    "the window's own stop reason": (
        Outcome(is_error=True, terminal_reason="api_error", stop_reason="model_context_window_exceeded"), True,
    ),
    "words of an overflow": (Outcome(is_error=True, terminal_reason="api_error", status=400,
                                     text="API Error: 400 context length exceeded"), True),
    "refused by the CLI itself": (Outcome(is_error=True, terminal_reason="blocking_limit"), False),
    "the CLI's breaker": (Outcome(is_error=True, terminal_reason="rapid_refill_breaker"), False),
    "bytes": (Outcome(is_error=True, terminal_reason="image_error", status=413, text="Request too large"), False),
    "poisoned": (Outcome(is_error=True, terminal_reason="api_error", status=400,
                         text="API Error: 400 due to tool use concurrency issues."), False),
    "output": (Outcome(is_error=True, error="max_output_tokens", text="exceeded the 32000 output token maximum"),
               False),
    "rate": (Outcome(is_error=True, status=429, error="rate_limit", text="prompt is too long: 9 > 8 per min"), False),
    "the plan": (Outcome(is_error=True, status=429, text="Extra usage is required for long context requests."), False),
    "well": (Outcome(text=""), False),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(TEACHING))
def test_only_a_real_overflow_teaches(name: str) -> None:
    outcome, expected = TEACHING[name]

    assert teaches(outcome) is expected


@pytest.mark.parametrize(
    ("at", "counts"),
    [
        (iso(NOW), True),
        (iso(NOW - LASTS + 1), True),
        (iso(NOW - LASTS), False),
        (iso(NOW + DAY), True),
        (iso(NOW + 40 * DAY), False),
        ("2026-11-29", False),
        ("yesterday", False),
        ("", False),
    ],
)
def test_a_lesson_counts_for_thirty_days(at: str, counts: bool) -> None:
    assert Learned(60_000, at, STATED).counts(NOW) is counts


def test_the_smallest_that_counts_wins() -> None:
    old, small, large = (
        Learned(50_000, iso(NOW - 31 * DAY), "old"),
        Learned(60_000, iso(NOW - DAY), "small"),
        Learned(70_000, iso(NOW), "large"),
    )

    assert smaller(small, large, NOW) is small
    assert smaller(large, small, NOW) is small
    assert smaller(old, small, NOW) is small
    assert smaller(None, large, NOW) is large


@pytest.mark.parametrize(
    ("context", "first", "expected"),
    [
        (60_001, False, Doubt.EXCEEDED),
        (60_001, True, Doubt.EXCEEDED),
        (60_000, False, None),
        (45_000, True, Doubt.FILLED),
        (45_000, False, None),
        (44_999, True, None),
    ],
)
def test_a_learned_window_is_undone_by_what_was_accepted(context: int, first: bool, expected: Doubt | None) -> None:
    learned = Learned(60_000, iso(NOW), STATED)

    assert doubt(learned, HandoffPolicy(), context=context, first=first) is expected


def test_headroom_that_was_not_given_follows_a_learned_window_there_and_back() -> None:
    policy = HandoffPolicy().with_window(1_000_000)
    fixed = FixedLine(line=200_000).with_window(1_000_000)

    assert policy.with_window(60_000).at == 45_000
    assert policy.with_window(60_000).with_window(1_000_000).at == 950_000
    assert HandoffPolicy(headroom=20_000).with_window(60_000).at == 40_000
    assert fixed.at == 200_000
    assert fixed.with_window(60_000).at == 45_000
    assert fixed.with_window(60_000).with_window(1_000_000).at == 200_000


def test_a_key_has_one_space() -> None:
    assert key("https://api.anthropic.com", "claude-opus-5-5[1m]") == "https://api.anthropic.com claude-opus-5-5[1m]"
    assert key("bedrock:eu", "a model") == "bedrock:eu a-model"


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        (f'400 {{"type":"error","error":{{"type":"invalid_request_error","message":"{STATED}"}}}}', STATED),
        ('{"message": "Input is too long"}', "Input is too long"),
        ("Prompt is\n too long", "Prompt is too long"),
        ('400 {"error": {"message": 7}}', '400 {"error": {"message": 7}}'),
        ("400 {not json", "400 {not json"),
        ("[" * 100_000, "[" * 199 + "…"),
        ('{"a":' * 100_000, ('{"a":' * 40)[:199] + "…"),
    ],
    ids=range(7),
)
def test_the_words_are_the_innermost_message_and_short(details: str, expected: str) -> None:
    assert words_of(details) == expected


def test_the_line_that_is_advised_is_earlier() -> None:
    assert earlier_line(1_000_000, 950_000) == 200_000
    assert earlier_line(200_000, 150_000) == 100_000
    assert earlier_line(60_000, 45_000) == 30_000
