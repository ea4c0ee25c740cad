"""The context that a transcript tells, read from its end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.estimate import REQUEST_FLOOR, Characters
from flower_mcp.core.figures import Context
from flower_mcp.core.meter import Left
from flower_mcp.core.transcript import characters_of, context_of, error_details, left_in, saved_cost

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def assistant(read: int, model: str = "claude-opus-5", **more: Any) -> dict[str, Any]:
    """An assistant's line with so many tokens of context."""
    usage = {"input_tokens": 2, "cache_creation_input_tokens": 10, "cache_read_input_tokens": read, "output_tokens": 99}
    return {"type": "assistant", "isSidechain": False, "message": {"model": model, "usage": usage}, **more}


def compacted(metadata: object) -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "compactMetadata": metadata}


USER = {"type": "user", "message": {"role": "user", "content": "go on"}}


@pytest.mark.parametrize(
    ("lines", "context"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([USER, {"type": "queue-operation"}], None, id="no answer yet"),
        pytest.param([assistant(30_000), USER, assistant(50_000)], 50_012, id="the last answer counts"),
        pytest.param([assistant(50_000), USER, {"type": "cost-state"}], 50_012, id="other lines are passed over"),
        pytest.param([assistant(50_000), assistant(180_000, isSidechain=True)], 50_012, id="a subagent's line"),
        pytest.param([assistant(50_000), assistant(0, "<synthetic>")], 50_012, id="a line that the CLI wrote"),
        pytest.param([assistant(50_000), assistant(9, isApiErrorMessage=True)], 50_012, id="an error"),
        pytest.param(
            [assistant(180_000), compacted({"preTokens": 180_012, "postTokens": 20_000}), USER], 20_000, id="compacted"
        ),
        pytest.param([assistant(180_000), compacted({"postTokens": 9}), assistant(25_000)], 25_012, id="and went on"),
        pytest.param([assistant(180_000), compacted(None)], None, id="compacted to nobody knows what"),
        pytest.param(
            [assistant(50_000), {"type": "assistant", "message": {"model": "m", "usage": {"input_tokens": 0}}}],
            50_012,
            id="an answer without figures",
        ),
        pytest.param(
            [assistant(50_000), {"type": "assistant"}, {"type": "assistant", "message": "torn"}],
            50_012,
            id="torn lines",
        ),
    ],
)
def test_the_context_is_that_of_the_main_threads_last_request(lines: list[dict[str, Any]], context: int | None) -> None:
    assert context_of(reversed(lines)) == context


def test_no_more_is_read_than_is_needed() -> None:
    def lines() -> Any:
        yield USER
        yield assistant(50_000)
        raise AssertionError("read on")

    assert context_of(lines()) == 50_012


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["assistant", "system", "user"]) | JUNK,
                "subtype": st.just("compact_boundary") | JUNK,
                "compactMetadata": st.fixed_dictionaries({"postTokens": JUNK}) | JUNK,
                "isSidechain": JUNK,
                "message": st.fixed_dictionaries({}, optional={"model": JUNK, "usage": JUNK}) | JUNK,
            },
        ),
        max_size=5,
    )
)
def test_a_strange_transcript_is_never_an_error(lines: list[dict[str, Any]]) -> None:
    context = context_of(lines)
    assert context is None or isinstance(context, int)


@pytest.mark.parametrize(
    ("totals", "cost"),
    [
        ([("a", 1.5), ("a", 2), ("fork", 7.0)], 2.0),
        ([("a", 1.5), ("a", "2"), ("a", True), ("a", float("nan")), ("a", float("inf")), ("a", -1), ("a", None)], 1.5),
        ([("fork", 7.0)], None),
        ([], None),
    ],
    ids=["the last of its own", "what is no amount is passed over", "another session's alone", "none"],
)
def test_the_cost_that_the_cli_goes_on_from_is_the_last_that_it_kept_of_that_session(
    totals: list[tuple[str, object]], cost: float | None
) -> None:
    lines = [{"type": "cost-state", "sessionId": session, "totalCostUSD": total} for session, total in totals]
    lines.append({"type": "other", "sessionId": "a", "totalCostUSD": 9.0})
    assert saved_cost(reversed(lines), "a") == cost


def test_the_apis_own_words_are_those_of_the_last_request_of_the_main_thread() -> None:
    failed = {"type": "assistant", "isApiErrorMessage": True, "errorDetails": "400 prompt is too long: 61 > 60 maximum"}
    agents = {"type": "assistant", "isSidechain": True, "isApiErrorMessage": True, "errorDetails": "an agent's"}
    answered = {"type": "assistant", "message": {"content": []}}

    assert error_details([{"type": "system"}, agents, failed, answered]) == failed["errorDetails"]
    assert error_details([answered, failed]) is None
    assert error_details([{**failed, "errorDetails": None}, failed]) is None
    assert error_details([{**failed, "errorDetails": " "}]) is None
    assert error_details([]) is None


SILENT = {"type": "assistant", "message": {"model": "m", "usage": {"input_tokens": 0}, "content": [
    {"type": "thinking", "thinking": "hmm"},
    {"type": "text", "text": "看一下"},
    {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
]}}  # fmt: skip
RESULT = {"type": "user", "message": {"content": [
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "abcd"}, {"type": "image"}]},
    {"type": "tool_result", "tool_use_id": "toolu_2", "content": "efg"},
]}}  # fmt: skip
ALL = len("go on") + len("hmm") + len("Bash") + len('{"command": "ls"}') + len("abcd") + len("efg")


def test_the_characters_of_a_session_are_those_of_its_main_threads_messages() -> None:
    other: list[dict[str, Any]] = [
        {**SILENT, "isSidechain": True},
        {**SILENT, "isApiErrorMessage": True},
        {"type": "summary"},
    ]
    assert characters_of(reversed([USER, SILENT, *other, RESULT])) == Characters(ALL, 3)
    assert characters_of(reversed([USER, SILENT, compacted({}), RESULT])) == Characters(len("abcdefg"))


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([USER, assistant(50_000), RESULT], Left(Context(50_012)), id="figures"),
        pytest.param(
            [USER, SILENT, RESULT], Left(Context(REQUEST_FLOOR + ALL // 3 + 3), estimated=True), id="no figures"
        ),
        pytest.param([USER, SILENT, compacted({"postTokens": 9_000})], Left(Context(9_000)), id="compacted"),
    ],
)
def test_what_a_session_had_carried_is_estimated_where_nothing_was_reported(
    lines: list[dict[str, Any]], left: Left | None
) -> None:
    assert left_in(lambda: reversed(lines)) == left


@given(st.lists(st.dictionaries(st.sampled_from(["type", "message", "content"]), JUNK)))
def test_what_a_session_left_is_never_an_error(lines: list[dict[str, Any]]) -> None:
    left = left_in(lambda: reversed(lines))
    assert left is None or left.context >= 0
