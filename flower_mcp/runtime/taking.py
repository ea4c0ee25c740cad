"""Where hooks of interactive sessions see at a glance what a session of this run was given: `live/<step>.taken`.

It decides nothing; without a workbench nobody looks. What can hurt: a disk that refuses must not end the
work, so it is owed like all else (workbench/owed.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from flower_mcp.core.errors import FlowerError
from flower_mcp.core.waiting import is_taken_elsewhere
from flower_mcp.workbench.owed import Debt

if TYPE_CHECKING:
    from flower_mcp.runtime.step import StepRun


TAKEN = (
    "a session that flower did not start was given this document before, and may have gone on from it; it is launched "
    "all the same. What that session did, the new one can be told: flower say 'TEXT'"
)


def say_taken(run: StepRun) -> None:
    """Say when the document that waits was given to somebody else's session: the work may be done twice."""
    workbench, before = run.setting.workbench, run.setting.before
    if workbench is None:
        return
    rows = [row for row in run.setting.rows if row.get("step") == run.step]
    entries = [entry for row in rows for entry in row.get("generations") or () if isinstance(entry, Mapping)]
    launched = {str(entry.get("launched")) for entry in entries}
    launched |= {each.launched or "" for each in (before.row.generations if before else ())}
    with suppress(OSError, FlowerError):  # what cannot be read is said where it would be used
        document = workbench.read(run.step)
        taken = workbench.taken.read(run.step)
        if document is not None and is_taken_elsewhere(document.revision, taken, launched):
            run.record.say(TAKEN)


def mark_taken(run: StepRun, revision: str) -> None:
    """A session of this run knows the document at this revision: no other is to be given it."""
    workbench = run.setting.workbench
    if workbench is None:
        return
    step = run.step
    path = workbench.lives.path(step).with_suffix(".taken")
    write = lambda: workbench.taken.mark(step, revision)  # noqa: E731
    run.record.owed.write(Debt("taken", "which document was launched", path, write, newest=True))
