"""What becomes of a handoff turn: frozen, asked once more, or put together by code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.books import WrittenBy
from flower_mcp.core.decide import Ending
from flower_mcp.core.failures import Failure
from flower_mcp.core.handoff import Extra, Handoff
from flower_mcp.core.writing import (
    ASKS,
    HANDED_ON,
    Then,
    TurnEnd,
    WritingVerdict,
    Written,
    back_to,
    handed_on,
    judge,
    then,
    unrewound,
)

WHOLE = Handoff(doing="the parser", next="run the tests", decided="no regexes")
OTHER = Handoff(doing="another account", next="another step")
ONLY_DOING = Handoff(doing="the parser", scene="src/")
ONLY_NEXT = Handoff(next="run the tests", deadends="regexes")
NOTHING = Handoff()

HANDOFFS = st.none() | st.builds(
    Handoff,
    doing=st.sampled_from(["", " ", "d"]),
    next=st.sampled_from(["", "n"]),
    decided=st.sampled_from(["", "x"]),
)
TURNS = st.builds(
    Written,
    st.sampled_from(TurnEnd),
    HANDOFFS,
    HANDOFFS,
    st.integers(1, 5),
    st.sampled_from(["", "said so"]),
    rewound=st.integers(0, 3),
    overflow=st.just("Prompt is too long"),
)


@pytest.mark.parametrize(
    ("written", "verdict"),
    [
        pytest.param(
            Written(TurnEnd.COMPLETED, WHOLE),
            WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.SESSION),
            id="its text is whole",
        ),
        pytest.param(
            Written(TurnEnd.COMPLETED, NOTHING, WHOLE),
            WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.DRAFT),
            id="its draft is whole",
        ),
        pytest.param(
            Written(TurnEnd.COMPLETED, OTHER, WHOLE),
            WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.DRAFT),
            id="a draft comes before text",
        ),
        pytest.param(
            Written(TurnEnd.COMPLETED, WHOLE, ONLY_DOING),
            WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.SESSION),
            id="whole text comes before half a draft",
        ),
        pytest.param(
            Written(TurnEnd.COMPLETED, ONLY_NEXT, ONLY_DOING, asks=2),
            WritingVerdict(
                Ending.WRITTEN,
                Handoff(doing="the parser", next="run the tests", deadends="regexes", scene="src/"),
                WrittenBy.SESSION,
            ),
            id="two halves are a whole",
        ),
        pytest.param(
            Written(TurnEnd.COMPLETED, ONLY_DOING),
            WritingVerdict(Ending.INCOMPLETE, missing=("next",)),
            id="a section is missing: asked again by its name",
        ),
        pytest.param(
            Written(TurnEnd.COMPLETED, None),
            WritingVerdict(Ending.INCOMPLETE, missing=("doing", "next")),
            id="nothing came: asked again",
        ),
        pytest.param(
            Written(TurnEnd.COMPLETED, ONLY_DOING, asks=2),
            WritingVerdict(Ending.UNWRITTEN, ONLY_DOING, WrittenBy.CODE, "without next", ("next",)),
            id="missing twice: put together by code, with what there is",
        ),
        pytest.param(
            Written(TurnEnd.CUT, WHOLE, detail="32000 tokens"),
            WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.SESSION, "cut off at the output limit: 32000 tokens"),
            id="cut off behind the required sections: taken, and said",
        ),
        pytest.param(
            Written(TurnEnd.CUT, ONLY_DOING),
            WritingVerdict(Ending.INCOMPLETE, why="cut off at the output limit", missing=("next",)),
            id="cut off before them: asked again",
        ),
        pytest.param(
            Written(TurnEnd.ERROR, ONLY_DOING, detail="API Error: 500"),
            WritingVerdict(
                Ending.UNWRITTEN, ONLY_DOING, WrittenBy.CODE, "error: API Error: 500, without next", ("next",)
            ),
            id="an error: not asked again",
        ),
        pytest.param(
            Written(TurnEnd.TIMEOUT),
            WritingVerdict(
                Ending.UNWRITTEN,
                NOTHING,
                WrittenBy.CODE,
                "no answer in time, without doing and next",
                ("doing", "next"),
            ),
            id="no answer in time: not asked again",
        ),
        pytest.param(
            Written(TurnEnd.DIED, None, WHOLE),
            WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.DRAFT, "the session ended"),
            id="the session ended, its draft is whole: taken, and said",
        ),
        pytest.param(
            Written(TurnEnd.TIMEOUT, WHOLE),
            WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.SESSION, "no answer in time"),
            id="whole before the time was up: taken, and said",
        ),
        pytest.param(
            Written(TurnEnd.FULL, ONLY_DOING, detail="Prompt is too long"),
            WritingVerdict(
                Ending.OVERFLOW, ONLY_DOING, WrittenBy.CODE, "overflow: Prompt is too long, without next", ("next",)
            ),
            id="too full to write: rewound",
        ),
        pytest.param(
            Written(TurnEnd.FULL, WHOLE, detail="Prompt is too long"),
            WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.SESSION, "overflow: Prompt is too long"),
            id="too full after the document was whole: taken, and said",
        ),
        pytest.param(
            Written(TurnEnd.COMPLETED, WHOLE, rewound=1, overflow="Prompt is too long"),
            WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.REWOUND, "Prompt is too long; rewound by 1 request"),
            id="a fork wrote: taken, and said",
        ),
        pytest.param(
            Written(TurnEnd.DIED, None, WHOLE, rewound=12, overflow="413"),
            WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.REWOUND, "413; rewound by 12 requests; the session ended"),
            id="a fork handed its draft in and ended: taken, and said",
        ),
        pytest.param(
            Written(TurnEnd.COMPLETED, ONLY_DOING, rewound=1, overflow="413"),
            WritingVerdict(Ending.INCOMPLETE, why="413; rewound by 1 request", missing=("next",)),
            id="a fork left a section out: asked again, in the fork",
        ),
        pytest.param(
            Written(TurnEnd.ERROR, None, detail="500", rewound=3, overflow="413"),
            WritingVerdict(
                Ending.OVERFLOW,
                NOTHING,
                WrittenBy.CODE,
                "413; rewound by 3 requests; error: 500, without doing and next",
                ("doing", "next"),
            ),
            id="a fork could not write: rewound further",
        ),
    ],
)
def test_a_handoff_turn_is_judged(written: Written, verdict: WritingVerdict) -> None:
    assert judge(written) == verdict


def test_a_section_of_the_writers_own_is_kept_when_two_halves_are_joined() -> None:
    open_questions = Extra("## Open questions", "which port?", after="next")
    text = Handoff(next="run the tests", extra=(open_questions,))
    assert judge(Written(TurnEnd.COMPLETED, text, ONLY_DOING)).handoff == Handoff(
        doing="the parser", next="run the tests", scene="src/", extra=(open_questions,)
    )


@given(TURNS)
def test_a_document_with_both_required_sections_is_always_taken(written: Written) -> None:
    verdict = judge(written)
    whole = [handoff for handoff in (written.draft, written.text) if handoff is not None and handoff.complete()]
    if whole:
        assert (verdict.ending, verdict.handoff) == (Ending.WRITTEN, whole[0])
    if verdict.ending is Ending.WRITTEN:
        assert verdict.handoff is not None
        assert verdict.handoff.complete()


@given(TURNS)
def test_it_is_asked_again_only_by_name_only_once_and_only_a_turn_that_can_answer(written: Written) -> None:
    verdict = judge(written)
    if verdict.ending is Ending.INCOMPLETE:
        assert verdict.missing
        assert written.asks < ASKS
        assert written.end in (TurnEnd.COMPLETED, TurnEnd.CUT)
    else:
        assert verdict.handoff is not None
        assert verdict.written_by is not None


@given(TURNS)
def test_code_writes_only_with_a_reason_that_goes_into_the_books(written: Written) -> None:
    verdict = judge(written)
    without = verdict.ending in (Ending.UNWRITTEN, Ending.OVERFLOW)
    assert (verdict.written_by is WrittenBy.CODE) == without
    if without:
        assert verdict.why
        assert (verdict.ending is Ending.OVERFLOW) == (written.end is TurnEnd.FULL or written.rewound > 0)
    if written.end is not TurnEnd.COMPLETED:
        assert written.end.value in (verdict.why or "")


@pytest.mark.parametrize(
    ("kind", "given", "follows"),
    [
        (Failure.NONE, {}, Then.JUDGE),
        (Failure.SERVER, {}, Then.REPEAT),
        (Failure.SERVER, {"failures": 5}, Then.REPEAT),
        (Failure.SERVER, {"failures": 6}, Then.OWE),
        (Failure.RATE, {"failures": 6}, Then.OWE),
        (Failure.NETWORK, {"failures": 6}, Then.OWE),
        (Failure.SILENT, {"most": 3, "failures": 3}, Then.REPEAT),
        (Failure.SILENT, {"most": 3, "failures": 4}, Then.OWE),
        (Failure.SERVER, {"most": 0}, Then.OWE),
        (Failure.SERVER, {"is_fork": True}, Then.REPEAT),
        (Failure.UNREACHABLE, {}, Then.OWE),
        (Failure.LIMITED, {}, Then.OWE),
        (Failure.CREDENTIALS, {}, Then.OWE),
        (Failure.BILLING, {"is_fork": True}, Then.OWE),
        (Failure.SILENT, {"exited": True}, Then.REOPEN),
        (Failure.CLI_DIED, {"exited": True, "failures": 2}, Then.REOPEN),
        (Failure.CLI_DIED, {"exited": True, "failures": 3}, Then.JUDGE),
        (Failure.CLI_DIED, {"exited": True, "most": 0}, Then.JUDGE),
        (Failure.CLI_DIED, {"exited": True, "is_fork": True}, Then.JUDGE),
        (Failure.BUDGET, {"most": 0}, Then.REOPEN),
        (Failure.BUDGET, {"is_fork": True}, Then.JUDGE),
        (Failure.OVERFLOW, {}, Then.JUDGE),
        (Failure.REFUSAL, {}, Then.JUDGE),
        (Failure.ABORTED, {}, Then.JUDGE),  # by the handoff turn's own limit of time
        (Failure.UNKNOWN, {}, Then.JUDGE),
    ],
)
def test_a_handoff_turn_is_repeated_for_what_passes_and_owed_for_what_refuses_all_work(
    kind: Failure, given: dict[str, int], follows: Then
) -> None:
    usual = {"exited": False, "failures": 1, "most": 5}
    assert then(kind, **{**usual, **given}) is follows  # type: ignore[arg-type]


@given(st.sampled_from(Failure), st.booleans(), st.integers(0, 9), st.booleans())
def test_no_handoff_turn_is_tried_without_end(kind: Failure, exited: bool, most: int, is_fork: bool) -> None:
    assert then(kind, exited=exited, failures=10, most=most, is_fork=is_fork) in (Then.JUDGE, Then.OWE)


@pytest.mark.parametrize(
    ("requests", "kept"),
    [
        (0, []),
        (1, [1]),
        (2, [2, 1]),
        (3, [3, 2, 1]),
        (4, [4, 2, 1]),
        (5, [5, 3, 2]),
        (40, [40, 20, 10]),
        (1_001, [1_001, 501, 251]),
    ],
)
def test_a_fork_goes_back_by_one_request_then_to_a_half_then_to_a_quarter(requests: int, kept: list[int]) -> None:
    attempts = [back_to(requests, attempt) for attempt in range(1, 6)]
    assert attempts == kept + [None] * (5 - len(kept))


@given(st.integers(0, 10_000))
def test_each_attempt_goes_further_back_and_there_are_three_at_most(requests: int) -> None:
    kept = [at for attempt in range(1, 10) if (at := back_to(requests, attempt)) is not None]
    assert len(kept) == min(requests, 3)
    assert kept == sorted(set(kept), reverse=True)
    assert all(1 <= at <= requests for at in kept)


def test_when_no_fork_wrote_the_sessions_own_draft_is_taken_and_half_a_draft_is_not() -> None:
    why = "413; rewound by 3 requests; no answer in time"
    assert unrewound(WHOLE, ONLY_DOING, why) == WritingVerdict(Ending.WRITTEN, WHOLE, WrittenBy.DRAFT, why)
    code = WritingVerdict(Ending.UNWRITTEN, ONLY_DOING, WrittenBy.CODE, why, ("next",))
    assert unrewound(ONLY_NEXT, ONLY_DOING, why) == unrewound(None, ONLY_DOING, why) == code


def test_only_a_session_that_did_nothing_hands_on_the_document_that_it_was_given() -> None:
    verdict = handed_on(ONLY_NEXT, "too full", did_nothing=True)
    assert verdict is not None
    assert (verdict.ending, verdict.handoff, verdict.written_by) == (Ending.WRITTEN, ONLY_NEXT, WrittenBy.BEFORE)
    assert verdict.why == f"too full; it had done nothing: {HANDED_ON}"
    assert handed_on(ONLY_NEXT, "too full", did_nothing=False) is None
    assert handed_on(None, "too full", did_nothing=True) is None  # it began with the task
