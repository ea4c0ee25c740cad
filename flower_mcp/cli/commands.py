"""The commands as click has them, and how an error becomes one sentence and an exit code.

`flower TASK` is short for `flower run TASK`: what does not begin with a command's name belongs to `run`. It must not
import more than click and core before a command runs. What can hurt: a traceback tells a person nothing, so nothing but
a sentence leaves this module, whatever happened.
"""

from __future__ import annotations

import errno
import os
from typing import Any

import click

from flower_mcp import __version__
from flower_mcp.cli import document_commands, message_commands, settings, step_commands
from flower_mcp.cli.document_commands import SETTINGS
from flower_mcp.cli.options import Folder, RunOptions, run_options
from flower_mcp.cli.width import help_width
from flower_mcp.core.errors import CallersError, FlowerError, OurError, Usage

_SHORT = "flower.short"  # in click's meta: the command line had no `run` in it
SHELLS = ("bash", "zsh")
DOCTOR = "doctor"
_HELP = ("-h", "--help")
_OWN_OPTIONS = (*_HELP, "--version")


class Flower(click.Group):
    """A group whose usual command, `run`, may be left out."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` in front unless the arguments begin with a command or an option of the group."""
        if ctx.resilient_parsing and not args:
            return super().parse_args(ctx, args)  # a completion of the first word: a command may come
        if not args or (args[0] not in self.commands and args[0] not in _OWN_OPTIONS):
            ctx.meta[_SHORT] = True
            args = ["run", *args]
        if args and args[0] in self.commands and not set(_HELP) & set(args):  # help needs no file, and is to be quick
            ctx.default_map = self._defaults(args[0])
        return super().parse_args(ctx, args)

    def _defaults(self, name: str) -> dict[str, dict[str, Any]]:
        """The person's defaults. A file that cannot be used stops every command but the one that says what is wrong."""
        if name != DOCTOR:
            return settings.defaults_of(settings.user_file(os.environ), self.commands)
        try:
            return settings.sound_defaults(settings.user_file(os.environ), self.commands)
        except Usage:
            return {}

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """The commands, and the options of `run`, whose name may be left out."""
        run = self.commands["run"].shell_complete(ctx, incomplete) if incomplete.startswith("-") else []
        return [*super().shell_complete(ctx, incomplete), *run]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Both forms."""
        formatter.write_usage("flower", "[OPTIONS] [TASK]")
        formatter.write_usage("flower", "COMMAND ...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of `run` belong to the short form; then the group's own, and the commands."""
        options = [each for each in self.commands["run"].params if isinstance(each, click.Option)]
        with formatter.section("Options"):
            known = [each.get_help_record(ctx) for each in (*options, *self.get_params(ctx))]
            formatter.write_dl([record for record in known if record is not None])
        self.format_commands(ctx, formatter)


@click.group(
    cls=Flower,
    context_settings=SETTINGS,
    epilog="\b\nExamples:\n"
    "  flower 'Port the test suite to pytest.'\n"
    "  flower --at 200000 --budget 20 'Translate the manual.'\n"
    "  flower                            go on with what is left\n"
    "  flower - < task.md                the task from stdin\n"
    "  flower demo                       a whole handoff, no account needed\n"
    "\n"
    "Every option can be given as a variable, --edit-window as FLOWER_EDIT_WINDOW, or in a config\n"
    "file of yours, as edit-window = 10 (docs/configuration.md).",
)
@click.version_option(__version__, "--version", prog_name="flower", message="%(prog)s %(version)s")
def flower() -> None:
    """Work on a task over as many Claude sessions as it takes.

    Before a session's context is full, it writes a handoff document that you can read and edit; a new session goes on
    from exactly that file.

    Without a TASK, goes on with what the step has left. `-` reads the task from stdin.
    """


@flower.command(
    context_settings=SETTINGS,
    epilog="\b\nExamples:\n"
    "  flower run 'Port the test suite to pytest.'\n"
    "  flower run tidy\n"
    "  flower run --step docs -w ../site --permission-mode acceptEdits - < task.md",
)
@run_options
@click.argument("task", nargs=-1, metavar="[TASK]")
@click.pass_context
def run(ctx: click.Context, /, task: tuple[str, ...], **given: Any) -> int:
    """Run a step until it is done. Without a TASK, go on with what it has left; `-` reads the task from stdin."""
    from flower_mcp.cli.run import run_command

    options, by_workspace = settings.in_workspace(settings.without_weaker(RunOptions(**given), ctx), ctx)
    settings.policy_of(options, ctx, by_workspace)  # what contradicts each other is told with its files
    short = bool(ctx.meta.get(_SHORT))
    return run_command(options, task, short=short, commands=tuple(flower.commands), by_workspace=by_workspace)


@flower.command(
    context_settings=SETTINGS,
    epilog="\b\nExamples:\n  flower demo\n  flower demo --keep look",
)
@click.option("--keep", type=Folder(), metavar="DIR", envvar="FLOWER_KEEP", help="Work in this folder and keep it.")
@click.option("--json", "as_json", is_flag=True, envvar="FLOWER_JSON", help="One JSON object a line; keeps the folder.")
def demo(keep: str | None, as_json: bool) -> int:
    """Show a whole handoff, no account needed.

    The model is scripted; everything else is real: the CLI, its tools, the files, the sessions.
    """
    from flower_mcp.cli.demo import demo_command

    return demo_command(keep, as_json=as_json)


@flower.command(
    context_settings=SETTINGS,
    epilog="\b\nExamples:\n  flower completion bash >> ~/.bashrc\n  flower completion zsh >> ~/.zshrc",
)
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
def completion(shell: str) -> int:
    """Print the script that makes Tab know flower.

    Its commands, options and steps. SHELL is bash or zsh.
    """
    from flower_mcp.cli.completion import completion_command

    return completion_command(shell, flower)


for command in (*step_commands.COMMANDS, *message_commands.COMMANDS, *document_commands.COMMANDS):
    flower.add_command(command)


def answer(arguments: list[str]) -> int:
    """Run a command line; the exit code. Says what is wrong in a sentence on stderr, and raises nothing but Ctrl-C."""
    try:
        code = flower.main(args=arguments, prog_name="flower", standalone_mode=False, terminal_width=help_width())
    except SystemExit:
        return 0  # click's way of saying that the reader of its output has gone; it has what it wanted
    except Exception as error:  # noqa: BLE001  # the last place that can turn it into a sentence
        return _told(error)
    return code if isinstance(code, int) else 0


def _told(error: BaseException) -> int:
    """Say an error in a sentence; its exit code."""
    from flower_mcp.cli.output import complain

    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
        return 130
    if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EIO):
        return 0  # the reader of our output has what it wanted
    if isinstance(error, click.ClickException):
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = context.command_path if context is not None else "flower"
        what = _of_click(error).rstrip()
        what += "" if what.endswith((".", "?", "?)")) else "."  # click has no full stop after a list of choices
        complain(f"{what} {CallersError.KEPT} `{command} --help` shows how it is called.")
        return error.exit_code
    if isinstance(error, FlowerError):
        complain(error.told)
        return error.exit_code
    if isinstance(error, OSError) and error.strerror:
        from flower_mcp.workbench.files import what_to_do

        complain(f"{error.filename or 'The system'}: {error.strerror}. {FlowerError.KEPT} {what_to_do(error.errno)}")
        return FlowerError.exit_code
    if os.environ.get("FLOWER_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}"
    complain(f"a mistake in flower-mcp itself ({what}). {OurError.KEPT} {OurError.NEXT}")
    return OurError.exit_code


def _of_click(error: click.ClickException) -> str:
    """Click's sentence; a bad value that came from a variable is told by the variable's name."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.BadParameter) and context is not None and isinstance(error.param, click.Option):
        source = context.get_parameter_source(error.param.name or "")
        if source is click.core.ParameterSource.ENVIRONMENT:
            return f"The variable {error.param.envvar} cannot be used: {error.message}"
        if source is click.core.ParameterSource.DEFAULT_MAP:
            return f"{settings.user_file(os.environ)} cannot be used: {error.param.opts[-1]}: {error.message}"
    return error.format_message()
