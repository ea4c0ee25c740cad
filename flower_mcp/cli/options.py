"""The options of `flower` and `flower run`: how each is read, its variable, and the policy and the agent they make.

It must not start anything or write. What can hurt: a number that is none (`nan` is a float to Python), and a
variable set long ago in a profile; so what comes from a variable is named by it when it is wrong.
"""

from __future__ import annotations

import errno
import math
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from flower_mcp.core.amounts import tokens
from flower_mcp.core.commands import command_line
from flower_mcp.core.errors import Usage
from flower_mcp.core.modes import EFFORTS, PERMISSION_MODES

if TYPE_CHECKING:
    from flower_mcp.core.policy import AgentSpec, HandoffPolicy

WORKSPACE, RUN_DIR, STEP = ".", "runs", "work"
OWN_TOOLS = ("mcp__flower",)  # all of our own server: nobody may be there to allow a handoff


class Tokens(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none
    """A number of tokens: 200000, 200_000, 200K, 150.0K or 1M."""

    name = "tokens"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; fails for anything else."""
        number = tokens(str(value))
        if number is None:
            self.fail(f"{value!r} is not a number of tokens, such as 200000 or 200K.", param, ctx)
        return number


class Count(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none
    """A whole number of at least `least`."""

    name = "number"

    def __init__(self, least: int = 1) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; fails for anything else."""
        text = str(value).strip()
        if not (text.isascii() and text.isdigit()) or int(text) < self._least:
            self.fail(f"{value!r} is not a whole number {'above 0' if self._least else 'of 0 or more'}.", param, ctx)
        return int(text)


class Amount(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none
    """A finite number of at least `least`, in `unit`. `above`: `least` itself is not allowed."""

    def __init__(self, unit: str, *, least: float = 0.0, above: bool = False) -> None:
        self.name = unit
        self._least = least
        self._above = above

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; fails for anything else."""
        bound = f"above {self._least:g}" if self._above else f"of {self._least:g} or more"
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < self._least or (self._above and number == self._least):
            self.fail(f"{value!r} is not a number {bound} ({self.name}).", param, ctx)
        return number


class Folder(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none
    """A name that a folder can have, which an empty variable is not: it would mean this folder.

    `~` is replaced here, once for every command: no shell does it in a variable or a config file.
    """

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; fails for one that no folder can have."""
        if not str(value).strip():
            self.fail("the name of the folder is empty.", param, ctx)
        try:
            os.lstat(str(value))
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                self.fail("the name of the folder is too long.", param, ctx)
        if not str(value).startswith("~"):
            return str(value)
        from flower_mcp.workbench.folders import expanded

        try:
            return str(expanded(value))
        except Usage as error:
            self.fail(error.what, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Have the shell complete a folder."""
        return [click.shell_completion.CompletionItem(incomplete, type="dir")]


class Arguments(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none
    """A command as one would type it, taken apart into words; no shell will see it."""

    name = "command"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The words; fails for none, and for quotes that do not end. A config file may give a list of words."""
        if isinstance(value, list | tuple) and value and all(isinstance(word, str) for word in value):
            return tuple(value)
        try:
            words = tuple(shlex.split(str(value)))
        except ValueError as error:
            self.fail(f"{value!r} is not a command: {error}.", param, ctx)
        if not words:
            self.fail("the command is empty.", param, ctx)
        return words


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What was asked for on the command line. Tokens, USD and seconds; None: not given."""

    workspace: str = WORKSPACE
    run_dir: str = RUN_DIR
    step: str = STEP
    window: int | None = None
    headroom: int | None = None
    at: int | None = None
    max_generations: int = 8
    no_handoff: bool = False
    model: str | None = None
    effort: str | None = None
    permission_mode: str = "default"
    budget: float | None = None
    max_turns: int | None = None
    edit_window: float = 5.0
    review: bool = False
    notify: tuple[str, ...] | None = None
    new: bool = False
    trust: bool = False
    as_json: bool = False
    plain: bool = False
    verbose: bool = False

    def policy(self) -> HandoffPolicy:
        """When sessions hand off. Raises Usage for options that exclude each other."""
        from flower_mcp.core.policy import FixedLine, HandoffPolicy

        values: dict[str, Any] = {
            "enabled": not self.no_handoff,
            "window": self.window,
            "headroom": self.headroom,
            "max_generations": self.max_generations,
            "edit_window": self.edit_window,
        }
        if self.at is None:
            return HandoffPolicy(**values)
        if self.headroom is not None:
            raise Usage(
                "--at and --headroom say the same thing in two ways.", next="Give one of them, --at 200000 for example."
            )
        if self.window is None:
            return FixedLine(**values, line=self.at)
        if self.at >= self.window:
            raise Usage(
                f"--at {self.at} is not below the window of {self.window} tokens.",
                next=f"Give a line below it: --at {self.window * 3 // 4}",
            )
        return FixedLine(**{**values, "headroom": self.window - self.at}, line=self.at)

    def spec(self) -> AgentSpec:
        """Which Claude runs the step. Raises Usage."""
        from flower_mcp.core.policy import AgentSpec

        return AgentSpec(
            name=self.step,
            model=self.model,
            effort=self.effort,
            permission_mode=self.permission_mode,
            allowed_tools=OWN_TOOLS,
            max_turns=self.max_turns,
            max_budget_usd=self.budget,
        )

    def go_on(self, task: str | None = None) -> str:
        """The command that goes on with this step from the same folder; with `task`, that says it."""
        named = (("--step", self.step, STEP), ("-w", self.workspace, WORKSPACE), ("-r", self.run_dir, RUN_DIR))
        parts = [part for option, value, usual in named if value != usual for part in (option, value)]
        return shlex.join(["flower", *parts, *(() if task is None else (task,))])

    def release(self) -> str:
        """The command that releases this step from the same folder."""
        return self._command("release")

    def hold(self) -> str:
        """The command that holds this step from the same folder."""
        return self._command("hold")

    def _command(self, name: str) -> str:
        return command_line(name, self.step, workspace=self.workspace)

    def check_user(self, environ: Mapping[str, str]) -> None:
        """Refuse what Claude Code will refuse: root that bypasses permissions outside a sandbox. Raises Usage."""
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0
        if is_root and self.permission_mode == "bypassPermissions" and environ.get("IS_SANDBOX") != "1":
            raise Usage(
                "Claude Code does not let root bypass permissions.",
                kept="Nothing was started.",
                next="Work as another user, or set IS_SANDBOX=1 where this machine is a sandbox.",
            )


def refuse_windows() -> None:
    """The supervisor needs a POSIX system. Raises Usage on native Windows."""
    if sys.platform == "win32":
        raise Usage(
            "`flower run` does not work on native Windows.",
            kept="Nothing was started.",
            next="Run it in WSL; the MCP server, flower-mcp, works here.",
        )


def steps_known(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names of the workspace's steps, for a shell that completes one."""
    from flower_mcp.cli.completion import steps_like

    return steps_like(str(ctx.params.get("workspace") or WORKSPACE), incomplete)


workspace_option = click.option(
    "-w", "--workspace", metavar="DIR", default=WORKSPACE, envvar="FLOWER_WORKSPACE", type=Folder(),
    help="The folder to work in.  [default: here]",
)  # fmt: skip
run_dir_option = click.option(
    "-r", "--run-dir", metavar="DIR", default=RUN_DIR, show_default=True, envvar="FLOWER_RUN_DIR", type=Folder(),
    help="Where the books are kept.",
)  # fmt: skip
window_option = click.option(
    "--window", type=Tokens(), metavar="TOKENS", envvar="FLOWER_WINDOW",
    help="What the model can hold.  [default: what an overflow taught, else what the CLI reports]",
)  # fmt: skip
headroom_option = click.option(
    "--headroom", type=Tokens(), metavar="TOKENS", envvar="FLOWER_HEADROOM",
    help="Hand off so far below the window.  [default: 50000, or a quarter of a small window]",
)  # fmt: skip
at_option = click.option(
    "--at", type=Tokens(), metavar="TOKENS", envvar="FLOWER_AT", help="Hand off at this context, whatever the window."
)
model_option = click.option(
    "--model", metavar="NAME", envvar="FLOWER_MODEL", help="The model.  [default: Claude Code's choice]"
)
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--step", metavar="NAME", default=STEP, show_default=True, envvar="FLOWER_STEP",
                 shell_complete=steps_known,
                 help="The piece of work: the name by which it is gone on with."),
    workspace_option,
    run_dir_option,
    window_option,
    headroom_option,
    at_option,
    click.option("--max-generations", type=Count(), metavar="N", default=8, show_default=True,
                 envvar="FLOWER_MAX_GENERATIONS", help="The most handoffs in one run."),
    click.option("--no-handoff", is_flag=True, envvar="FLOWER_NO_HANDOFF",
                 help="Never hand off: the CLI compacts as it likes."),
    click.option("--edit-window", type=Amount("seconds"), metavar="SECONDS", default=5.0,
                 envvar="FLOWER_EDIT_WINDOW", help="How long each document waits for your changes.  [default: 5]"),
    click.option("--review", is_flag=True, envvar="FLOWER_REVIEW",
                 help="Hold at every handoff, until you press Enter or type `flower release`."),
    click.option("--notify", type=Arguments(), metavar="COMMAND", envvar="FLOWER_NOTIFY",
                 help="Run this, the event as JSON on its stdin, when the step is held, asks for a permission, or is "
                      "over.  [default: the terminal's bell]"),
    model_option,
    click.option("--effort", type=click.Choice(EFFORTS), metavar="LEVEL", envvar="FLOWER_EFFORT",
                 help=f"How hard the model thinks: {', '.join(EFFORTS)}.  [default: Claude Code's choice]"),
    click.option("--permission-mode", type=click.Choice(PERMISSION_MODES), metavar="MODE", default="default",
                 show_default=True, envvar="FLOWER_PERMISSION_MODE", help=f"One of {', '.join(PERMISSION_MODES)}."),
    click.option("--budget", type=Amount("USD", above=True), metavar="USD", envvar="FLOWER_BUDGET",
                 help="The most that the step may cost, over all its sessions."),
    click.option("--max-turns", type=Count(), metavar="N", envvar="FLOWER_MAX_TURNS",
                 help="The most turns of the step, over all its sessions."),
    click.option("--new", is_flag=True, envvar="FLOWER_NEW",
                 help="Start afresh; what the step had goes to the archive."),
    click.option("--trust", is_flag=True, envvar="FLOWER_TRUST",
                 help="Use what came with the folder: its document, its settings for Claude Code."),
    click.option("--json", "as_json", is_flag=True, envvar="FLOWER_JSON",
                 help="One JSON object a line on stdout, the result last; text goes to stderr."),
    click.option("--plain", is_flag=True, envvar="FLOWER_PLAIN",
                 help="Lines alone, without colours and without anything that moves; NO_COLOR does the same."),
    click.option("-v", "--verbose", is_flag=True, envvar="FLOWER_VERBOSE",
                 help="Say which endpoint, model, window and token are used, and show the context."),
)  # fmt: skip


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Put all options of a run on a click command; they arrive under the names of RunOptions' fields."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
