"""What the three sessions of the demo say and do, as values: each reply with what must have been heard before it.

It must not know who asks, nor how a reply is sent. Token figures are part of the script; the handoff line lies at
150,000. What can hurt: the CLI edits only what the session has read, and a text that is not in a file changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flower_mcp.demo.documents import DEAD_END, FIRST, FIRST_SUBJECT, SECOND, SECOND_SUBJECT, TRACE
from flower_mcp.demo.reply import Reply, text, tool
from flower_mcp.demo.workshop import DRAW, READ

FIRST_TRY = {
    "import": (
        '"""Reads CSV text into rows of cells."""\n',
        '"""Reads CSV text into rows of cells."""\n\nimport re\n\n'
        f'{TRACE} = re.compile(r\',(?=(?:[^"]*"[^"]*")*[^"]*$)\')\n',
    ),
    "rows": (
        '    return [line.split(",") for line in text.splitlines()]\n',
        f"    return [[plain(cell) for cell in {TRACE}.split(line)] for line in text.splitlines()]\n\n\n"
        "def plain(cell):\n"
        '    """Return a cell without its quotes."""\n'
        "    return cell[1:-1].replace('\"\"', '\"') if cell[:1] == cell[-1:] == '\"' else cell\n",
    ),
}

READ_WITH_CSV = READ.replace('cells."""\n\n', 'cells."""\n\nimport csv\nimport io\n\n', 1).replace(
    '[line.split(",") for line in text.splitlines()]', 'list(csv.reader(io.StringIO(text, newline="")))'
)

WIDTH = '''"""Draws rows of cells as a table."""

import unicodedata


def width(text):
    """Return how many columns a text takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
'''

TABLE = """    shown = [[cell.replace("\\n", " / ") for cell in row] for row in rows]
    widths = [max(width(row[column]) for row in shown) for column in range(len(shown[0]))]
    lines = []
    for row in shown:
        cells = [cell + " " * (most - width(cell)) for cell, most in zip(row, widths)]
"""
OLD_TABLE = "".join(DRAW.splitlines(keepends=True)[5:9])


@dataclass(frozen=True, slots=True)
class Beat:
    """One reply, and the words that must have come in with the request for it to be true.

    `edited` is said in its place when the scripted person has edited the first document; `edit_arrives` marks the beat
    that must have heard of it then.
    """

    reply: Reply
    heard: tuple[str, ...] = ()
    edited: Reply | None = None
    edit_arrives: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """What one session says in its work, and the document that it writes when it is asked for one."""

    work: tuple[Beat, ...]
    document: Beat | None = None


def sessions(workspace: Path) -> tuple[Session, ...]:
    """The three sessions, for a repository in `workspace`."""
    return _first(workspace), _second(workspace), _third(workspace)


def _first(workspace: Path) -> Session:
    """Looks around, tries a regular expression, sees it fail, takes it back."""
    read, check = str(workspace / "columns/read.py"), tool("Bash", command="python3 check.py", description="Check")
    look = (
        text("I look at the program first, then at what the checks say.")
        + tool("Read", file_path=read)
        + tool("Read", file_path=str(workspace / "columns/draw.py"))
        + tool("Read", file_path=str(workspace / "check.py"))
    )
    attempt = text("Reading first. The smallest change: split at commas that stand outside quotes.")
    for old, new in FIRST_TRY.values():
        attempt += tool("Edit", file_path=read, old_string=old, new_string=new)
    back = text(
        "A dead end: the line break inside the cell has cut it before the pattern sees it, and no pattern mends that. "
        "I take it back; the csv module reads all of this."
    ) + tool(
        "Bash", command="git checkout -q -- columns/read.py && git status --short --branch", description="Take it back"
    )
    return Session(
        work=(
            Beat(look.at(30_000), heard=("python3 -m columns FILE",)),
            Beat(check.at(62_000), heard=("text.splitlines()", "chinese_names_line_up")),
            Beat(attempt.at(118_000), heard=("1 of 6 checks pass",)),
            Beat((text("Does it hold?") + check).at(141_000)),
            Beat(back.at(153_000), heard=(DEAD_END, "3 of 6 checks pass")),
        ),
        document=Beat(text(FIRST).at(155_000), heard=("1 of 6 checks pass", DEAD_END, "3 of 6 checks pass", "## main")),
    )


def _second(workspace: Path) -> Session:
    """Takes over, reads cells with csv, commits that half, begins the other; does what the person added, if he did."""
    read, draw = str(workspace / "columns/read.py"), str(workspace / "columns/draw.py")
    files = tool("Read", file_path=read) + tool("Read", file_path=draw)
    known = "I take over. Regular expressions on single lines are a known dead end, so it is the csv module."
    arrived = (
        " A person edited the document while it waited: the last line under Next is theirs, and it was in this "
        "session's first prompt. I will look at the plant list before I commit."
    )
    command = f'git commit -q -m "{FIRST_SUBJECT}" -- columns/read.py && git log --oneline -1'
    commit = text("Four of six, as the document says to expect. I commit this half.") + tool(
        "Bash", command=command, description="Commit the reading"
    )
    look_first = text("Four of six. First the plant list, as the person asked, then the commit.") + tool(
        "Bash",
        command=f"python3 -m columns data/plants.csv && {command}",
        description="Look at the plant list, commit the reading",
    )
    begin = text("Now the drawing: first a function that knows how wide a text is.") + tool(
        "Edit", file_path=draw, old_string='"""Draws rows of cells as a table."""\n', new_string=WIDTH
    )
    return Session(
        work=(
            Beat(
                (text(known) + files).at(33_000),
                heard=(DEAD_END,),
                edited=(text(known + arrived) + files).at(33_000),
                edit_arrives=True,
            ),
            Beat(tool("Write", file_path=read, content=READ_WITH_CSV).at(58_000), heard=("line.split",)),
            Beat(tool("Bash", command="python3 check.py", description="Check").at(96_000)),
            Beat(commit.at(137_000), heard=("4 of 6 checks pass",), edited=look_first.at(137_000)),
            Beat(begin.at(152_000), heard=(FIRST_SUBJECT,)),
        ),
        document=Beat(text(SECOND).at(154_000), heard=("4 of 6 checks pass", FIRST_SUBJECT)),
    )


def _third(workspace: Path) -> Session:
    """Takes over, finishes the drawing, sees all checks pass, commits."""
    draw = str(workspace / "columns/draw.py")
    take_over = text("I take over: reading is committed, width() is there and not yet used.") + tool(
        "Read", file_path=draw
    )
    finish = tool("Edit", file_path=draw, old_string=OLD_TABLE, new_string=TABLE)
    commit = text("All six pass, and the plant list looks right.") + tool(
        "Bash",
        command=f'git commit -q -m "{SECOND_SUBJECT}" -- columns/draw.py && git log --oneline && git status --short',
        description="Commit the drawing",
    )
    check = tool("Bash", command="python3 check.py && python3 -m columns data/plants.csv", description="Check and look")
    done = text(
        "Done. `python3 -m columns FILE` reads quoted cells with commas, doubled quotes and line breaks, keeps each "
        "row on one line and lines up Chinese names. All six checks pass; both halves are committed, and check.py and "
        "data/ are unchanged."
    )
    return Session(
        work=(
            Beat(take_over.at(34_000), heard=(DEAD_END,)),
            Beat(finish.at(47_000), heard=("def width(text)",)),
            Beat(check.at(61_000)),
            Beat(commit.at(72_000), heard=("6 of 6 checks pass", "needs shade / until June")),
            Beat(done.at(75_000), heard=(FIRST_SUBJECT, SECOND_SUBJECT)),
        ),
    )
