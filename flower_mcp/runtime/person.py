"""The person's words as a running step keeps them: in their file, or owed to the disk; the step knows them either way.

It must not know what the words ask for. What can hurt: words that the disk refuses are a person's, and nobody can write
them again, so they are owed like a document and never dropped.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flower_mcp.core.errors import FlowerError
from flower_mcp.workbench.names import task_name
from flower_mcp.workbench.owed import Debt
from flower_mcp.workbench.tasks import By, entry

if TYPE_CHECKING:
    from flower_mcp.runtime.step import StepRun

WORDS = "words"  # the lane: what was said first stands first


def known_words(run: StepRun) -> str | None:
    """All that the person said to the step, as it lies on the disk; None when nothing does, or it cannot be read."""
    workbench = run.setting.workbench
    if workbench is None:
        return None
    try:
        return workbench.tasks.read(run.step)
    except (OSError, FlowerError) as error:
        run.record.say(f"the person's earlier words could not be read: {error}")
        return None


def begin_words(run: StepRun, words: str) -> None:
    """Begin the step's file anew with these words."""
    workbench = run.setting.workbench
    if workbench is not None:
        _write(run, words, partial(workbench.tasks.start, run.step, words))
    run.words = words


def add_words(run: StepRun, words: str, by: By, at: str) -> None:
    """Add later words to the step's file, once; `at` is ISO 8601."""
    workbench, before = run.setting.workbench, run.words
    addition = entry(words, by, at)
    if addition in before:
        return
    if workbench is not None:
        _write(run, addition, partial(workbench.tasks.add, run.step, words, by, at))
    run.words = f"{before.rstrip()}\n\n{addition}" if before else addition


def _write(run: StepRun, text: str, write: partial[Path]) -> None:
    workbench = run.setting.workbench
    if workbench is None:
        return
    path = workbench.notes / task_name(run.step)
    data = text.encode("utf-8", "surrogatepass")
    run.record.owed.write(Debt(WORDS, "what the person said", path, write, data=data, name=path.name))
