"""Hold, release and lease, from any process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.core.books import LiveStep, State, StepResult
from flower_mcp.workbench.holds import Holds


@pytest.fixture
def workbench(tmp_path: Path) -> Workbench:
    """A workbench of a new workspace."""
    return Workbench(tmp_path)


@pytest.fixture
def holds(workbench: Workbench) -> Holds:
    """Its holds."""
    return workbench.holds


def place(workbench: Workbench, extension: str = ".hold", step: str = "work") -> Path:
    return workbench.lives.folder / f"{step}{extension}"


def waiting(workbench: Workbench, state: State = State.EDITING) -> None:
    """Write down that the step's window is open; whoever holds the run lock keeps it from looking lost."""
    workbench.lives.write(LiveStep("work", state, StepResult("run", "work")))


def test_what_is_held_says_since_when_and_by_whom_until_it_is_released(workbench: Workbench) -> None:
    holds = workbench.holds
    assert holds.state("work") is None
    assert not workbench.folder.exists()
    holds.hold("work", "Ann")
    held = holds.state("work")
    assert held is not None
    assert (held.by, held.since[-1]) == ("Ann", "Z")
    assert Workbench(workbench.workspace).holds.state("work") == held
    assert holds.state("other") is None
    assert holds.release("work") is True
    assert holds.state("work") is None
    assert holds.release("work") is False


def test_a_second_hold_changes_nothing(holds: Holds) -> None:
    holds.hold("work", "Ann")
    before = holds.state("work")
    holds.hold("work", "Ben")
    assert holds.state("work") == before


def test_the_file_holds_what_the_design_says_and_is_private(workbench: Workbench) -> None:
    workbench.holds.hold("work", "Ann")
    path = place(workbench)
    assert json.loads(path.read_text()).keys() == {"since", "by", "held", "as_is", "revision"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_hold_by_hand_holds_whatever_stands_in_it(workbench: Workbench) -> None:
    workbench.lives.prepare()
    for content in ("", "{}", "[]", "null", "\xff", '{"held": 0}', '{"since": 3, "by": null, "held": true}'):
        place(workbench).write_text(content, encoding="latin-1")
        said = workbench.holds.read("work")
        assert said is not None, content
        assert said.held == (content != '{"held": 0}'), content
        assert workbench.holds.read("work") == said


def test_as_it_stands_is_taken_only_while_a_supervisor_waits(workbench: Workbench) -> None:
    holds = workbench.holds
    assert holds.release("work", as_is=True) is False
    assert not place(workbench).exists()
    with workbench.run_lock("work"):
        waiting(workbench, State.WORKING)
        assert holds.release("work", as_is=True) is False
        waiting(workbench)
        assert holds.release("work", as_is=True) is True
        said = holds.read("work")
        assert said is not None
        assert (said.held, said.as_is) == (False, True)
        assert holds.state("work") is None
        waiting(workbench, State.HELD)
        assert holds.release("work", as_is=True) is True
    assert holds.release("work", as_is=True) is False  # nobody runs it any more


def test_a_step_that_is_held_can_be_released_as_it_stands(workbench: Workbench) -> None:
    workbench.holds.hold("work", "Ann")
    with workbench.run_lock("work"):
        waiting(workbench, State.HELD)
        assert workbench.holds.release("work", as_is=True)
    said = workbench.holds.read("work")
    assert said is not None
    assert (said.held, said.as_is) == (False, True)
    workbench.holds.hold("work", "Ben")
    assert workbench.holds.state("work") is not None


def test_a_lease_lasts_as_long_as_it_is_held(holds: Holds) -> None:
    assert not holds.is_leased("work")
    with holds.lease("work"):
        assert holds.is_leased("work")
        assert not holds.is_leased("wor")
        with holds.lease("work"):
            assert holds.is_leased("work")
        assert holds.is_leased("work")
    assert not holds.is_leased("work")


def test_the_lease_of_a_killed_process_is_over_and_its_file_removed(workbench: Workbench) -> None:
    code = (
        "import sys, time; from flower_mcp import Workbench\n"
        "with Workbench(sys.argv[1]).holds.lease('work'): print('open', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(workbench.workspace)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        assert workbench.holds.is_leased("work")
        assert place(workbench, f".lease-{process.pid}").exists()
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    assert not workbench.holds.is_leased("work")
    assert not place(workbench, f".lease-{process.pid}").exists()


def test_a_file_that_only_looks_like_a_lease_is_none(workbench: Workbench) -> None:
    workbench.lives.prepare()
    place(workbench, ".lease-1x").write_text("")
    place(workbench, ".lease-99").write_text("")
    assert not workbench.holds.is_leased("work")
    assert place(workbench, ".lease-1x").exists()


def test_holds_work_beside_a_run_folder_without_a_workbench(tmp_path: Path) -> None:
    from flower_mcp.workbench.live import Live

    holds = Holds(Live(tmp_path / "runs" / "live", home=tmp_path / "runs"))
    holds.hold("a/b", "Ann")
    assert holds.state("a/b") is not None
    assert replace(holds.read("a/b") or pytest.fail("gone"), since="").by == "Ann"
