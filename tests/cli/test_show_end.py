"""Drawing the end of a run, and the log of a live terminal: what was edited, degraded or rewound, and what is cut."""

from __future__ import annotations

from dataclasses import replace
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
        ({"written_by": WrittenBy.BEFORE, "why": "too long"}, ["    handed on too long"]),
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
        f"    document  b1{', edited by a person' * bool(generation.get('edited'))}",
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


@pytest.mark.parametrize("words", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_below_refused_tools_stands_what_would_allow_them_and_not_a_mode_that_is_on(words: Words) -> None:
    row, refused = StepResult("r", "work", ok=True, state=State.DONE), ("Write: /p/notes.md", "Bash: cat /p/notes.md")
    end = End(Path("/r/m"), "flower", denied=refused, workspace=Path("/p"))

    usual = last_lines(words, row, end)
    allowing = last_lines(words, row, replace(end, permission_mode="acceptEdits"))
    nothing = last_lines(words, row, replace(end, denied=()))

    assert [line.strip().partition("  ")[2].strip() for line in usual if "notes.md" in line] == [
        "Write: notes.md", "Bash: cat /p/notes.md",
    ]  # fmt: skip
    assert sum("acceptEdits" in line for line in usual) == 1
    assert sum("allow" in line for line in allowing) == 1
    assert not any("acceptEdits" in line for line in allowing)
    assert not any("allow" in line for line in nothing)


def test_paths_in_the_workspace_are_told_from_there() -> None:
    log = Log(ENGLISH, Facts("work", workspace=Path("/home/ann/proj")))

    told = [
        log.lines(Event("tool", text), 1)[0]
        for text in ("Read: /home/ann/proj/src/a.py", "Read: /home/ann/project/a.py", "Bash: cat /home/ann/proj/a.py")
    ]
    refused = log.lines(Event("permission", "Write: /home/ann/proj/b.md", {"tool": "Write"}), 1)

    assert told == [
        "  · Read: src/a.py", "  · Read: /home/ann/project/a.py", "  · Bash: cat /home/ann/proj/a.py",
    ]  # fmt: skip
    assert refused == ["! Write: b.md: refused, nobody is here to allow it"]


def test_an_estimate_with_which_a_session_is_resumed_keeps_its_mark_until_the_context_is_reported() -> None:
    log = Log(ENGLISH, Facts("work"))

    log.lines(Event("session", "", {"phase": "resumed", "context": 25_000, "estimated": True}), 1)
    assert log.estimated == {1: True}

    log.lines(Event("context", "", {"context": 26_000, "window": 200_000}), 1)
    assert log.estimated == {1: False}
