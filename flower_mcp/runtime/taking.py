"""Where hooks of interactive sessions see at a glance what a session of this run was given: `live/<step>.taken`.

It writes and decides nothing; without a workbench nobody looks. What can hurt: a disk that refuses must not end the
work, so it is owed like all else (workbench/owed.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flower_mcp.workbench.owed import Debt

if TYPE_CHECKING:
    from flower_mcp.runtime.step import StepRun


def mark_taken(run: StepRun, revision: str) -> None:
    """A session of this run knows the document at this revision: no other is to be given it."""
    workbench = run.setting.workbench
    if workbench is None:
        return
    step = run.step
    path = workbench.lives.path(step).with_suffix(".taken")
    write = lambda: workbench.taken.mark(step, revision)  # noqa: E731
    run.record.owed.write(Debt("taken", "which document was launched", path, write, newest=True))
