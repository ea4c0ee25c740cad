"""How a turn ended, from the shapes that the SDK gives: each failure by its structure first, by its words last."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.failures import (
    BILLING_WORDS,
    CREDENTIALS_WORDS,
    LIMITED_WORDS,
    MALFORMED_WORDS,
    NETWORK_WORDS,
    PLAN_WORDS,
    POISONED_WORDS,
    RULES,
    Action,
    Failure,
    Outcome,
    failure_of,
)
from tests.core.failure_shapes import BLAMING, EXITS, FULL, NEAR_THE_END, OTHERS, POISONED, exited, failed

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "overflow.json").read_text(encoding="utf-8")
)
OVERFLOWS: list[str] = [case["text"] for case in CASES["overflow"]]
# An answer's prose and a tool's result are no error text; nobody feeds them in.
OTHER_ERRORS: list[dict[str, str]] = [case for case in CASES["not_overflow"] if case["class"] != "prose_or_tool_output"]


@pytest.mark.parametrize(("outcome", "kind"), FULL.values(), ids=FULL)
def test_a_full_context_is_told_from_what_looks_like_one(outcome: Outcome, kind: Failure) -> None:
    assert failure_of(outcome) is kind


@pytest.mark.parametrize(("outcome", "at", "below"), NEAR_THE_END.values(), ids=NEAR_THE_END)
def test_how_full_the_session_was_is_a_second_sign(
    outcome: Outcome, at: int, below: tuple[int, Failure] | None
) -> None:
    window = 200_000
    assert failure_of(replace(outcome, context=at, window=window)) is Failure.OVERFLOW
    context, kind = below or (0, Failure.OVERFLOW)
    assert failure_of(replace(outcome, context=context, window=window)) is kind
    assert failure_of(replace(outcome, context=at, window=0)) is kind  # nobody knows the window


FIRM = {
    "too many requests": failed("api_error", 429, "rate_limit", "slow down"),
    "overloaded": failed("api_error", 529, "server_error", "Overloaded"),
    "overloaded without a status": failed("api_error", None, "overloaded", "Overloaded"),
    "credentials": failed("api_error", 401, "authentication_failed"),
    "no such model": failed("api_error", 404, "model_not_found"),
    "billing": failed("api_error", 402, "billing_error"),
    "killed": exited(-9),
    "terminated": exited(143),
    "ended with words": exited(1, stderr="node: bad option"),
    "crashed": exited(1, "[session_crash] error_name=AbortError"),
    "our break": Outcome(terminal_reason="hook_stopped", stop_reason="tool_use"),
    "interrupted": failed("aborted_tools"),
    "an answer": Outcome(terminal_reason="completed", stop_reason="end_turn"),
    "no connection": failed("api_error", None, "unknown", "Connection refused (ECONNREFUSED)"),
}


@pytest.mark.parametrize("outcome", FIRM.values(), ids=FIRM)
def test_what_is_known_stays_what_it_is_however_full_the_session_was(outcome: Outcome) -> None:
    assert failure_of(replace(outcome, context=250_000, window=200_000)) is failure_of(outcome)
    assert failure_of(outcome) is not Failure.OVERFLOW


@pytest.mark.parametrize("details", BLAMING.values(), ids=BLAMING)
def test_an_overflow_whose_numbers_blame_max_tokens_ends_a_fresh_session_and_is_handed_off_by_an_old_one(
    details: str,
) -> None:
    outcome = failed("prompt_too_long", 400, "invalid_request", "Prompt is too long", details=details)
    assert failure_of(replace(outcome, fresh=True)) is Failure.NO_ROOM
    assert failure_of(outcome) is Failure.OVERFLOW
    rule = RULES[Failure.NO_ROOM]
    assert rule.action is Action.STOP
    assert "MAX_OUTPUT_TOKENS" in rule.next
    assert "max_tokens" in Failure.NO_ROOM
    assert details in replace(outcome, fresh=True).words


@pytest.mark.parametrize("text", [*OVERFLOWS, "prompt is too long: 210000 tokens > 200000 maximum"])
def test_an_overflow_of_the_prompt_itself_blames_nobody_on_a_fresh_session_either(text: str) -> None:
    outcome = failed("prompt_too_long", 400, "invalid_request", "Prompt is too long", details=text, fresh=True)
    assert failure_of(outcome) is Failure.OVERFLOW


@pytest.mark.parametrize("text", POISONED.values(), ids=POISONED)
@pytest.mark.parametrize("error", ["invalid_request", "unknown"])
def test_a_history_that_the_api_refuses_is_handed_off_and_not_tried_again(text: str, error: str) -> None:
    kind = failure_of(failed("api_error", 400, error, text))
    assert kind is Failure.POISONED
    assert RULES[kind].action is Action.HAND_OFF


@pytest.mark.parametrize(("outcome", "kind"), OTHERS.values(), ids=OTHERS)
def test_every_other_end_of_a_turn_has_its_kind(outcome: Outcome, kind: Failure) -> None:
    assert failure_of(outcome) is kind


@pytest.mark.parametrize(("outcome", "kind"), EXITS.values(), ids=EXITS)
def test_a_process_that_ended_is_known_by_its_last_words(outcome: Outcome, kind: Failure) -> None:
    assert failure_of(outcome) is kind


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("hook_stopped", Failure.OUR_BREAK),
        ("aborted_tools", Failure.ABORTED),
        ("prompt_too_long", Failure.OVERFLOW),
        ("blocking_limit", Failure.OVERFLOW),
        ("rapid_refill_breaker", Failure.OVERFLOW),
        ("image_error", Failure.POISONED),
        ("max_turns", Failure.TURNS),
        ("budget_exhausted", Failure.BUDGET),
        ("malformed_tool_use_exhausted", Failure.MALFORMED),
    ],
)
def test_a_reason_that_the_cli_gives_needs_no_words(reason: str, kind: Failure) -> None:
    assert failure_of(failed(reason)) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("authentication_failed", Failure.CREDENTIALS),
        ("cloud_credential_error", Failure.CREDENTIALS),
        ("oauth_org_not_allowed", Failure.CREDENTIALS),
        ("account_on_hold", Failure.PERMISSION),
        ("verification_required", Failure.PERMISSION),
        ("billing_error", Failure.BILLING),
        ("model_not_found", Failure.MODEL),
        ("max_output_tokens", Failure.OUTPUT_LIMIT),
        ("rate_limit", Failure.RATE),
        ("server_error", Failure.SERVER),
        ("overloaded", Failure.SERVER),
    ],
)
def test_an_error_that_the_cli_names_needs_neither_status_nor_words(error: str, kind: Failure) -> None:
    assert failure_of(failed(error=error)) is kind


@pytest.mark.parametrize("status", [None, 401])
def test_refused_credentials_are_not_taken_for_the_interrupt_that_followed(status: int | None) -> None:
    assert failure_of(failed("aborted_streaming", status, "authentication_failed")) is Failure.CREDENTIALS


@pytest.mark.parametrize(
    ("words", "kind", "shape"),
    [
        (PLAN_WORDS, Failure.PLAN, {"status": 429}),
        (BILLING_WORDS, Failure.BILLING, {"status": 429}),
        (LIMITED_WORDS, Failure.LIMITED, {"status": 429}),
        (POISONED_WORDS, Failure.POISONED, {"status": 400}),
        (MALFORMED_WORDS, Failure.MALFORMED, {"error": "unknown"}),
        (CREDENTIALS_WORDS, Failure.CREDENTIALS, {"status": 400}),
        (NETWORK_WORDS, Failure.NETWORK, {"error": "server_error"}),
    ],
    ids=lambda value: value.name if isinstance(value, Failure) else "",
)
def test_each_word_alone_gives_its_kind_and_none_when_a_server_broke(
    words: tuple[str, ...], kind: Failure, shape: dict[str, Any]
) -> None:
    for word in words:
        text = f"API Error: {word.upper()}."
        assert failure_of(failed(text=text, **shape)) is kind, word
        if kind is not Failure.MALFORMED:
            assert failure_of(failed(text=text, status=500)) is Failure.SERVER, word


@pytest.mark.parametrize("status", [None, 200, 400, 500, 503])
@pytest.mark.parametrize("number", range(len(OVERFLOWS)))
def test_every_collected_overflow_is_one_whatever_its_status(number: int, status: int | None) -> None:
    assert failure_of(failed("api_error", status, "unknown", OVERFLOWS[number])) is Failure.OVERFLOW


@pytest.mark.parametrize("status", [429, 529])
def test_with_too_many_requests_or_an_overload_no_words_make_an_overflow(status: int) -> None:
    for text in OVERFLOWS:
        kind = failure_of(failed("api_error", status, "unknown", text))
        assert RULES[kind].action in (Action.RETRY, Action.WAIT, Action.STOP), text


ACTIONS = {
    "rate_limit": {Action.RETRY, Action.WAIT, Action.STOP},
    "billing": {Action.STOP, Action.RETRY},
    "wire_size": {Action.HAND_OFF},
    "media": {Action.HAND_OFF},
}


@pytest.mark.parametrize("case", OTHER_ERRORS, ids=lambda case: case["text"][:40])
def test_no_collected_error_of_another_kind_is_an_overflow(case: dict[str, str]) -> None:
    status = {"rate_limit": 429, "billing": 402}.get(case["class"], 400)
    kind = failure_of(failed("api_error", status, "unknown", case["text"]))
    assert kind is not Failure.OVERFLOW
    assert RULES[kind].action in ACTIONS.get(case["class"], set(Action) - {Action.NOTHING})


@pytest.mark.parametrize("text", [case["text"] for case in CASES["not_overflow"]] + OVERFLOWS)
def test_an_answer_that_went_well_may_say_anything(text: str) -> None:
    assert failure_of(Outcome(terminal_reason="completed", text=text, stop_reason="end_turn")) is Failure.NONE


def test_the_subtype_is_no_part_of_the_question() -> None:
    assert "subtype" not in Outcome.__dataclass_fields__


def test_every_kind_has_a_rule_and_what_will_not_get_better_by_trying_has_a_small_limit() -> None:
    assert set(RULES) == set(Failure)
    assert {kind: rule.limit for kind, rule in RULES.items() if rule.limit is not None} == {
        Failure.OUTPUT_LIMIT: 2,
        Failure.MALFORMED: 2,
        Failure.UNKNOWN: 2,
        Failure.CLI_DIED: 3,
        Failure.SILENT: 3,
        Failure.NO_CONVERSATION: 1,
        Failure.ID_IN_USE: 1,
    }


@pytest.mark.parametrize(
    ("action", "kinds"),
    [
        (Action.NOTHING, {Failure.NONE, Failure.ABORTED}),
        (Action.HAND_OFF, {Failure.OVERFLOW, Failure.POISONED}),
        (Action.WAIT, {Failure.LIMITED, Failure.UNREACHABLE}),
        (
            Action.STOP,
            {
                Failure.BUDGET, Failure.TURNS, Failure.CREDENTIALS, Failure.PERMISSION, Failure.BILLING, Failure.PLAN,
                Failure.MODEL, Failure.NO_ROOM, Failure.REFUSAL, Failure.REFUSED_START,
                Failure.OUR_BREAK,
            },
        ),
        (
            Action.RETRY,
            {
                Failure.OUTPUT_LIMIT, Failure.RATE, Failure.SERVER, Failure.NETWORK, Failure.MALFORMED,
                Failure.CLI_DIED, Failure.SILENT, Failure.NO_CONVERSATION, Failure.ID_IN_USE, Failure.UNKNOWN,
            },
        ),
    ],
)  # fmt: skip
def test_each_kind_asks_for_one_action(action: Action, kinds: set[Failure]) -> None:
    assert {kind for kind, rule in RULES.items() if rule.action is action} == kinds


@pytest.mark.parametrize(
    "kind",
    [
        Failure.BUDGET, Failure.TURNS, Failure.BILLING, Failure.PLAN, Failure.MODEL, Failure.LIMITED,
        Failure.PERMISSION, Failure.UNREACHABLE,
    ],
)  # fmt: skip
def test_a_stop_that_a_person_can_undo_says_how(kind: Failure) -> None:
    assert RULES[kind].next


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (failed(text="API Error: 500"), "API Error: 500"),
        (exited(1, "", "last words"), "last words"),
        (exited(143), "exit code 143"),
        (exited(0), "exit code 0"),
        (exited(None), "its process ended"),
        (failed(error="server_error"), "server_error"),
        (failed(), "api_error"),
        (failed(None, status=500), "status 500"),
        (Outcome(is_error=True, silent=True), "no reason was given"),
    ],
)
def test_an_error_always_has_words_for_people(outcome: Outcome, words: str) -> None:
    assert outcome.words == words


@given(
    st.builds(
        Outcome,
        is_error=st.booleans(),
        terminal_reason=st.none() | st.text(max_size=9) | st.sampled_from(["api_error", "completed", "hook_stopped"]),
        status=st.none() | st.integers(),
        error=st.none() | st.text(max_size=9) | st.sampled_from(["rate_limit", "server_error", "unknown"]),
        text=st.text() | st.sampled_from(OVERFLOWS),
        stop_reason=st.none() | st.text(max_size=9) | st.just("refusal"),
        exited=st.booleans(),
        exit_code=st.none() | st.integers(),
        stderr=st.text(),
        silent=st.booleans(),
        details=st.text(max_size=9) | st.sampled_from(list(BLAMING.values())),
        empty=st.booleans(),
        context=st.integers(0, 300_000),
        window=st.sampled_from([0, 200_000]),
        fresh=st.booleans(),
    )
)
def test_no_outcome_is_without_a_kind_a_rule_and_words(outcome: Outcome) -> None:
    assert failure_of(outcome) in RULES
    assert outcome.words
