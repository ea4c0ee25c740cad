"""The commands that say something to a step that runs, as click has them: say, stop, handoff.

It must not import more than click before one of them runs.
"""

from __future__ import annotations

import os

import click

from flower_mcp.cli.document_commands import SETTINGS, step_argument
from flower_mcp.cli.options import steps_known, workspace_option

_VARIABLE = "FLOWER_STEP"


@click.command(
    context_settings=SETTINGS,
    epilog="\b\nExamples:\n"
    "  flower say 'Use tabs, not spaces.'\n"
    "  flower say docs 'Leave chapter 3 as it is.'\n"
    "  flower say - < remarks.md           the text from stdin",
)
@click.argument("given", nargs=-1, metavar="[STEP] TEXT", shell_complete=steps_known)
@workspace_option
def say(given: tuple[str, ...], workspace: str) -> int:
    """Say something to a step that runs.

    From any terminal. Its session is told with its next request, and all later sessions get it too. `-` reads the TEXT
    from stdin. STEP (or FLOWER_STEP) may be left out where only one runs; a text that is a step's name needs it.
    """
    from flower_mcp.cli.messages import say_command

    return say_command(given, os.environ.get(_VARIABLE), workspace)


@click.command(context_settings=SETTINGS, epilog="\b\nExamples:\n  flower stop\n  flower stop docs")
@step_argument
@workspace_option
def stop(step: str | None, workspace: str) -> int:
    """Stop a step that runs, in order.

    As Ctrl-C in its own terminal: the tools that run may end first, 10 s at most, and the books are written. Waits
    until it has stopped. STEP (or FLOWER_STEP) may be left out where only one runs.
    """
    from flower_mcp.cli.messages import stop_command

    return stop_command(step, workspace)


@click.command(context_settings=SETTINGS, epilog="\b\nExamples:\n  flower handoff\n  flower handoff docs")
@step_argument
@workspace_option
def handoff(step: str | None, workspace: str) -> int:
    """Have a step that runs hand off now.

    Before its context is full, at its session's next message boundary. A second time while it waits for agents:
    without them. STEP (or FLOWER_STEP) may be left out where only one runs.
    """
    from flower_mcp.cli.messages import handoff_command

    return handoff_command(step, workspace)


COMMANDS: tuple[click.Command, ...] = (say, stop, handoff)
