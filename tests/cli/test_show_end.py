"""Drawing the end of a run, and the log of a live terminal: what was edited, degraded or rewound, and what is cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flower_mcp.cli.show import LONGEST_TEXT, End, Facts, Log, last_lines
from flower_mcp.cli.words import Language, Words
from flower_mcp.core.books import Generation, State, StepResult, WrittenBy
from flower_mcp.core.events import Event

ENGLISH, CHINESE = Words(), Words(Language.CHINESE)


def ended(words: Words = ENGLISH, **generation: Any) -> list[str]:
    """The last lines of a run whose first session left a document."""
    left = Generation(1, "a", context=152_000, cost_usd=0.4, frozen="b1", **generation)
    row = StepResult("r", "work", ok=True, state=State.DONE, generations=(left, Generation(2, "b")))
    return last_lines(words, row, End(Path("/r/m"), "flower", more="flower TASK"))


@pytest.mark.parametrize(
    ("generation", "expected"),
    [
        ({"written_by": WrittenBy.CODE, "why": "it died"}, ["    degraded  it died"]),
        (
            {"written_by": WrittenBy.REWOUND, "why": "too long; rewound by 2 requests"},
            ["    rewound   too long; rewound by 2 requests"],
        ),
        ({"written_by": WrittenBy.SESSION, "edited": True, "sections_edited": ("next",)}, ["    edited    next"]),
        ({"written_by": WrittenBy.DRAFT}, []),
    ],
)
def test_what_is_to_be_known_of_a_document_stands_below_its_session(
    generation: dict[str, Any], expected: list[str]
) -> None:
    lines = ended(**generation)

    begin = next(number for number, line in enumerate(lines) if line.startswith("  session 1  context 152.0K, $0.40"))
    assert lines[begin + 1 :] == [
        *expected,
        "  session 2  context 0.0K, cost unknown, b",
        "  books     /r/m",
        "  more      flower TASK",
    ]


def test_a_run_that_is_done_says_how_to_give_the_step_more_in_chinese_too() -> None:
    assert ended(CHINESE, written_by=WrittenBy.CODE, why="它死了")[-1] == "  再做  flower TASK"
    assert "    降级  它死了" in ended(CHINESE, written_by=WrittenBy.CODE, why="它死了")


def test_on_a_live_terminal_tools_take_one_line_and_long_texts_are_cut_unless_all_is_wanted() -> None:
    def cut(line: str) -> str:
        return line[:10]

    long = "x" * (LONGEST_TEXT + 1)
    log, whole, usual = (
        Log(ENGLISH, Facts("work"), tool_line=cut),
        Log(ENGLISH, Facts("work"), verbose=True, tool_line=cut),
        Log(ENGLISH, Facts("work")),
    )

    assert log.lines(Event("tool", "Bash: pytest"), 1) == ["  · Bash: "]
    assert log.lines(Event("text", long), 1) == ["x" * LONGEST_TEXT + "…"]
    assert log.said == ""  # so the end says all of it
    assert whole.lines(Event("text", long), 1) == usual.lines(Event("text", long), 1) == [long]
    assert usual.said == long
