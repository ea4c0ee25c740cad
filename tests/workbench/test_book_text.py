"""The books as text: the same as if every entry were masked and written anew, and no slower with a thousand of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from flower_mcp.core.books import Generation, LiveStep, State, StepResult, as_json
from flower_mcp.workbench import book_text
from flower_mcp.workbench.book_text import text_of
from flower_mcp.workbench.json_files import dump, dump_masked, masked

ODD = '"generations": []'
ROW = StepResult(
    "run-1",
    "work",
    text=ODD,
    error="key sk-ant-api03-" + "a1B2" * 24,
    errors=(ODD, "lone \ud800"),
    retired=("first",),
    generations=(
        Generation(1, "first", frozen="0a1b2c3d4e5f", sections_edited=("next",), why="key sk-ant-api03-" + "c3D4" * 24),
        Generation(2, "second", why=f"{ODD} \ud800 墙"),
    ),
)


@pytest.mark.parametrize(
    "value",
    [ROW, replace(ROW, generations=()), LiveStep("work", State.WORKING, ROW)],
    ids=["a row", "a row without sessions", "a live state"],
)
def test_the_text_says_what_the_value_says_without_its_secrets(value: StepResult | LiveStep) -> None:
    text = text_of(value)
    assert json.loads(text) == json.loads(json.dumps(masked(as_json(value))))
    assert "sk-ant" not in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "text",
    ["plain", "task-1", "sk-" + "ant-api03-" + "A1b2C3d4E5f6G7h8I9j0", '"\\\n', "墙 \ud800", "密码: hunter2hunter2"],
)
def test_one_look_at_the_whole_masks_what_masking_each_text_masks(text: str) -> None:
    value = {"step": text, "text": text, "inner": [{"error": text}, 1, None, True]}
    assert dump_masked(value) == dump(masked(value))


def test_an_entry_that_stays_as_it_is_is_masked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def counted(value: object) -> str:
        seen.append(value)
        return dump_masked(value)

    monkeypatch.setattr(book_text, "dump_masked", counted)
    entries = tuple(Generation(number, f"{number} of this test") for number in range(1, 1_001))
    row = replace(ROW, generations=entries)
    text_of(row)
    assert len(seen) == 1_001
    text_of(row.with_generation(context=7))
    assert len(seen) == 1_003  # the row, and its last entry
