"""Which workbench and which step a command means: the step named, else the only one.

Reads alone: it must not make a folder where somebody looks in the wrong place.
"""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

from flower_mcp.core.books import seconds
from flower_mcp.core.commands import command_line
from flower_mcp.core.errors import NothingThere, Usage
from flower_mcp.server.steps import LONGEST_NAME, Steps, listed
from flower_mcp.workbench.folders import current_folder, expanded
from flower_mcp.workbench.workbench import Workbench


def open_workbench(workspace: str) -> Workbench:
    """The workbench of a workspace that exists. Raises Usage, FilesError."""
    folder = expanded(workspace)
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise Usage(f"The workspace {folder} {what}.", next="Name another one: --workspace DIR")
    return Workbench(folder)


def typed(workbench: Workbench, name: str, step: str = "", *options: str) -> str:
    """What to type for `flower NAME STEP` about this workbench: with its folder, unless that is the one we are in."""
    here = workbench.workspace == current_folder()
    return command_line(name, step, *options, workspace="" if here else str(workbench.workspace))


def go_on(workbench: Workbench, step: str, *name: str) -> str:
    """What to type to go on with a step of this workbench. `name`: run, where a task is to follow."""
    folder = () if workbench.workspace == current_folder() else ("-w", str(workbench.workspace))
    return shlex.join(["flower", *name, "--step", step, *folder])


def chosen_step(workbench: Workbench, given: str | None, command: str) -> str:
    """The step that is meant. `command` is the one that was typed, `show` for example, for advice.

    Raises Usage when several steps could be meant, NothingThere when there is none, or none of that name.
    """
    if given and len(given) <= LONGEST_NAME and is_step(workbench, given):
        return given
    names = [known.step for known in Steps(workbench).all()]
    if not names:
        raise no_steps(workbench)
    if given:
        raise NothingThere(f"There is no step {given[:LONGEST_NAME]!r}.", next=f"The steps are {listed(names)}.")
    if len(names) > 1:
        raise Usage(
            f"There are {len(names)} steps: {listed(names)}.",
            next=f"Name one of them: {typed(workbench, command, 'STEP')}",
        )
    return names[0]


def no_steps(workbench: Workbench) -> NothingThere:
    """The error for a workbench in which there is nothing yet."""
    return NothingThere(f"There are no steps in {workbench.workspace}.", next="Begin one: flower 'TASK'")


def is_step(workbench: Workbench, name: str) -> bool:
    """Whether something is known of a step of this name."""
    return Steps(workbench).exists(name)


def local_time(when: float | str) -> str:
    """A time of the books (ISO 8601), or seconds since the epoch, as a clock here shows it: 2026-11-29 16:05:12."""
    try:
        moment = datetime.fromtimestamp(seconds(when) if isinstance(when, str) else when, UTC)
    except (ValueError, OverflowError, OSError):
        return str(when)
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
