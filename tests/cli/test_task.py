"""Where a task comes from, and what is no task."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from flower_mcp.cli.task import is_left, task_asked_for, task_from
from flower_mcp.core.books import LiveStep, State, StepResult
from flower_mcp.core.errors import Usage
from flower_mcp.workbench.ledger import Lineage
from flower_mcp.workbench.workbench import Workbench

COMMANDS = ("run", "demo", "status")


def test_a_sentence_is_a_task() -> None:
    assert task_from(["Fix the tests."], short=True, commands=COMMANDS) == "Fix the tests."


def test_a_single_word_that_is_not_ascii_is_a_task() -> None:
    assert task_from(["修复测试"], short=True, commands=COMMANDS) == "修复测试"


def test_no_word_is_no_task() -> None:
    assert task_from([], short=True, commands=COMMANDS) is None


def test_a_single_word_is_a_task_only_in_the_long_form() -> None:
    assert task_from(["stauts"], short=False, commands=COMMANDS) == "stauts"
    with pytest.raises(Usage) as refused:
        task_from(["stauts"], short=True, commands=COMMANDS)
    assert str(refused.value) == "no command `stauts`; did you mean `status`? As a task: flower run stauts"


def test_a_word_like_no_command_gets_no_guess() -> None:
    with pytest.raises(Usage) as refused:
        task_from(["x;y"], short=True, commands=COMMANDS)
    assert str(refused.value) == "no command `x;y`. As a task: flower run 'x;y'"


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("words", [["fix", "the", "tests"], [""], ["  \n"]])
def test_several_words_and_an_empty_text_are_refused(words: list[str], short: bool) -> None:
    with pytest.raises(Usage):
        task_from(words, short=short, commands=COMMANDS)


def test_a_command_after_options_is_explained() -> None:
    with pytest.raises(Usage, match="flower run"):
        task_from(["run", "x"], short=True, commands=COMMANDS)


@pytest.mark.parametrize(
    "data", ["做这个\n".encode(), "\ufeff做这个\n".encode("utf-16-le"), "做这个\n".encode("gb18030")]
)
def test_stdin_is_read_in_the_encoding_that_it_has(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    assert task_from(["-"], short=True, commands=COMMANDS) == "做这个\n"


def test_an_empty_stdin_is_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n")))

    with pytest.raises(Usage, match="empty"):
        task_from(["-"], short=True, commands=COMMANDS)


def test_nobody_is_asked_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Do it.\n")))
    asked: list[str] = []

    with pytest.raises(Usage, match="no task"):
        task_asked_for(lambda: asked.append("asked"))
    assert asked == []


@pytest.mark.parametrize(
    ("state", "left"), [(State.DONE, False), (State.STOPPED, True), (State.FAILED, True), (State.WORKING, True)]
)
def test_a_step_that_did_not_finish_is_left(tmp_path: Path, state: State, left: bool) -> None:
    Workbench(tmp_path).lives.write(LiveStep("work", state, StepResult("r1", "work", state=state)))

    assert is_left(tmp_path, tmp_path / "runs", "work", print) is left


def test_a_lineage_counts_when_it_speaks_of_this_workspace(tmp_path: Path) -> None:
    Lineage(tmp_path / "runs", str(tmp_path)).remember("work", "s1")

    assert is_left(tmp_path, tmp_path / "runs", "work", print)
    assert not is_left(tmp_path, tmp_path / "runs", "other", print)
    (tmp_path / "elsewhere").mkdir()
    assert not is_left(tmp_path / "elsewhere", tmp_path / "runs", "work", print)


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    assert not is_left(workspace, workspace / "runs", "work", print)
    assert list(workspace.iterdir()) == []
