"""`flower hold` and `flower release`, from any terminal: whether the next session of a step waits.

They write what a person says; the step's supervisor acts on it, now or later.
"""

from __future__ import annotations

import getpass
import os
import socket

from flower_mcp.cli.choosing import chosen_step, local_time, open_workbench, typed
from flower_mcp.cli.output import Output
from flower_mcp.cli.words import Words, language
from flower_mcp.core.books import State
from flower_mcp.core.errors import NothingThere


def hold_command(step: str | None, workspace: str) -> int:
    """Hold a step; the exit code. Raises Usage, NothingThere, FilesError."""
    output, words = Output(), Words(language(os.environ))
    workbench = open_workbench(workspace)
    step = chosen_step(workbench, step, "hold")
    before = workbench.holds.state(step)
    if before is not None:
        output.line(words("held already", step=step, since=local_time(before.since), by=before.by))
        return 0
    workbench.holds.hold(step, who())
    live = workbench.live(step)
    runs = live is not None and not live.state.ended and live.state not in (State.IDLE, State.LOST)
    release = typed(workbench, "release", step)
    output.line(words("hold said", step=step, command=release) + ("" if runs else words("hold later")))
    return 0


def release_command(step: str | None, workspace: str, *, as_is: bool) -> int:
    """Release a step; the exit code. Raises NothingThere when nothing is held or waits, Usage, FilesError."""
    output, words = Output(), Words(language(os.environ))
    workbench = open_workbench(workspace)
    step = chosen_step(workbench, step, "release")
    before = workbench.holds.state(step)
    if not workbench.holds.release(step, as_is=as_is, by=who()):
        and_waits = ", and no document of it waits to be launched" if as_is else ""
        raise NothingThere(
            f"Nothing to release: the step {step!r} is not held{and_waits}.", next=typed(workbench, "status", step)
        )
    if before is not None:
        output.line(words("was held", step=step, since=local_time(before.since), by=before.by))
    output.line(words("release as is" if as_is else "release said", step=step))
    return 0


def who() -> str:
    """Who says it, for whoever finds the step held."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (OSError, KeyError):  # a user without a name
        return socket.gethostname()
