"""What the checks of `flower doctor` are given, and what each of them answers.

Values, and the few helpers that several checks need. Nothing is started but what a check
names, with a limit. What can hurt: a user without a home has no state folder, so that is asked for late.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click

from flower_mcp.cli.options import RunOptions
from flower_mcp.cli.words import Words
from flower_mcp.core.commands import command_line
from flower_mcp.core.policy import HandoffPolicy
from flower_mcp.workbench.windows import state_folder


@dataclass(frozen=True, slots=True)
class Examined:
    """What the checks look at: the words to answer in, the variables, what a run would be given, the tool's commands
    with their options, and `scratch`, a temporary folder of the doctor's own, the only place that a check writes to."""

    words: Words
    environ: Mapping[str, str]
    options: RunOptions
    policy: HandoffPolicy
    commands: Mapping[str, click.Command]
    scratch: Path

    @property
    def workspace(self) -> Path:
        """The folder that a run here would work in, its links resolved; it may not exist."""
        return Path(self.options.workspace).resolve()

    @property
    def state(self) -> Path:
        """The user's state folder. Raises FilesError for a user without a home."""
        return state_folder(self.environ)

    def command(self, name: str, step: str = "") -> str:
        """What to type to do something in the folder that is looked at."""
        return command_line(name, step, workspace=self.options.workspace)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `ok` False: something is wrong. `do`: what to do about it, or what is better."""

    text: str
    ok: bool = True
    do: tuple[str, ...] = ()


Findings = Iterator[Finding]


@dataclass(frozen=True, slots=True)
class Check:
    """A group of things to look at: its name, what finds, and the most seconds that it may take."""

    name: str
    find: Callable[[Examined], Findings]
    limit: float = 20.0  # all begin at once, so on a busy machine each takes longer than alone


def is_installed(package: str) -> bool:
    """Whether a package could be imported; nothing is."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def has_run_part() -> bool:
    """Whether the supervisor's part is installed: without it there is no CLI, and no need of credentials."""
    return is_installed("claude_agent_sdk") and is_installed("rich")


def output_of(command: Sequence[str], examined: Examined, limit: float, **more: str) -> str | None:
    """What a program prints on stdout, started in the doctor's folder; None when it fails or takes too long (s)."""
    try:
        done = subprocess.run(
            command,
            cwd=examined.scratch,
            env={**examined.environ, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limit,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace")
