"""Completion for bash and zsh: click's own, in a script that a profile takes in; and the names of steps.

What can hurt: it runs at every press of Tab, so it reads alone, and whatever goes wrong completes nothing.
"""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, ZshComplete

from flower_mcp.cli.output import Output

_VARIABLE = "_FLOWER_COMPLETE"


def completion_command(shell: str, command: click.Command) -> int:
    """Print a shell's script; the exit code."""
    # Not BashComplete.source(): it runs bash to look at its version, and this only prints.
    kind = BashComplete if shell == "bash" else ZshComplete
    made = kind(command, {}, "flower", _VARIABLE)
    Output().line(kind.source_template % made.source_vars())
    return 0


def steps_like(workspace: str, incomplete: str) -> list[str]:
    """The names of a workspace's steps that begin with what was typed; none when it has none, or nothing readable."""
    from flower_mcp.cli.choosing import open_workbench
    from flower_mcp.core.errors import FlowerError
    from flower_mcp.server.steps import Steps

    try:
        return [known.step for known in Steps(open_workbench(workspace)).all() if known.step.startswith(incomplete)]
    except (FlowerError, OSError):
        return []
