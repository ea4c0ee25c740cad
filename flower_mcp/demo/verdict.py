"""What the disk says about the demo once it is over. It believes neither the model nor the supervisor.

It reads the repository and the workbench, and runs the checks once more. It must not know the script.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

from flower_mcp.core.errors import FlowerError
from flower_mcp.core.handoff import Handoff
from flower_mcp.demo.documents import DEAD_END, FIRST_SUBJECT, SECOND_SUBJECT, TRACE
from flower_mcp.demo.workshop import FILES, FIRST_COMMIT, git
from flower_mcp.demo.world import DemoWorld, complete
from flower_mcp.workbench.workbench import Workbench

CHECK_LIMIT = 30.0  # seconds; the checks take a tenth of one
UNTOUCHED = ("check.py", "data/plants.csv")


def verify(world: DemoWorld) -> list[str]:
    """The problems with what the demo has left behind, a sentence each; none when the story came true."""
    try:
        return [*_of_checks(world), *_of_repository(world), *_of_documents(world)]
    except (FlowerError, OSError, subprocess.TimeoutExpired) as error:
        return [f"it could not be looked at: {error}"]


def _of_checks(world: DemoWorld) -> Iterator[str]:
    """Whether the checks pass, and are those of the first commit."""
    for name in UNTOUCHED:
        path = world.workspace / name
        if not path.is_file() or path.read_text(encoding="utf-8") != FILES[name]:
            yield f"{name} is not as it was."
    done = subprocess.run(
        ["python3", "check.py"],
        cwd=world.workspace,
        env=complete(world.environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=CHECK_LIMIT,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace").strip().splitlines()
    if done.returncode or not said or said[-1] != "6 of 6 checks pass":
        yield f"the checks do not pass: {said[-1] if said else 'they printed nothing'}."


def _of_repository(world: DemoWorld) -> Iterator[str]:
    """Whether both halves are committed, nothing lies about, and the dead end has left no trace."""
    environment = complete(world.environment)
    subjects = git(world.workspace, environment, "log", "--format=%s").splitlines()
    if subjects != [SECOND_SUBJECT, FIRST_SUBJECT, FIRST_COMMIT]:
        yield f"the commits are not those of the story: {', '.join(subjects)}."
    if lying := git(world.workspace, environment, "status", "--short").splitlines():
        yield f"not committed: {', '.join(line.strip() for line in lying)}."
    if git(world.workspace, environment, "log", "--all", "--format=%h", f"-S{TRACE}"):
        yield f"the dead end was committed: {TRACE}."
    for path in sorted(world.workspace.glob("columns/*.py")):
        if TRACE in path.read_text(encoding="utf-8"):
            yield f"the dead end is still in {path.name}: {TRACE}."


def _of_documents(world: DemoWorld) -> Iterator[str]:
    """Whether a document lies there and the first one in the archive, all whole, all with the dead end.

    The first one is there once more for each time that a person wrote over it.
    """
    workbench = Workbench(world.workspace)
    current, before = workbench.read(world.step), workbench.history(world.step)
    if not before:
        yield "the first document is not in the archive."
    for version in before:
        yield from _of_document("the first document", Handoff.from_markdown(version.data().decode("utf-8", "replace")))
    if current is None:
        yield "there is no document."
    else:
        yield from _of_document("the second document", current.handoff)


def _of_document(name: str, handoff: Handoff) -> Iterator[str]:
    if handoff.degraded:
        yield f"{name} was put together by code, no session wrote it."
    if not handoff.complete():
        yield f"{name} lacks {' and '.join(handoff.missing())}."
    if DEAD_END not in handoff.deadends:
        yield f"{name} does not carry the dead end."
