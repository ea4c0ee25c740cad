"""Steps that the tests of the commands look at, and scripted editors."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from flower_mcp import Workbench
from flower_mcp.core.books import Generation, LiveStep, State, StepResult
from flower_mcp.demo.model import ScriptedModel, Story, each_session, text
from tests.e2e.steps import DOCUMENT, bash, handing_over

NEXT = "port test_resume next"
EDITED = "port test_batch FIRST"


def begun(workspace: Path, step: str = "work", *generations: Generation, state: State = State.STOPPED) -> Workbench:
    """A workbench with a step in it, its books written down and nobody at work."""
    workbench = Workbench(workspace)
    row = StepResult("run-1", step, state=state, generations=generations)
    workbench.lives.write(LiveStep(step, state, row))
    return workbench


def scripted_editor(folder: Path, program: str) -> str:
    """A command for EDITOR that runs a Python program with `path`, the last argument, and `typed()` at hand."""
    file = folder / "an editor.py"
    file.write_text(
        "import os, select, sys, time\nfrom pathlib import Path\npath = Path(sys.argv[-1])\n"
        "def typed():\n"  # a signal that comes just before a blocking read would wait for the line
        "    while not select.select([0], [], [], 0.05)[0]: pass\n"
        "    return input()\n" + program,
        encoding="utf-8",
    )
    return shlex.join([sys.executable, str(file), "--an-argument"])


def replacing(old: str = NEXT, new: str = EDITED) -> str:
    """The program of an editor that replaces words."""
    return f"path.write_text(path.read_text(encoding='utf-8').replace({old!r}, {new!r}), encoding='utf-8')\n"


def two_sessions(model: ScriptedModel, *, pause: float = 0.0) -> None:
    """A session that hands over after `pause` seconds of work, and one that is done."""
    work = bash(f"touch begun; sleep {pause}" if pause else "touch begun").at(40_000)
    first = handing_over(work, bash("echo two").at(155_000))
    model.script = each_session(first, Story([text("All ported.").at(30_000)]))


def with_editor(environment: Mapping[str, str], command: str) -> dict[str, str]:
    """The variables with this editor."""
    return {**environment, "EDITOR": command}


__all__ = ["DOCUMENT", "EDITED", "NEXT", "begun", "replacing", "scripted_editor", "two_sessions", "with_editor"]
