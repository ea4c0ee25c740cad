"""`flower` at a terminal: questions, Ctrl-C, and the task asked for. Real pseudo-terminal, CLI and signals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flower_mcp.demo.model import Request, ScriptedModel, Story, text, tool
from tests.cli.processes import flower_at_terminal
from tests.e2e.harness import MODEL, marked, wait_until
from tests.e2e.steps import bash

pytestmark = pytest.mark.e2e

TASK = "Port the test suite to pytest."
USUAL = ["--model", MODEL]
BYPASS = [*USUAL, "--permission-mode", "bypassPermissions"]
QUESTION: dict[str, Any] = {
    "questions": [
        {
            "question": "Which runner?",
            "header": "Runner",
            "options": [{"label": "pytest", "description": "usual"}, {"label": "nose", "description": "old"}],
            "multiSelect": False,
        }
    ]
}


def test_yes_lets_a_tool_run_and_no_does_not(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = Story([bash("touch first"), bash("touch second"), text("Done.")])

    with flower_at_terminal(*USUAL, TASK, cwd=workspace, environment=environment) as terminal:
        terminal.wait_for("allow it?")
        terminal.type("y\n")
        terminal.wait_for("allow it?", times=2)
        terminal.type("n\n")
        code = terminal.end()

    assert code == 0, terminal.shown
    assert "you are asked here" in terminal.shown
    assert (workspace / "first").exists()
    assert not (workspace / "second").exists()


def test_always_asks_for_a_tool_only_once(model: ScriptedModel, workspace: Path, environment: dict[str, str]) -> None:
    model.script = Story([bash("touch first"), bash("touch second"), text("Done.")])

    with flower_at_terminal(*USUAL, TASK, cwd=workspace, environment=environment) as terminal:
        terminal.wait_for("allow it?")
        terminal.type("a\n")
        code = terminal.end()

    assert code == 0, terminal.shown
    assert terminal.shown.count("allow it?") == 1
    assert (workspace / "second").exists()


def test_a_question_of_the_models_is_shown_and_its_answer_reaches_it(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = Story([tool("AskUserQuestion", **QUESTION), text("Done.")])

    with flower_at_terminal(*BYPASS, TASK, cwd=workspace, environment=environment) as terminal:
        terminal.wait_for("an answer of your own: ")
        terminal.type("1\n")
        code = terminal.end()

    assert code == 0, terminal.shown
    assert "  2  nose: old" in terminal.shown

    def is_told(request: Request) -> bool:
        return any("pytest" in words and "Which runner?" in words for words in map(str, request.messages[-1:]))

    assert is_told(model.requests[-1])


def test_ctrl_c_lets_the_batch_end_and_keeps_the_books(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = Story([bash("touch begun; sleep 2; touch ended"), text("Not reached.")])

    with flower_at_terminal(*BYPASS, TASK, cwd=workspace, environment=environment) as terminal:
        wait_until((workspace / "begun").exists, 60)
        terminal.type("\x03")
        terminal.wait_for("q or Ctrl-C again stops")
        terminal.type("\x03")
        code = terminal.end()

    assert code == 130, terminal.shown
    assert (workspace / "ended").exists()
    assert "Traceback" not in terminal.shown
    assert "go on     flower" in terminal.shown
    (row,) = json.loads((workspace / "runs" / "manifest.json").read_text())
    assert row["state"] == "stopped"
    assert marked(f"FLOWER_RUN={row['run']}") == []


def test_ctrl_c_at_a_question_ends_the_question(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = Story([bash("touch made")], then=text("Not reached."))

    with flower_at_terminal(*USUAL, TASK, cwd=workspace, environment=environment) as terminal:
        terminal.wait_for("allow it?")
        terminal.type("\x03")
        code = terminal.end(limit=9)

    assert code == 130, terminal.shown
    assert not (workspace / "made").exists()


def test_the_task_is_asked_for(model: ScriptedModel, workspace: Path, environment: dict[str, str]) -> None:
    with flower_at_terminal(*BYPASS, cwd=workspace, environment=environment) as terminal:
        terminal.wait_for("What is the task? ")
        terminal.type(f"{TASK}\n")
        code = terminal.end()

    assert code == 0, terminal.shown
    assert any(TASK in request.last_text() for request in model.requests)


@pytest.mark.parametrize(("typed", "expected"), [("\n", 2), ("\x04", 2), ("\x03", 130)])
def test_no_answer_to_that_starts_nothing(
    typed: str, expected: int, workspace: Path, environment: dict[str, str]
) -> None:
    with flower_at_terminal(*BYPASS, cwd=workspace, environment=environment) as terminal:
        terminal.wait_for("What is the task? ")
        terminal.type(typed)
        code = terminal.end()

    assert code == expected, terminal.shown
    assert "Traceback" not in terminal.shown
    assert not (workspace / ".flower").exists()
