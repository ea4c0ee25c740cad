"""What becomes of a handoff turn: frozen, asked once more, or put together by code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.books import WrittenBy
from flower_mcp.core.decide import Ending
from flower_mcp.core.handoff import Extra, Handoff
from flower_mcp.core.writing import ASKS, TurnEnd, WritingVerdict, Written, judge

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
    Written, st.sampled_from(TurnEnd), HANDOFFS, HANDOFFS, st.integers(1, 5), st.sampled_from(["", "said so"])
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
    assert (verdict.written_by is WrittenBy.CODE) == (verdict.ending is Ending.UNWRITTEN)
    if verdict.ending is Ending.UNWRITTEN:
        assert verdict.why
    if written.end is not TurnEnd.COMPLETED:
        assert written.end.value in (verdict.why or "")
