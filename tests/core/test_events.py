"""What is told about a run, and the line that is kept of it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.events import Event, Kind, Phase, Place, line

PLACE = Place(run="r1", step="work", generation=2, session_id="b")
FIXED = ["v", "at", "run", "step", "generation", "session_id", "kind"]


def test_a_line_says_where_in_the_books_it_belongs_and_then_what_happened() -> None:
    event = Event("handoff", "writing", {"phase": "writing", "context": 952_300})
    assert line(event, PLACE, "2026-11-29T16:05:12.000000Z") == {
        "v": 1,
        "at": "2026-11-29T16:05:12.000000Z",
        "run": "r1",
        "step": "work",
        "generation": 2,
        "session_id": "b",
        "kind": "handoff",
        "text": "writing",
        "phase": "writing",
        "context": 952_300,
    }


def test_an_event_without_words_has_no_text_in_its_line() -> None:
    assert list(line(Event("context"), PLACE, "t")) == FIXED


@given(st.dictionaries(st.sampled_from([*FIXED, "phase", "context"]), st.integers()))
def test_no_payload_can_put_an_event_into_another_run(payload: dict[str, int]) -> None:
    told = line(Event("tool", payload=payload), PLACE, "t")
    assert [told[key] for key in FIXED] == [1, "t", "r1", "work", 2, "b", "tool"]
    assert set(told) == {*FIXED, *payload}


def test_a_kind_is_written_as_its_word() -> None:
    assert json.loads(json.dumps(line(Event(Kind.RESULT), PLACE, "t")))["kind"] == "result"


def test_the_kinds_and_phases_are_those_of_the_format() -> None:
    assert [str(kind) for kind in Kind] == [
        "session", "text", "tool", "context", "handoff", "edit", "drain", "retry", "wait", "permission", "error",
        "result",
    ]  # fmt: skip
    assert {str(phase) for phase in Phase} == {
        "started", "resumed", "launched", "retired", "near", "writing", "done", "open", "seen", "broken", "held",
        "released", "closed", "late", "learned", "forgotten", "assumed", "advised", "told", "cleared",
    }  # fmt: skip
