"""`flower say`, `stop` and `handoff` from another terminal, and what Ctrl-C offers in the run's own."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from flower_mcp import Workbench
from flower_mcp.cli import saying
from flower_mcp.cli.commands import answer
from flower_mcp.cli.keys import Keys
from flower_mcp.cli.output import Output
from flower_mcp.cli.saying import Offer
from flower_mcp.cli.words import Words
from flower_mcp.core.books import State
from flower_mcp.demo.model import ScriptedModel, Story, text
from tests.cli.processes import FLOWER, flower, flower_at_terminal
from tests.cli.steps import begun
from tests.e2e.harness import MODEL, marked, wait_until
from tests.e2e.steps import bash

TASK = "Port the test suite to pytest."
BYPASS = ["--model", MODEL, "--permission-mode", "bypassPermissions"]


@pytest.fixture
def busy(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    """Two steps that run, as far as their locks tell, and one that does not."""
    monkeypatch.chdir(workspace)
    workbench = begun(workspace, "docs", state=State.WORKING)
    begun(workspace, "code", state=State.EDITING)
    begun(workspace, "done")
    locks = [workbench.lives.run_lock(step) for step in ("docs", "code")]
    assert all(lock.acquire() for lock in locks)
    yield workbench
    for lock in locks:
        lock.release()


def messages(workbench: Workbench, step: str) -> list[tuple[str, str]]:
    return [(str(one.message.kind), one.message.text) for one in workbench.lives.waiting(step)]


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (["say"], 2, ["Say what?", "flower say 'TEXT'"]),
        (["say", "Use", "tabs", "now"], 2, ["A text is one argument", "flower say 'Use tabs now'"]),
        (["say", "use", "tabs"], 2, ["There is no step 'use'", "flower say 'use tabs'"]),
        (["say", "docs"], 2, ["'docs' is a step", "flower say docs 'TEXT'", "flower say STEP docs"]),
        (["say", "Use tabs."], 2, ["2 steps run", "flower say STEP"]),
        (["say", "docs", "  "], 2, ["The text is empty."]),
        (["say", "done", "Use tabs."], 5, ["'done' does not run", "flower run --step done 'Use tabs.'"]),
        (["stop", "done"], 5, ["'done' does not run"]),
        (["handoff", "nowhere"], 5, ["There is no step 'nowhere'"]),
    ],
    ids=lambda value: "-".join(value)[:30].replace(" ", "_") if isinstance(value, list) else None,
)
def test_what_cannot_be_said_is_told_in_a_sentence_and_leaves_nothing(
    arguments: list[str], code: int, parts: list[str], busy: Workbench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(arguments) == code
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert all(part in told for part in parts), told
    assert messages(busy, "docs") == messages(busy, "code") == messages(busy, "done") == []


def test_what_is_said_lies_in_the_inbox_of_the_step_that_is_named(
    busy: Workbench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(["say", "docs", "docs"]) == 0
    assert answer(["say", "code", "Use tabs."]) == 0
    monkeypatch.setenv("FLOWER_STEP", "docs")
    assert answer(["say", "faster"]) == 0
    assert answer(["handoff"]) == 0
    assert messages(busy, "docs") == [("say", "docs"), ("say", "faster"), ("handoff", "")]
    assert messages(busy, "code") == [("say", "Use tabs.")]
    shown = capsys.readouterr().out
    assert "docs: said; its session is told with its next request" in shown
    assert "code: said; a handoff is under way" in shown


@pytest.mark.e2e
def test_ctrl_c_offers_to_say_something_and_another_terminal_says_and_stops(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    def step(name: str) -> str:
        return f"touch {name}; for i in $(seq 300); do [ -e {name}-ends ] && break; sleep 0.1; done; touch {name}-ended"

    model.script = Story([bash(step("one")), bash(step("two")), text("Not reached.")])
    with flower_at_terminal(*BYPASS, TASK, cwd=workspace, environment=environment) as terminal:
        wait_until((workspace / "one").exists, 30)
        terminal.type("\x03")
        terminal.wait_for("q or Ctrl-C again stops")
        terminal.type("\n")
        terminal.wait_for("going on")
        terminal.type("\x03")
        terminal.wait_for("q or Ctrl-C again stops", times=2)
        terminal.type("用空格\n")
        terminal.wait_for("said; the session is told")
        said = flower("say", "-", cwd=workspace, environment=environment, given="Use tabs,\nnot spaces.\n")
        assert said.code == 0, said
        again = flower(*BYPASS, "Another task.", cwd=workspace, environment=environment)
        assert (again.code, "pid " in again.err, "since" in again.err) == (3, True, True), again
        (workspace / "one-ends").touch()
        wait_until((workspace / "two").exists, 30)
        stop = subprocess.Popen([*FLOWER, "stop"], cwd=workspace, env=environment, stdout=subprocess.PIPE, text=True)
        assert stop.stdout is not None
        assert "asked to stop" in stop.stdout.readline()
        (workspace / "two-ends").touch()
        assert "work: stopped" in stop.communicate(timeout=30)[0]
        assert stop.returncode == 0
        code = terminal.end()
    assert code == 1, terminal.shown
    assert (workspace / "two-ended").exists()
    told = model.requests[-1].all_text()
    assert (told.count("用空格"), told.count("Use tabs,\nnot spaces.")) == (1, 1)
    words = (workspace / ".flower" / "notes" / "任务-work.md").read_text(encoding="utf-8")
    assert "· interrupt\n\n用空格" in words
    assert "· say\n\nUse tabs,\nnot spaces.\n" in words
    assert "go on     flower" in terminal.shown


@pytest.mark.e2e
@pytest.mark.parametrize(("is_closed", "code"), [(False, 143), (True, 129)], ids=["TERM", "terminal closed"])
def test_a_signal_stops_in_order_also_while_ctrl_c_offers(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], is_closed: bool, code: int
) -> None:
    model.script = Story([bash("touch begun; sleep 1; touch ended"), text("Not reached.")])
    with flower_at_terminal(*BYPASS, TASK, cwd=workspace, environment=environment) as terminal:
        wait_until((workspace / "begun").exists, 30)
        terminal.type("\x03")
        terminal.wait_for("q or Ctrl-C again stops")
        if is_closed:
            terminal.hang_up()
        else:
            terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == code, terminal.shown
    assert (workspace / "ended").exists()
    (row,) = json.loads((workspace / "runs" / "manifest.json").read_text())
    assert row["state"] == "stopped"
    assert "Run flower again" in row["error"]
    assert marked(f"FLOWER_RUN={row['run']}") == []


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Offer, list[str], Callable[[str], object]]]:
    """An offer at a terminal, what came of it, and how to type there."""
    monkeypatch.setattr(saying, "PATIENCE", 0.3)
    ours, theirs = pty.openpty()
    done: list[str] = []
    offer = Offer(Output(), Words(), Keys(theirs), theirs, say=done.append, stop=lambda: done.append("STOP"))
    yield offer, done, lambda typed: os.write(ours, typed.encode())
    os.close(ours)
    os.close(theirs)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("typed", "came"),
    [
        ([], ["STOP"]),
        (["q\n"], ["STOP"]),
        (["  \n"], []),
        (["half of it", ", and after a long thought the rest\n"], ["half of it, and after a long thought the rest"]),
        (["half of it"], ["STOP"]),
    ],
    ids=["nobody", "q", "Enter", "slowly", "left midway"],
)
async def test_the_offer_waits_for_whoever_types_and_for_nobody_else(
    typed: list[str], came: list[str], offered: tuple[Offer, list[str], Callable[[str], object]]
) -> None:
    offer, done, type_in = offered
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            assert offer.begin(tasks)
            assert not offer.begin(tasks)
            for piece in typed:
                await anyio.sleep(0.2)  # shorter than the patience, and together longer: the time is what is tested
                type_in(piece)
    assert done == came
