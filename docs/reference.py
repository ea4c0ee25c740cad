"""Writes docs/cli.md and the table of docs/configuration.md from the command line's own definitions.

Run it after a change of a command or an option: `.venv/bin/python docs/reference.py`. cli.md is written whole;
of configuration.md only what stands between the two markers. A page without them is an error, since a table that is
silently not written goes stale.
"""

from __future__ import annotations

from pathlib import Path

import click

from flower_mcp.cli.commands import flower
from flower_mcp.cli.hook import HELP
from flower_mcp.cli.settings import IN_WORKSPACE

CLI = Path(__file__).with_name("cli.md")
CONFIGURATION = Path(__file__).with_name("configuration.md")
BEGIN = "<!-- options: generated from flower_mcp/cli by docs/reference.py; do not edit -->"
END = "<!-- end of the options -->"
WIDTH = 100  # columns of the help texts


def cli_page() -> str:
    """The help of every command."""
    parts = [
        "# The command line\n",
        "Generated from `--help` by docs/reference.py. Exit codes: 0 done, 1 failed or something found wrong, 2 usage, "
        "3 busy, 4 credentials, 5 nothing there, 129, 130 and 143 ended by a signal. "
        "[configuration.md](configuration.md) has the options as variables and in a file.\n",
    ]
    sections = {name: _section([name]) for name in flower.commands} | {"hook": _fenced("flower hook", HELP)}
    parts += [_section([]), *(sections[name] for name in sorted(sections))]
    return "\n".join(parts)


def with_options(page: str) -> str:
    """The configuration page with the table as the options are now. Raises ValueError without the two markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for the options: {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{_table()}\n{END}{after}"


def _section(names: list[str]) -> str:
    command: click.Command = flower
    context = _context(flower, "flower")
    for name in names:
        command = flower.commands[name]
        context = _context(command, name, context)
    return _fenced(" ".join(["flower", *names]), command.get_help(context))


def _fenced(heading: str, text: str) -> str:
    return f"## {heading}\n\n```text\n{text.rstrip()}\n```\n"


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    """The command's own context, -h among its options, as a terminal of WIDTH columns has it."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    return click.Context(command, info_name=name, parent=parent, **settings)


def _table() -> str:
    """Each option once: key in a file, variable, unit, default, in a workspace's file or not, commands, meaning."""
    rows: dict[str, tuple[click.Option, list[str]]] = {}
    for name in sorted(flower.commands, key=lambda name: (name != "run", name)):
        for option in flower.commands[name].params:
            if isinstance(option, click.Option) and option.name != "help":
                key = max(option.opts, key=len).lstrip("-")
                rows.setdefault(key, (option, []))[1].append(name)
    lines = [
        "| key | variable | value | default | in .flower.toml | commands | meaning |",
        "|---|---|---|---|---|---|---|",
    ]
    for key, (option, commands) in sorted(rows.items()):
        value = "true or false" if option.is_flag else (option.metavar or option.type.name).lower()
        help_text, _, default_told = (option.help or "").partition("  [default: ")
        told = default_told.rstrip("]")
        default = (f"`{told}`" if told.isdigit() else told) or _default(option)
        cells = (
            f"`{key}`", f"`{option.envvar}`", value, default, "yes" if key in IN_WORKSPACE else "", ", ".join(commands),
            help_text.replace("|", "\\|"),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _default(option: click.Option) -> str:
    if option.is_flag:
        return "false"
    usual = option.default
    return f"`{usual:g}`" if isinstance(usual, float) else f"`{usual}`" if isinstance(usual, str | int) else "none"


if __name__ == "__main__":
    CLI.write_text(cli_page(), encoding="utf-8")
    CONFIGURATION.write_text(with_options(CONFIGURATION.read_text(encoding="utf-8")), encoding="utf-8")
