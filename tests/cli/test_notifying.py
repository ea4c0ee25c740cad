"""Calling the person: the bell at a terminal, or a command, which may fail or hang and disturbs nothing."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from flower_mcp import Workbench
from flower_mcp.cli import notifying
from flower_mcp.cli.notifying import Notifier, calls
from flower_mcp.cli.output import Output
from flower_mcp.cli.words import Words
from flower_mcp.core.events import Event
from flower_mcp.demo.model import ScriptedModel, Story, text
from tests.cli.processes import flower, flower_at_terminal
from tests.cli.steps import two_sessions
from tests.cli.test_holding import is_held, running
from tests.e2e.harness import MODEL, marked, wait_until
from tests.e2e.steps import bash

TASK = "Port the test suite to pytest."
USUAL = ["--model", MODEL, "--permission-mode", "bypassPermissions"]
DONE = Event("result", "", {"state": "done"})


def noting(folder: Path) -> str:
    """A command that appends what it is given to a file, one JSON line each."""
    file = folder / "a notifier.py"
    file.write_text(
        "import json, sys\nline = json.loads(sys.stdin.read())\n"
        "with open(sys.argv[2], 'a') as file: file.write(json.dumps([sys.argv[1], line]) + '\\n')\n"
    )
    return shlex.join([sys.executable, str(file), "$HOME; an argument", str(folder / "noted")])


def noted(folder: Path) -> list[dict[str, Any]]:
    """The events that the command was given; each with the argument that no shell has read."""
    pairs = [json.loads(line) for line in (folder / "noted").read_text().splitlines()]
    assert {argument for argument, _ in pairs} == {"$HOME; an argument"}
    return [line for _, line in pairs]


@pytest.mark.e2e
def test_the_command_gets_the_events_line_when_held_and_when_done(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    two_sessions(model)
    with running("--review", "--notify", noting(tmp_path), workspace=workspace, environment=environment) as process:
        wait_until(lambda: is_held(workspace) and (tmp_path / "noted").exists(), 60)
        flower("release", cwd=workspace, environment=environment)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 0, (out, err)
    held, done = noted(tmp_path)
    assert (held["kind"], held["phase"], held["by"], held["step"]) == ("edit", "held", "--review", "work")
    assert (done["kind"], done["state"], done["v"]) == ("result", "done", 1)
    assert done["run"] == held["run"]


@pytest.mark.e2e
def test_the_bell_rings_when_a_permission_is_asked_and_when_it_is_over(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = Story([bash("touch made"), text("Done.")])

    with flower_at_terminal("--model", MODEL, TASK, cwd=workspace, environment=environment) as terminal:
        terminal.wait_for("allow it?")
        rung = terminal.shown.count("\x07")
        terminal.type("n\n")
        code = terminal.end()

    assert code == 0
    assert rung == 1
    assert terminal.shown.count("\x07") == 2


@pytest.mark.e2e
def test_a_command_takes_the_bells_place_and_hears_of_a_permission(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    model.script = Story([bash("touch made"), text("Done.")])
    variables = {**environment, "FLOWER_NOTIFY": noting(tmp_path)}

    with flower_at_terminal("--model", MODEL, TASK, cwd=workspace, environment=variables) as terminal:
        terminal.wait_for("allow it?")
        terminal.type("n\n")
        code = terminal.end()

    assert code == 0, terminal.shown
    assert "\x07" not in terminal.shown
    assert [event["kind"] for event in noted(tmp_path)] == ["permission", "result"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("command", "why"), [(("no-such-command", "-x"), "No such file"), (("false",), "ended with exit code 1")]
)
async def test_a_command_that_fails_is_said_once(
    command: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with anyio.create_task_group() as tasks:
        notifier = Notifier(command, Output(), Words(), tasks)
        for _ in range(3):
            notifier.take(DONE, {"kind": "result"})
        await notifier.finish()

    out = capsys.readouterr().out
    assert out.count(f"! {command[0]}: {why}") == 1
    assert out.count(f"! {command[0]}") == 1
    assert "the run goes on" in out


@pytest.mark.e2e
def test_a_run_whose_command_fails_goes_on_and_says_so_once(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    two_sessions(model)
    with running("--review", "--notify", "false", workspace=workspace, environment=environment) as process:
        wait_until(lambda: is_held(workspace), 60)
        Workbench(workspace).holds.release("work")
        out, err = process.communicate(timeout=60)

    assert process.returncode == 0, (out, err)
    assert out.count("! false: ended with exit code 1") == 1
    assert out.count("! false") == 1
    assert "the run goes on" in out


@pytest.mark.anyio
async def test_a_command_that_hangs_is_ended_with_all_it_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(notifying, "LIMIT", 0.5)
    monkeypatch.setenv("FLOWER_TEST_MARK", str(tmp_path))
    command = ("sh", "-c", "sleep 100 & sleep 100")
    began = time.monotonic()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            notifier = Notifier(command, Output(), Words(), tasks)
            notifier.take(DONE, {"kind": "result"})
            notifier.take(DONE, {"kind": "result"})
            await anyio.sleep(0)
            assert time.monotonic() - began < 0.4
            await notifier.finish()

    assert time.monotonic() - began < 5
    wait_until(lambda: marked(f"FLOWER_TEST_MARK={tmp_path}") == [])
    assert capsys.readouterr().out == "! sh: took longer than 0.5 s and was ended; the run goes on\n"


@pytest.mark.anyio
async def test_a_command_that_reads_nothing_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    async with anyio.create_task_group() as tasks:
        notifier = Notifier(("sh", "-c", "exec <&-; sleep 0.3"), Output(), Words(), tasks)
        notifier.take(DONE, {"text": "x" * 1_000_000})
        await notifier.finish()

    assert capsys.readouterr().out == ""


@pytest.mark.e2e
def test_no_file_of_the_workspace_names_a_command(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    program = workspace / "notify"
    program.write_text("#!/bin/sh\ntouch called\n")
    program.chmod(0o755)
    (workspace / ".env").write_text(f"FLOWER_NOTIFY={program}\n")
    for folder in (".claude", ".flower", "runs"):
        (workspace / folder).mkdir()
        (workspace / folder / "settings.json").write_text(json.dumps({"env": {"FLOWER_NOTIFY": str(program)}}))
    (workspace / "flower.toml").write_text(f'notify = "{program}"\n')

    done = flower(*USUAL, TASK, cwd=workspace, environment=environment)

    assert done.code == 0, done
    assert not (workspace / "called").exists()


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Event("edit", "", {"phase": "held"}), True),
        (Event("edit", "", {"phase": "open"}), False),
        (Event("permission", "", {"asked": True}), True),
        (Event("permission", "", {"asked": False}), False),
        (Event("result", "", {"state": "done"}), True),
        (Event("result", "", {"state": "failed"}), True),
        (Event("result", "", {"state": "stopped"}), True),
        (Event("text", "hello"), False),
    ],
)
def test_the_person_is_called_for_these_events(event: Event, expected: bool) -> None:
    assert calls(event) is expected
