"""Whole runs in a real terminal: what a person sees while they run, and that nothing of it is left behind."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from flower_mcp.demo.model import ScriptedModel, Story, text
from tests.cli.processes import FLOWER, flower_at_terminal
from tests.cli.screens import screen
from tests.cli.steps import two_sessions
from tests.e2e.harness import MODEL, wait_until
from tests.e2e.steps import bash

pytestmark = pytest.mark.e2e

Frame = tuple[str, ...]

TASK = "Port the test suite to pytest."
USUAL = ["--model", MODEL, "--permission-mode", "bypassPermissions"]
STARTED = "PROMPT-"
SHELL = f"PS1={STARTED} HISTFILE= exec bash --norc -i"


def rules(frame: Frame) -> list[int]:
    """The rows of a frame that are the area's upper edge."""
    return [number for number, line in enumerate(frame) if line and not line.strip("─")]


def has(*words: str) -> Callable[[Frame], bool]:
    """Whether a frame has an area with all these words in it."""

    def is_there(frame: Frame) -> bool:
        edges = rules(frame)
        return len(edges) == 1 and all(word in "\n".join(frame[edges[0] :]) for word in words)

    return is_there


def left_behind(lines: list[str]) -> list[str]:
    """The lines that only an area has."""
    return [line for line in lines if re.search("──|[█░]{3}|turns \\d|轮数 ", line)]


def test_a_whole_demo_at_80_by_24_with_a_stop_in_between(tmp_path: Path, environment: dict[str, str]) -> None:
    command = shlex.join([*FLOWER, "demo", "--keep", str(tmp_path / "kept")])

    with screen(tmp_path, environment) as shown:
        shown.begin(SHELL, tmp_path, 80, 24)
        shown.wait_for(STARTED)
        shown.type(command, "Enter")
        frame = shown.wait_for(has("work  session 1  working", "Bash: "))
        area = frame[rules(frame)[0] :]
        assert area[0] == "─" * 79
        assert re.fullmatch(r"work  session 1  working +turns \d+  \d+s", area[1])
        assert len(area[1]) == 79
        assert re.search(r"^[█│]+[░│]+ \d+\.0K/200K  warns at 130\.0K, handoff at 150\.0K$", area[2])
        assert area[3].startswith("Bash: ")

        shown.type("C-z")
        frame = shown.wait_for("Stopped")
        assert rules(frame) == []
        assert left_behind(list(frame)) == []
        shown.type("fg", "Enter")
        shown.wait_for(has("work  session 1  "))

        shown.wait_for(has("work  session 1  writing handoff", "K/200K"))
        shown.wait_for(has("edit window", "交接-work.md", " s  h holds, e edits, Enter launches, q stops"))
        shown.type("h")
        shown.wait_for(has("session 1  held", "held  Enter launches, e edits, q stops"))
        shown.type("Enter")
        shown.wait_for(has("work  session 2  working", "$0.20+"))
        shown.wait_for("the folder is kept")
        lines, frames = shown.all_lines(), shown.frames

    assert all(len(rules(frame)) <= 1 for frame in frames)
    assert left_behind(lines) == []
    log = "\n".join(lines)
    for once in ("step work: new", "edited by a person: next", "launched as it stands", "done in", "  books  "):
        assert log.count(once) == 1, once
    assert "    edited    next" in lines
    assert "Traceback" not in log


def test_a_whole_demo_at_40_by_12_in_chinese_in_a_window_that_changes_its_size(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    command = shlex.join([*FLOWER, "demo", "--keep", str(tmp_path / "kept")])
    sizes = iter([(60, 20), (44, 12), (60, 16), (44, 14), (40, 12)])
    columns = 40

    def is_drawn(frame: Frame) -> bool:
        return len(rules(frame)) == 1 and len(frame[rules(frame)[0]]) == columns - 1

    with screen(tmp_path, {**environment, "FLOWER_LANG": "zh"}) as shown:
        shown.begin(f"{command}; sleep 60", tmp_path, 40, 12)
        frame = shown.wait_for(has("会话 1  在做"))
        assert frame[rules(frame)[0] + 2].startswith("轮数 ") or "轮数 " in frame[rules(frame)[0] + 1]
        for size in sizes:
            columns = size[0]
            shown.resize(*size)
            frame = shown.wait_for(is_drawn)
            assert all(len(line) < columns for line in frame[rules(frame)[0] :])
        shown.frames.clear()  # until the next drawing a rule that has become too wide is two
        shown.wait_for(has("会话 1  在写交接", "K/200K"))
        frame = shown.wait_for(has("现在可以改", "秒  h 先等着,e 编辑,回车接手,q 停下"))
        assert frame[rules(frame)[0] + 4].startswith("…")
        assert frame[rules(frame)[0] + 4].endswith("交接-work.md")
        shown.wait_for("文件夹留着")
        lines, frames = shown.all_lines(), shown.frames

    assert all(len(rules(frame)) <= 1 for frame in frames)
    assert left_behind(lines) == []
    log = "\n".join(lines)
    for once in ("步骤 work:新开始", "<- 有人改过:next", "做完了,用时"):
        assert log.count(once) == 1, once


def test_the_terminal_is_as_it_was_after_a_question_an_offer_and_a_sigterm(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    model.script = Story([bash("touch begun; sleep 3"), bash("touch on; sleep 30"), text("Not reached.")])
    command = shlex.join([*FLOWER, "--model", MODEL, TASK])

    with screen(tmp_path, environment) as shown:
        shown.begin(SHELL, workspace, 80, 24)
        shown.wait_for(STARTED)
        shown.type(f"{command} & echo $! > pid; fg", "Enter")
        frame = shown.wait_for("allow it?")
        assert rules(frame) == []
        shown.type("a", "Enter")
        shown.wait_for(has("working", "Bash: touch begun; sleep 3"))
        shown.type("C-c")
        frame = shown.wait_for("q or Ctrl-C again stops")
        assert rules(frame) == []
        shown.type("Enter")
        shown.wait_for("going on")
        wait_until((workspace / "on").exists, 30)
        shown.wait_for(has("working", "Bash: touch on; sleep 30"))
        os.kill(int((workspace / "pid").read_text()), signal.SIGTERM)
        shown.wait_for("go on     flower")
        shown.type("stty -a | grep -o ' .\\?echo ' ; echo END", "Enter")
        shown.wait_for(lambda frame: "END" in frame)
        frame = shown.look()

    assert " echo" in frame
    assert left_behind(list(frame)) == []


def test_where_plain_lines_are_wanted_a_whole_run_has_no_control_character(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    two_sessions(model)
    there = {**environment, "TERM": "xterm"}

    with flower_at_terminal(
        *USUAL, "--edit-window", "1", "--plain", TASK, cwd=workspace, environment=there
    ) as terminal:
        code = terminal.end()

    assert code == 0, terminal.shown
    assert "<- a new session takes over" in terminal.shown
    assert [char for char in terminal.shown if not char.isprintable() and char != "\n"] == []
