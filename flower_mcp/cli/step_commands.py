"""The commands about all steps, as click has them: status, list, clean.

It must not import more than click before one of them runs.
"""

from __future__ import annotations

import click

from flower_mcp.cli.document_commands import command, step_argument
from flower_mcp.cli.options import Amount, Count, workspace_option

_json = click.option(
    "--json", "as_json", is_flag=True, envvar="FLOWER_JSON", help="One JSON object a line, for programs."
)


@command("flower status", "flower status docs --follow", "flower status --json | jq .state")
@step_argument
@click.option("-f", "--follow", is_flag=True, envvar="FLOWER_FOLLOW", help="Again at each change, to the end.")
@_json
@workspace_option
def status(step: str | None, *, follow: bool, as_json: bool, workspace: str) -> int:
    """Show what the steps are doing.

    State, context, cost and document of each, the one that changed last first; with STEP (or FLOWER_STEP) of that one.
    From any terminal, whether or not it runs. With --follow until none is at work any more.
    """
    from flower_mcp.cli.status import status_command

    return status_command(step, workspace, follow=follow, as_json=as_json)


@command("flower list", "flower list -w ../site")
@_json
@workspace_option
def list_(*, as_json: bool, workspace: str) -> int:
    """List the steps: name, state, and when each changed last."""
    from flower_mcp.cli.status import list_command

    return list_command(workspace, as_json=as_json)


@command("flower clean --dry-run", "flower clean --older-than 7 --keep-newest 1 --yes")
@click.option(
    "--older-than",
    "days",
    type=Amount("days"),
    default=30,
    show_default=True,
    metavar="DAYS",
    envvar="FLOWER_OLDER_THAN",
    help="Only versions that were replaced so many days ago.",
)
@click.option(
    "--keep-newest", "keep", type=Count(0), default=3, show_default=True, metavar="N", envvar="FLOWER_KEEP_NEWEST",
    help="Of each step keep the newest N.",
)  # fmt: skip
@click.option(
    "-n", "--dry-run", is_flag=True, envvar="FLOWER_DRY_RUN", help="List what would be removed, and remove nothing."
)
@click.option("-y", "--yes", is_flag=True, envvar="FLOWER_YES", help="Do not ask.")
@workspace_option
def clean(*, days: float, keep: int, dry_run: bool, yes: bool, workspace: str) -> int:
    """Remove old archived versions of documents and tasks.

    Asks first. Current documents, tasks and the books are never removed.
    """
    from flower_mcp.cli.clean import clean_command

    return clean_command(workspace, days=days, keep=keep, yes=yes, dry_run=dry_run)


@command("flower chart -o context.svg", "flower chart docs -o context.png -w ../site")
@step_argument
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), required=True, metavar="FILE", envvar="FLOWER_OUTPUT",
    help="Where to draw: a file that ends in .svg or .png.",
)  # fmt: skip
@workspace_option
def chart(step: str | None, output: str, workspace: str) -> int:
    """Draw the step's context over time.

    With its lines, its sessions and its handoffs. Needs the extra part: pip install 'flower-mcp[chart]'. STEP (or
    FLOWER_STEP) may be left out where there is only one.
    """
    from flower_mcp.cli.chart import chart_command

    return chart_command(step, output, workspace)


list_.name = "list"
COMMANDS: tuple[click.Command, ...] = (status, list_, chart, clean)
