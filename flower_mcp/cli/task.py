"""Where the task comes from: the command line, stdin, what the step left, or a person at the terminal.

It must not start a session. What can hurt: a mistyped command must not become a task that costs money, and an empty
variable (`flower "$TASK"`) must not silently go on with what was there.
"""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from flower_mcp.core.errors import Usage

if TYPE_CHECKING:
    from pathlib import Path

STDIN = "-"


def task_from(words: Sequence[str], *, short: bool, commands: Iterable[str]) -> str | None:
    """The task on the command line; None when there is none. `short`: the form without `run`, which is stricter.

    Raises Usage: several words without quotes, an empty text, and in the short form a single word that may well be a
    mistyped command.
    """
    if not words:
        return None
    commands = sorted(commands)
    if short and words[0] in commands:
        raise Usage(
            f"`{words[0]}` is a command, and a command comes before its options.", next=f"flower {words[0]} --help"
        )
    if len(words) > 1:
        raise Usage(
            f"A task is one argument, and these are {len(words)}.",
            next=f"Put it in quotes: flower {shlex.quote(' '.join(words))}",
        )
    task = words[0]
    if task == STDIN:
        task = read_stdin()
    elif short and _is_one_word(task):
        near = difflib.get_close_matches(task.lower(), commands, n=1)
        meant = f"; did you mean `{near[0]}`?" if near else "."
        raise Usage(f"no command `{task}`{meant}", next=f"As a task: flower run {shlex.quote(task)}")
    if not task.strip():
        raise Usage("The task is empty.", next="Leave it out to go on with what the step has left.")
    return task


def task_asked_for(question: Callable[[], None]) -> str:
    """Ask the person for the task. Raises Usage when nobody is at the terminal, or nothing is answered."""
    nothing = Usage(
        "There is no task, and the step has nothing left to go on with.",
        next="Give one: flower 'TASK', or flower - < FILE",
    )
    if sys.stdin is None or sys.stdout is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise nothing
    question()
    task = _decoded(sys.stdin.buffer.readline()).strip()
    if not task:
        raise nothing
    return task


def is_left(workspace: Path, run_dir: Path, step: str, say: Callable[[str], None]) -> bool:
    """Whether the step has something to go on with: an unfinished session, a document or words that wait.

    `say` gets sentences about files that could not be read and were set aside. Makes nothing. Raises FilesError.
    """
    from flower_mcp.core.books import State
    from flower_mcp.workbench.ledger import Lineage
    from flower_mcp.workbench.workbench import Workbench

    workbench = Workbench(workspace, say=say)
    live = workbench.live(step)
    if live is not None:
        return live.state is not State.DONE or bool(workbench.lives.waiting(step))  # said when its session had ended
    lineage = Lineage(run_dir).read()
    has_lineage = step in lineage.steps and lineage.workspace in ("", str(workspace))
    return has_lineage or workbench.documents.path(step).exists()


def _is_one_word(text: str) -> bool:
    return text.isascii() and len(text.split()) == 1


def read_stdin() -> str:
    if sys.stdin is None:
        raise Usage("There is no stdin to read the task from.", next="Give it as an argument: flower 'TASK'")
    return _decoded(sys.stdin.buffer.read())


def _decoded(data: bytes) -> str:
    from flower_mcp.core.decode import decode

    return decode(data).text
