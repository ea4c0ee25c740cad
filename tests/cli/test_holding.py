"""`flower hold`, `flower release` and --review, from other processes than the run's own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flower_mcp import Workbench
from flower_mcp.cli.choosing import local_time
from flower_mcp.core.books import State
from flower_mcp.demo.model import ScriptedModel, Story, each_session, text
from flower_mcp.server.steps import Steps
from tests.cli.processes import FLOWER, flower
from tests.cli.steps import DOCUMENT, EDITED, NEXT, begun, replacing, scripted_editor, two_sessions, with_editor
from tests.e2e.editing import live, opening_of, replace_words
from tests.e2e.harness import MODEL, wait_until
from tests.e2e.steps import bash, handing_over

TASK = "Port the test suite to pytest."
USUAL = ["--model", MODEL, "--permission-mode", "bypassPermissions"]


@contextmanager
def running(*arguments: str, workspace: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """`flower` with pipes, which is ended in any case."""
    with subprocess.Popen(
        [*FLOWER, *USUAL, *arguments, TASK],
        cwd=workspace,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def is_held(workspace: Path) -> bool:
    """Whether the step waits for somebody to release it."""
    return live(workspace).get("state") == State.HELD


@pytest.mark.e2e
def test_a_step_that_was_held_before_its_window_waits_for_release_and_a_late_edit_is_told(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    work = bash("touch begun; until [ -e go ]; do sleep 0.05; done").at(40_000)
    launched = bash("touch launched; until [ -e edited ]; do sleep 0.05; done; sleep 0.4")
    first = handing_over(work, bash("echo two").at(155_000))
    model.script = each_session(first, Story([launched, bash("echo on"), text("All ported.").at(30_000)]))
    with running("--edit-window", "0", workspace=workspace, environment=environment) as process:
        wait_until((workspace / "begun").exists, 60)
        held = flower("hold", cwd=workspace, environment=environment)
        (workspace / "go").touch()
        wait_until(lambda: is_held(workspace), 60)
        again = flower("hold", "work", cwd=workspace, environment=environment)
        since = live(workspace)["held_since"]
        released = flower("release", cwd=workspace, environment=environment)
        wait_until((workspace / "launched").exists, 60)
        replace_words(Workbench(workspace).documents.path("work"), NEXT, EDITED)
        (workspace / "edited").touch()
        out, err = process.communicate(timeout=60)

    assert held.out == "work is held: its next session waits until flower release work\n"
    assert again.code == 0
    assert again.out.startswith("work is held already, since ")
    assert since is not None
    assert released.code == 0
    assert released.out.splitlines()[0].startswith("work was held since ")
    assert released.out.splitlines()[1] == "work is released: its next session may start"
    assert process.returncode == 0, (out, err)
    assert "; to go on: flower release" in out
    assert "<- released" in out
    assert "<- late edit of next: the session was told" in out


@pytest.mark.e2e
def test_a_review_holds_at_every_handoff_and_the_edit_is_launched(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    two_sessions(model)
    variables = {**environment, "FLOWER_REVIEW": "1", "FLOWER_EDIT_WINDOW": "0"}
    with running(workspace=workspace, environment=variables) as process:
        wait_until(lambda: is_held(workspace), 60)
        edited = flower(
            "edit", cwd=workspace, environment=with_editor(environment, scripted_editor(tmp_path, replacing()))
        )
        flower("release", cwd=workspace, environment=environment)
        out, err = process.communicate(timeout=60)

    assert edited.out == "work: edited; the next session reads it\n"
    assert process.returncode == 0, (out, err)
    assert "<- edit it now if you like\n" in out
    assert "by --review" in out
    (row,) = json.loads((workspace / "runs" / "manifest.json").read_text())
    assert EDITED in opening_of(model, row["session_id"]).all_text()


@pytest.mark.e2e
def test_a_broken_document_is_told_with_its_line_and_launched_as_it_stands(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    two_sessions(model)
    with running("--edit-window", "1", workspace=workspace, environment=environment) as process:
        wait_until(lambda: live(workspace).get("state") == State.EDITING, 60)
        path = Workbench(workspace).documents.path("work")
        path.write_text("<<<<<<< mine\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
        lines: list[str] = []
        assert process.stdout is not None
        while not lines or "as it stands" not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], lines
        released = flower("release", "--as-is", cwd=workspace, environment=environment)
        out, err = process.communicate(timeout=60)

    assert lines[-3:] == [
        "! the document is broken, so the next session waits:\n",
        "  line 1: a conflict mark of git: <<<<<<< mine\n",
        "  mend it, or launch it as it stands: flower release work --as-is\n",
    ]
    assert released.out == "work: the next session starts from the document as it stands\n"
    assert process.returncode == 0, (out, err)
    (row,) = json.loads((workspace / "runs" / "manifest.json").read_text())
    assert "<<<<<<< mine" in opening_of(model, row["session_id"]).all_text()


def test_a_step_that_does_not_run_may_be_held_for_later(workspace: Path, environment: dict[str, str]) -> None:
    workbench = begun(workspace)

    held = flower("hold", cwd=workspace, environment=environment)

    state: Any = workbench.holds.state("work")
    assert held.out.endswith("(it does not run now; the hold counts once it does)\n")
    assert state is not None
    assert "@" in state.by
    shown = flower("status", cwd=workspace, environment=environment).out
    assert f"since {local_time(state.since)}" in shown
    assert flower("status", "--json", cwd=workspace, environment=environment).lines[0]["held_since"] == state.since


def test_whoever_looks_sees_a_hold_as_long_as_it_is_there(workspace: Path) -> None:
    workbench = begun(workspace)
    steps = Steps(workbench)

    def held_since() -> str | None:
        step = steps.live("work")
        assert step is not None
        return step.held_since

    assert held_since() is None
    workbench.holds.hold("work", "ann")
    hold = workbench.holds.state("work")
    assert hold is not None
    assert held_since() == hold.since
    workbench.holds.release("work")
    assert held_since() is None
    stopped = workbench.live("work")
    assert stopped is not None
    workbench.lives.write(replace(stopped, state=State.HELD, held_since=hold.since))
    assert held_since() is None, "its supervisor is gone, and nothing is left to release"
    with workbench.run_lock("work"):
        assert held_since() == hold.since


@pytest.mark.parametrize(
    ("arguments", "parts"), [([], ["Nothing to release"]), (["--as-is"], ["Nothing to release", "waits"])]
)
def test_where_nothing_is_held_nothing_is_released(
    arguments: list[str], parts: list[str], workspace: Path, environment: dict[str, str]
) -> None:
    begun(workspace).freeze("work", DOCUMENT)

    done = flower("release", *arguments, cwd=workspace, environment=environment)

    assert (done.code, done.out) == (5, "")
    for part in parts:
        assert part in done.err
