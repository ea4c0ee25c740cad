"""The commands about a step's document, as click has them, hold to diff; and trust, config and doctor.

It must not import more than click before one of them runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import click

from flower_mcp.cli.options import (
    Count,
    Folder,
    RunOptions,
    at_option,
    headroom_option,
    model_option,
    run_dir_option,
    steps_known,
    window_option,
    workspace_option,
)
from flower_mcp.core.errors import Usage

CLIENTS = ("claude-code", "claude-desktop", "inspector")  # server/clients.py has them; importing that costs a --help

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_STEP_VARIABLE = "FLOWER_STEP"


step_argument = click.argument(
    "step", required=False, metavar="[STEP]", envvar=_STEP_VARIABLE, shell_complete=steps_known
)


def command(*examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with its examples. STEP may be left out where there is only one; FLOWER_STEP names it too."""
    lines = "".join(f"\n  {example}" for example in examples)
    return click.command(context_settings=SETTINGS, epilog=f"\b\nExamples:{lines}")


@command("flower hold", "flower hold docs")
@step_argument
@workspace_option
def hold(step: str | None, workspace: str) -> int:
    """Let the step's next session wait.

    From any terminal, before or while its document waits for changes. It waits until `flower release`. STEP (or
    FLOWER_STEP) may be left out where there is only one.
    """
    from flower_mcp.cli.holding import hold_command

    return hold_command(step, workspace)


@command("flower release", "flower release docs --as-is")
@step_argument
@click.option("--as-is", is_flag=True, envvar="FLOWER_AS_IS", help="Even if the document is broken.")
@workspace_option
def release(step: str | None, *, as_is: bool, workspace: str) -> int:
    """Let the step's next session start, after a hold or --review.

    With --as-is it starts at once, from the document as it stands. STEP (or FLOWER_STEP) may be left out where there
    is only one.
    """
    from flower_mcp.cli.holding import release_command

    return release_command(step, workspace, as_is=as_is)


@command("flower edit", "EDITOR='code --wait' flower edit docs")
@step_argument
@workspace_option
def edit(step: str | None, workspace: str) -> int:
    """Open the step's document in your editor.

    In VISUAL, EDITOR, vi or nano. A next session that is due waits until you are done. What is broken afterwards is
    shown with its line. STEP (or FLOWER_STEP) may be left out where there is only one.
    """
    from flower_mcp.cli.look import edit_command

    return edit_command(step, workspace)


@command("flower show", "flower show docs --generation 2")
@step_argument
@click.option(
    "--generation",
    type=Count(),
    metavar="N",
    envvar="FLOWER_GENERATION",
    help="The document that session N left, as the next one got it.  [default: the document now]",
)
@workspace_option
@run_dir_option
def show(step: str | None, generation: int | None, workspace: str, run_dir: str) -> int:
    """Print the step's document.

    STEP (or FLOWER_STEP) may be left out where there is only one.
    """
    from flower_mcp.cli.look import show_command

    return show_command(step, generation, workspace, run_dir)


@command("flower history", "flower history docs")
@step_argument
@workspace_option
@run_dir_option
def history(step: str | None, workspace: str, run_dir: str) -> int:
    """List the versions of the step's document, oldest first.

    Number, time, revision, generation, and who wrote it. STEP (or FLOWER_STEP) may be left out where there is only one.
    """
    from flower_mcp.cli.look import history_command

    return history_command(step, workspace, run_dir)


@command(
    "flower diff                  what you changed since the session left it",
    "flower diff g1 g2            two generations",
    "flower diff docs 3 5         two versions of `flower history docs`",
)
@click.argument("given", nargs=-1, metavar="[STEP] [A] [B]", shell_complete=steps_known)
@workspace_option
@run_dir_option
def diff(given: tuple[str, ...], workspace: str, run_dir: str) -> int:
    """Show what two versions of the step's document differ in.

    A version is named by its number in `flower history`, its generation (g1), or the beginning of its revision. Without
    B: A and the document now. Without both: what a session left last, and the document now. STEP (or FLOWER_STEP) may
    be left out where there is only one.
    """
    from flower_mcp.cli.look import diff_command

    return diff_command(given, os.environ.get(_STEP_VARIABLE), workspace, run_dir)


@command("flower trust", "flower trust docs -w ../site")
@step_argument
@workspace_option
def trust(step: str | None, workspace: str) -> int:
    """Trust a document and settings that came with the folder.

    Prints the step's document if it was not written on this machine, and what the folder's settings for Claude Code
    would run. From then on a session may start from the document, and the settings are used. STEP (or FLOWER_STEP) may
    be left out where there is only one, and where it is the settings alone that are meant.
    """
    from flower_mcp.cli.trust import trust_command

    return trust_command(step, workspace)


@command("flower config claude-code", "flower config claude-desktop -w ~/project")
@click.argument("client", type=click.Choice(CLIENTS), metavar="CLIENT")
@click.option(
    "-w",
    "--workspace",
    type=Folder(),
    metavar="DIR",
    envvar="FLOWER_WORKSPACE",
    help="The folder to serve.  [default: here; for claude-code its project]",
)
def config(client: str, workspace: str | None) -> int:
    """Print how a client starts the MCP server here.

    CLIENT is claude-code or inspector, for a command to type, or claude-desktop, for the JSON that belongs into
    claude_desktop_config.json.
    """
    from flower_mcp.cli.config import config_command

    return config_command(client, workspace)


@command(
    "flower doctor",
    "flower doctor --json | jq 'select(.ok == false)'",
    "flower doctor --forget",
    "flower doctor --forget 'https://api.anthropic.com claude-opus-5-5'",
)
@click.option(
    "--forget",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[KEY]",
    envvar="FLOWER_FORGET",
    help="Remove the windows that overflows taught: all, or those of a key, an endpoint or a model.",
)
@model_option
@window_option
@headroom_option
@at_option
@click.option("--json", "as_json", is_flag=True, envvar="FLOWER_JSON", help="One JSON object a line, the result last.")
@workspace_option
@run_dir_option
@click.pass_context
def doctor(ctx: click.Context, /, forget: str | None, **given: Any) -> int:
    """Say what is well, and what to do about the rest.

    Looks at this install, Claude Code, its credentials and endpoint, where a run with these options would hand off, the
    folder, the workbench, the books, the config files, and the MCP clients that have an entry for flower-mcp. Nothing
    is changed, and the model is not asked. Ends with 1 if something is wrong.
    """
    from flower_mcp.cli.doctor import doctor_command
    from flower_mcp.cli.settings import in_workspace, policy_of, without_weaker

    options = without_weaker(RunOptions(**given), ctx)
    names: tuple[str, ...] = ()
    with suppress(Usage):  # a check says what is wrong with the file
        options, names = in_workspace(options, ctx)
    root = ctx.find_root().command
    known = root.commands if isinstance(root, click.Group) else {}
    return doctor_command(options, forget, known, partial(policy_of, options, ctx, names))


COMMANDS: tuple[click.Command, ...] = (hold, release, edit, show, history, diff, trust, config, doctor)
