"""What we wrote is read back without pydantic, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from flower_mcp.core.books import Generation, LiveStep, State, StepResult, as_json
from flower_mcp.core.exact import exact
from tests.core.test_books import filled

READER = TypeAdapter(LiveStep)
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, 1.5, -1, 10**400, "", "1", "working", "1.5", [], ["a"], {}, {"a": 1}, [{}], "\ud83d", "论\x00文"]
)


def data_of(value: Any) -> bytes:
    return json.dumps(value).encode()


@given(st.builds(LiveStep, st.text(), st.sampled_from(State), st.just(filled().row)) | st.just(filled()))
def test_what_was_written_is_read_back(live: LiveStep) -> None:
    data = json.dumps(as_json(live), ensure_ascii=False).encode()

    assert exact(LiveStep, data) == live or b"\\ud" in data.lower()


def test_a_whole_state_and_a_bare_one_are_exact() -> None:
    for live in (filled(), LiveStep("work", State.IDLE, StepResult("r", "work"))):
        assert exact(LiveStep, data_of(as_json(live))) == live == READER.validate_json(data_of(as_json(live)))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a JSON value, with each of its keys."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in list(inner) for place in ((value, key), *places(each))]


@given(st.data())
def test_what_is_taken_of_a_damaged_state_is_what_pydantic_takes(data: st.DataObject) -> None:
    value = json.loads(data_of(as_json(filled())))
    holder, key = data.draw(st.sampled_from(range(len(places(value)))).map(lambda at: places(value)[at]))
    act = data.draw(st.sampled_from(["remove", "add", "put"]))
    if act == "remove":
        del holder[key]
    elif act == "add" and isinstance(holder, dict):
        holder["unknown"] = data.draw(ODD)
    else:
        holder[key] = data.draw(ODD)
    found = exact(LiveStep, data_of(value))
    try:
        judged = READER.validate_json(data_of(value))
    except ValidationError:
        judged = None

    assert found is None or found == judged


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"null", b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b"[" * 100_000, b'{"n": 1}'],
    ids=["none", "open", "list", "null", "utf-16", "bom", "deep", "too little"],
)
def test_what_is_no_value_of_ours_is_not_taken(text: bytes) -> None:
    assert exact(Generation, text) is None


def test_half_a_character_is_for_pydantic_to_judge() -> None:
    assert exact(Generation, b'{"n": 1, "session_id": "\\ud83d"}') is None
    assert exact(Generation, '{"n": 1, "session_id": "😀\\n"}'.encode()) == Generation(1, "😀\n")


@dataclass(frozen=True, slots=True)
class New:
    """An annotation that the reader does not know."""

    either: int | str


def test_an_annotation_that_is_new_is_taken_by_nobody() -> None:
    assert exact(New, b'{"either": 1}') is None
