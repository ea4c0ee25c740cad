"""Help costs nothing and tells all: imports, examples, variables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from flower_mcp import __version__
from flower_mcp.cli.commands import flower as group
from tests.cli.processes import FLOWER, flower

HEAVY = ("anyio", "claude_agent_sdk", "mcp", "platformdirs", "pydantic", "rich", "starlette", "uvicorn", "watchfiles")
PROGRAM = """
import sys
from flower_mcp.cli.main import main
try:
    main()
finally:
    print(*sorted(name for name in sys.modules if "." not in name), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["demo", "-h"], ["hold", "--help"], ["config", "-h"], ["--version"]]
)
def test_help_imports_click_and_nothing_heavier(arguments: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False
    )

    imported = set(done.stderr.split())
    assert done.returncode == 0
    assert "click" in imported
    assert imported.isdisjoint(HEAVY)


def test_the_entry_point_imports_nothing_before_it_has_looked_at_the_arguments() -> None:
    program = "import sys, flower_mcp.cli.main; print('click' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


@pytest.mark.parametrize("command", [[], *([name] for name in sorted(group.commands))])
def test_every_help_has_an_example(command: list[str], tmp_path: Path, environment: dict[str, str]) -> None:
    done = flower(*command, "--help", cwd=tmp_path, environment=environment)

    assert done.code == 0
    assert f"  {' '.join(['flower', *command])}" in done.out.partition("Examples:")[2]


def test_every_option_has_a_variable_of_its_own_name() -> None:
    options = [
        option
        for command in group.commands.values()
        for option in command.params
        if isinstance(option, click.Option) and option.name != "help"
    ]

    assert len(options) > 15
    for option in options:
        longest = max(option.opts, key=len).lstrip("-")
        assert option.envvar == f"FLOWER_{longest.replace('-', '_').upper()}"


@pytest.mark.parametrize("command", ["hold", "release", "edit", "show", "history", "diff"])
def test_help_names_the_variable_of_the_step(command: str, tmp_path: Path, environment: dict[str, str]) -> None:
    assert "FLOWER_STEP" in flower(command, "--help", cwd=tmp_path, environment=environment).out


def test_the_version_is_the_packages(tmp_path: Path, environment: dict[str, str]) -> None:
    done = flower("--version", cwd=tmp_path, environment=environment)

    assert done.out == f"flower {__version__}\n"


def test_a_reader_that_has_gone_gives_no_traceback(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [*FLOWER, "--help"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()

    assert process.wait() == 0
    assert said == ""


def test_the_help_fits_a_terminal_of_eighty_columns_uncut(tmp_path: Path, environment: dict[str, str]) -> None:
    shown = flower("-h", cwd=tmp_path, environment={**environment, "COLUMNS": "80"}).out
    options, _, commands = shown.partition("Commands:")

    assert [line for line in commands.splitlines() if line.endswith("...")] == []
    assert "--version " in options
    assert "-h, --help " in options
    assert "TASK" not in options.partition("Options:")[2]
