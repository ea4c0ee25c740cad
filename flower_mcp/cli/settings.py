"""The config files: the person's own, for every option, and a workspace's `.flower.toml`, for a few harmless ones.

What counts, strongest first: the command line, the variable, the workspace's file, the person's file, the default. What
can hurt: a cloned repository brings its `.flower.toml` along, so nothing in it may run a command, choose who is asked
or raise what may be spent; whatever else it names is refused by name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from flower_mcp.core.errors import FilesError, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from flower_mcp.cli.options import RunOptions
    from flower_mcp.core.policy import HandoffPolicy

VARIABLE = "FLOWER_CONFIG"  # the variable that names the person's file
WORKSPACE_FILE = ".flower.toml"
IN_WORKSPACE = ("model", "effort", "window", "at", "headroom", "max-generations", "edit-window", "plain", "budget")
LARGEST = 64 * 1024  # bytes; a config file is a few lines
_MEND = "Make it a readable file of a few lines, or move it away; `flower doctor` looks at it."
_CHANGE = "Change that line, or remove it; `flower --help` says what each option takes."
_EITHER = ("at", "headroom")  # they say one thing in two ways: the stronger source wins
_LIMITS = ("max-generations", "edit-window")  # a repository must not make a run go on, or wait, for ever
_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def user_file(environ: Mapping[str, str]) -> Path:
    """Where the person's config file is, whether or not there is one. Raises Usage for one in nobody's home."""
    from pathlib import Path

    from flower_mcp.workbench.windows import config_folder

    given = environ.get(VARIABLE)
    if given:
        from flower_mcp.workbench.folders import expanded

        return expanded(given)
    try:
        return config_folder(environ) / "config.toml"
    except FilesError:  # a user without a home, who has no such file either
        return Path(os.sep) / "nonexistent" / "config.toml"


def defaults_of(file: Path, commands: Mapping[str, click.Command]) -> dict[str, dict[str, Any]]:
    """The person's defaults in the shape of click's default_map: command -> option -> value.

    A key at the top counts for each command that has the option, a table for the command of its name alone. Raises
    Usage for a file that cannot be read and for names that there are not.
    """
    found = _read(file)
    options = {name: {_name(option): option for option in _options(command)} for name, command in commands.items()}
    everywhere = {name for known in options.values() for name in known}
    defaults: dict[str, dict[str, Any]] = {name: {} for name in commands}
    for key, value in found.items():
        if isinstance(value, dict) and key in commands:
            continue
        if key not in everywhere:
            raise _unknown(file, key, [*everywhere, *commands])
        for name, known in options.items():
            if key in known:
                defaults[name][str(known[key].name)] = value
    for name in commands:
        table = found.get(name)
        for key, value in table.items() if isinstance(table, dict) else ():
            if key not in options[name]:
                raise _unknown(file, f"{name}.{key}", options[name])
            defaults[name][str(options[name][key].name)] = value
    return defaults


def sound_defaults(file: Path, commands: Mapping[str, click.Command]) -> dict[str, dict[str, Any]]:
    """As `defaults_of`, each value tried as well. Raises Usage for the first one that cannot be used."""
    defaults = defaults_of(file, commands)
    for name, values in defaults.items():
        context = click.Context(commands[name], info_name=name, resilient_parsing=True)
        for option in _options(commands[name]):
            if option.name in values:
                try:
                    option.type_cast_value(context, values[option.name])
                except click.BadParameter as error:
                    raise Usage(f"{file} cannot be used: {_name(option)}: {error.message}", next=_CHANGE) from error
    return defaults


def in_workspace(options: RunOptions, ctx: click.Context) -> tuple[RunOptions, tuple[str, ...]]:
    """The options with what the workspace's file sets put in, and the names that counted. Raises Usage."""
    from pathlib import Path

    file = Path(options.workspace) / WORKSPACE_FILE
    found = _read(file)
    for key in found:
        if key not in IN_WORKSPACE:
            raise Usage(
                f"{file} sets {key!r}, which a workspace may not: it comes with the files of a repository.",
                kept="Nothing was started.",
                next=f"Remove it there; on the command line or in {user_file(os.environ)} it may stand.",
            )
    known = {_name(option): option for option in _options(ctx.command)}
    values: dict[str, Any] = {}
    for key, value in found.items():
        option = known.get(key)
        if option is None:
            continue  # of a run alone
        try:
            converted = option.type_cast_value(ctx, value)
        except click.BadParameter as error:
            raise Usage(f"{file} cannot be used: {key}: {error.message}", next=_CHANGE) from error
        if _counts(ctx, options, key, converted):
            values[str(option.name)] = converted
    kept = _only_one(options, ctx, values)
    return replace(options, **kept), tuple(name.replace("_", "-") for name in kept)


def without_weaker(options: RunOptions, ctx: click.Context) -> RunOptions:
    """Of the two options that exclude each other, drop the one that only a config file gave."""
    given = [name for name in _EITHER if ctx.get_parameter_source(name) in _GIVEN]
    weaker: dict[str, Any] = {name: None for name in _EITHER if name not in given}
    return replace(options, **weaker) if given else options


def policy_of(options: RunOptions, ctx: click.Context, by_workspace: Iterable[str] = ()) -> HandoffPolicy:
    """When sessions hand off. Raises Usage for options that exclude each other, with the files that gave them."""
    try:
        return options.policy()
    except Usage as error:
        names = _EITHER if None not in (options.at, options.headroom) else ("at", "window")
        mine = [name for name in names if ctx.get_parameter_source(name) is ParameterSource.DEFAULT_MAP]
        theirs = set(names) & set(by_workspace)
        files = [str(user_file(os.environ))] if set(mine) - theirs else []
        files += [f"{options.workspace}/{WORKSPACE_FILE}"] if theirs else []
        if not files:
            raise
        what = f"What {' and '.join(files)} {'say' if len(files) > 1 else 'says'} cannot be used: {error.what}"
        raise Usage(what, kept="Nothing was started.", next=error.next) from error


def _counts(ctx: click.Context, options: RunOptions, key: str, value: Any) -> bool:
    """Whether the workspace's word counts: it gives way to the person's, and may lower a limit, never raise it."""
    if key == "budget":
        return options.budget is None or value < options.budget
    if key in _LIMITS and value > getattr(options, key.replace("-", "_")):
        return False
    names = _EITHER if key in _EITHER else (key.replace("-", "_"),)
    return all(ctx.get_parameter_source(name) not in _GIVEN for name in names)


def _only_one(options: RunOptions, ctx: click.Context, values: dict[str, Any]) -> dict[str, Any]:
    """The values, so that one of the two that exclude each other replaces the other of the person's file."""
    if sum(name in values for name in _EITHER) == 1:
        other = next(name for name in _EITHER if name not in values)
        if ctx.get_parameter_source(other) is ParameterSource.DEFAULT_MAP:
            return {**values, other: None}
    return values


def _read(file: Path) -> dict[str, Any]:
    """The file's table; empty when there is none. Raises Usage."""
    try:
        if not file.is_file():
            return {}
        with file.open("rb") as opened:
            data = opened.read(LARGEST + 1)
    except OSError as error:
        raise Usage(f"The config file {file} cannot be read: {error.strerror}.", next=_MEND) from error
    if len(data) > LARGEST:
        raise Usage(f"The config file {file} is larger than {LARGEST // 1024} kB.", next=_MEND)
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Usage(
            f"The config file {file} is not TOML: {error}.", next="A line looks like: window = 200000"
        ) from error


def _options(command: click.Command) -> list[click.Option]:
    return [each for each in command.params if isinstance(each, click.Option) and each.name != "help"]


def _name(option: click.Option) -> str:
    """The option's long name: `edit-window`."""
    return max(option.opts, key=len).lstrip("-")


def _unknown(file: Path, key: str, known: Iterable[str]) -> Usage:
    from difflib import get_close_matches

    like = get_close_matches(key.rpartition(".")[2], list(known), n=1)
    return Usage(
        f"{file}: there is no option {key!r}.",
        next=f"Did you mean {like[0]!r}?" if like else "`flower --help` lists the options.",
    )
