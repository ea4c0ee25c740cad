"""The small repository of the demo: a program that prints a CSV file as a table, its six checks, and git around it.

Texts of files, and the few git commands that the demo itself needs. It knows neither the model nor the supervisor.

What can hurt: a person's own git settings (signing, hooks, templates, an identity, a GIT_DIR of a hook that is just
running) would change the story, or let it write into another repository. So every variable of git's is set here or left
out, and the demo reads a configuration file of its own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from flower_mcp.core.errors import WorldsError

GIT_LIMIT = 20.0  # seconds; a command on a repository this small takes milliseconds

INIT = '"""Prints a CSV file as a table."""\n'

MAIN = '''"""python3 -m columns FILE"""

import sys

from columns.draw import table
from columns.read import rows

with open(sys.argv[1], encoding="utf-8", newline="") as file:
    print(table(rows(file.read())))
'''

READ = '''"""Reads CSV text into rows of cells."""


def rows(text):
    """Return the rows of a CSV text, each a list of cells."""
    return [line.split(",") for line in text.splitlines()]
'''

DRAW = '''"""Draws rows of cells as a table."""


def table(rows):
    """Return the table as text: each column as wide as its widest cell, two spaces between."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell + " " * (width - len(cell)) for cell, width in zip(row, widths)]
        lines.append("  ".join(cells).rstrip())
    return "\\n".join(lines)
'''

CHECK = '''"""Checks of the program: python3 check.py. Exits 1 while one of them fails."""

import sys

from columns.draw import table
from columns.read import rows


def plain_cells():
    assert rows("plant,place\\nrose,bed 1\\n") == [["plant", "place"], ["rose", "bed 1"]]


def a_comma_inside_quotes():
    found = rows('rose,"bed 1, by the wall"\\n')[0]
    assert len(found) == 2, f"{len(found)} cells instead of 2"
    assert found[1] == "bed 1, by the wall", found[1]


def doubled_quotes():
    found = rows('rose,"called ""Peace"""\\n')[0][1]
    assert found == 'called "Peace"', f"the cell is {found}"


def a_line_break_inside_quotes():
    found = rows('plant,note\\npeony,"needs shade\\nuntil June"\\n')
    assert len(found) == 2, f"{len(found)} rows instead of 2"
    assert found[1][1] == "needs shade\\nuntil June", found[1][1]


def a_row_stays_on_one_line():
    found = table([["peony", "needs shade\\nuntil June"]])
    assert found == "peony  needs shade / until June", f"the table is {found!r}"


def chinese_names_line_up():
    found = table([["rose", "bed 1"], ["牡丹花", "bed 2"]])
    assert found == "rose    bed 1\\n牡丹花  bed 2", "the second column does not line up"


CHECKS = [
    plain_cells,
    a_comma_inside_quotes,
    doubled_quotes,
    a_line_break_inside_quotes,
    a_row_stays_on_one_line,
    chinese_names_line_up,
]

passed = 0
for check in CHECKS:
    name = check.__name__.replace("_", " ")
    try:
        check()
    except AssertionError as error:
        print(f"FAIL  {name}: {error}")
    else:
        passed += 1
        print(f"ok    {name}")
print(f"{passed} of {len(CHECKS)} checks pass")
sys.exit(passed < len(CHECKS))
'''

PLANTS = """plant,place,note
rose,"bed 1, by the wall","called ""Peace\"""
牡丹,bed 2,"needs shade
until June"
wisteria,gate,planted in 2019
"""

FILES: Mapping[str, str] = {
    ".gitignore": "__pycache__/\n",
    "columns/__init__.py": INIT,
    "columns/__main__.py": MAIN,
    "columns/read.py": READ,
    "columns/draw.py": DRAW,
    "check.py": CHECK,
    "data/plants.csv": PLANTS,
}
"""The files of the first commit, by their paths."""

FIRST_COMMIT = "Print a CSV file as a table"

CONFIG = """[user]
    name = Flower demo
    email = demo@example.invalid
[init]
    defaultBranch = main
[core]
    excludesFile =
    attributesFile =
    autocrlf = false
[commit]
    gpgSign = false
"""


class GitMissing(WorldsError):
    """There is no git to make the demo's repository with."""

    def __init__(self) -> None:
        super().__init__(
            "The demo works in a small git repository, and git was not found.",
            kept="Nothing was started.",
            next="Install git, see that `git --version` works, and start the demo again.",
        )


class GitFailed(WorldsError):
    """A git command of the demo failed."""

    def __init__(self, command: str, said: str) -> None:
        super().__init__(
            f"`{command}` failed in the demo's repository: {said or 'it said nothing'}.",
            kept="Nothing outside the demo's folder was touched.",
            next="See that `git --version` works, or give the demo another folder: flower demo --keep DIR",
        )


def git_environment(workspace: Path, config: Path) -> dict[str, str]:
    """The variables that tie git to this repository and to the configuration file `config`."""
    git = workspace / ".git"
    person = {"NAME": "Flower demo", "EMAIL": "demo@example.invalid"}
    return {
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": "0",
        # A git hook's variables point to the person's repository, and nothing can unset them for the CLI's shell.
        "GIT_DIR": str(git),
        "GIT_WORK_TREE": str(workspace),
        "GIT_INDEX_FILE": str(git / "index"),
        "GIT_TERMINAL_PROMPT": "0",
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in person.items()},
    }


def build(workspace: Path, config: Path, environment: Mapping[str, str]) -> None:
    """Make the repository in `workspace`, a new folder, with its one commit. Raises GitMissing, GitFailed, OSError."""
    config.write_text(CONFIG, encoding="utf-8")
    for name, content in FILES.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="\n")
    git(workspace, environment, "init", "--quiet", "--template=")
    git(workspace, environment, "add", "--all")
    git(workspace, environment, "commit", "--quiet", f"--message={FIRST_COMMIT}")


def git(workspace: Path, environment: Mapping[str, str], *arguments: str) -> str:
    """What a git command prints. `environment` is all it gets. Raises GitMissing, GitFailed."""
    command = " ".join(("git", *arguments))
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=workspace,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_LIMIT,
            check=False,
        )
    except FileNotFoundError as error:
        raise GitMissing from error
    except subprocess.TimeoutExpired as error:
        raise GitFailed(command, f"no answer in {GIT_LIMIT:.0f} s") from error
    if done.returncode:
        raise GitFailed(command, done.stderr.decode("utf-8", "replace").strip())
    return done.stdout.decode("utf-8", "replace")
