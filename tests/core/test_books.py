"""The shapes of the books: the row of a run, and what a step is doing now."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from flower_mcp.core.books import (
    DocumentState,
    Generation,
    LiveStep,
    State,
    StepResult,
    Supervisor,
    WrittenBy,
    as_json,
    iso,
    seconds,
)

ROW_KEYS = [
    "run", "step", "ok", "state", "session_id", "retired", "attempts", "resumed", "generations", "context",
    "window", "window_source", "cost_usd", "num_turns", "text", "error", "errors", "started_at", "ended_at",
    "duration_s",
]  # fmt: skip
GENERATION_KEYS = [
    "n", "session_id", "context", "cost_usd", "num_turns", "started_at", "ended_at", "path", "frozen", "launched",
    "edited", "sections_edited", "written_by", "why",
]  # fmt: skip
LIVE_KEYS = [
    "v", "step", "state", "row", "max_generations", "at", "warn_at", "context_estimated", "document", "held_since",
    "supervisor", "updated_at",
]  # fmt: skip
DOCUMENT_KEYS = ["path", "revision", "complete", "missing", "degraded", "edited", "sections", "written_at"]
TIME = "2026-11-29T16:05:12.123456Z"


def filled() -> LiveStep:
    """A live state with nothing left at its default."""
    generation = Generation(
        n=1, session_id="a", context=952_300, cost_usd=1.5, num_turns=40, started_at=TIME, ended_at=TIME,
        path="notes/交接-work.md", frozen="0123456789ab", launched="ba9876543210", edited=True,
        sections_edited=("next",), written_by=WrittenBy.DRAFT, why="cut off",
    )  # fmt: skip
    row = StepResult(
        run="r", step="论文", ok=True, state=State.DONE, session_id="b", retired=("a",), attempts=2, resumed=True,
        generations=(generation, Generation(2, "b")), context=31_000, window=1_000_000, window_source="reported",
        cost_usd=2.25, num_turns=50, text="Done.", error=None, errors=("交接降级(no answer)",), started_at=TIME,
        ended_at=TIME, duration_s=12.5,
    )  # fmt: skip
    document = DocumentState(
        path="notes/交接-work.md", revision="0123456789ab", complete=False, missing=("next",), degraded=True,
        edited=True, sections={"doing": 12}, written_at=TIME,
    )  # fmt: skip
    return LiveStep(
        step="论文", state=State.EDITING, row=row, max_generations=8, at=950_000, warn_at=930_000,
        context_estimated=True, document=document, held_since=TIME, supervisor=Supervisor(1, "host", TIME),
        updated_at=TIME,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "keys"),
    [(StepResult, ROW_KEYS), (Generation, GENERATION_KEYS), (DocumentState, DOCUMENT_KEYS), (LiveStep, LIVE_KEYS)],
)
def test_the_keys_are_those_of_the_format(shape: Any, keys: list[str]) -> None:
    assert sorted(field.name for field in dataclasses.fields(shape)) == sorted(keys)


@pytest.mark.parametrize("live", [filled(), LiveStep("work", State.IDLE, StepResult("r", "work"))], ids=["all", "none"])
def test_a_live_state_comes_back_from_json_as_it_was(live: LiveStep) -> None:
    plain = json.loads(json.dumps(as_json(live), ensure_ascii=False))
    assert TypeAdapter(LiveStep).validate_python(plain) == live
    assert plain["v"] == 1
    assert plain["row"] == json.loads(json.dumps(as_json(live.row)))


@pytest.mark.parametrize("where", [[], ["row"], ["row", "generations", 0], ["document"], ["supervisor"]], ids=str)
def test_a_key_that_is_none_of_ours_is_refused_where_the_books_are_read(where: list[str | int]) -> None:
    plain = json.loads(json.dumps(as_json(filled())))
    part = plain
    for key in where:
        part = part[key]
    part["surprise"] = 1
    with pytest.raises(ValidationError, match="surprise"):
        TypeAdapter(LiveStep).validate_python(plain)


def test_an_unknown_cost_is_null_and_not_nothing() -> None:
    assert as_json(StepResult("r", "work"))["cost_usd"] is None
    assert as_json(Generation(1, "a"))["cost_usd"] is None


def test_a_row_begins_with_nothing_done() -> None:
    row = as_json(StepResult("r", "work"))
    assert row == {
        **dict.fromkeys(ROW_KEYS), "run": "r", "step": "work", "ok": False, "state": "idle", "retired": (),
        "attempts": 1, "resumed": False, "generations": (), "context": 0, "window": 0, "window_source": "guessed",
        "num_turns": 0, "text": "", "errors": (),
    }  # fmt: skip
    assert as_json(Generation(1, "a")) == {
        **dict.fromkeys(GENERATION_KEYS), "n": 1, "session_id": "a", "context": 0, "num_turns": 0, "edited": False,
        "sections_edited": (),
    }  # fmt: skip


def test_done_failed_and_stopped_are_ends_and_no_other_state_is() -> None:
    assert {state for state in State if state.ended} == {State.DONE, State.FAILED, State.STOPPED}
    assert [str(state) for state in State] == [
        "idle", "working", "draining", "writing", "editing", "held", "launching", "waiting", "done", "failed",
        "stopped", "lost",
    ]  # fmt: skip
    assert [str(writer) for writer in WrittenBy] == ["session", "rewound", "draft", "code", "predecessor"]


def test_a_change_of_the_living_generation_leaves_the_ones_before_alone() -> None:
    row = filled().row
    changed = row.with_generation(context=7, frozen="x")
    assert changed.generations[0] == row.generations[0]
    assert changed.generation == Generation(2, "b", context=7, frozen="x")
    assert row.generation == Generation(2, "b")
    assert StepResult("r", "work").generation is None


def test_errors_are_added_at_the_end() -> None:
    row = StepResult("r", "work").with_error("one").with_error("two")
    assert row.errors == ("one", "two")


def test_a_time_is_utc_with_microseconds_and_a_z() -> None:
    moment = datetime(2026, 11, 29, 16, 5, 12, 123456, tzinfo=UTC).timestamp()
    assert iso(moment) == TIME
    assert iso(0) == "1970-01-01T00:00:00.000000Z"
    assert seconds("2026-11-29T17:05:12.123456+01:00") == moment
    with pytest.raises(ValueError, match="Invalid isoformat"):
        seconds("yesterday")


@given(st.integers(0, 4_000_000_000_000_000))
def test_a_time_comes_back_to_the_microsecond_and_sorts_as_text(microseconds: int) -> None:
    moment = microseconds / 1e6
    assert abs(seconds(iso(moment)) - moment) < 1e-6
    assert iso(moment) <= iso(moment + 1)


@pytest.mark.parametrize("value", [filled(), filled().row, Generation(1, "a"), Supervisor(1, "h", TIME)])
def test_a_value_of_the_books_cannot_be_changed(value: Any) -> None:
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "other")
    assert not hasattr(value, "__dict__")
