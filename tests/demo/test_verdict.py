"""The demo's verdict: it believes the disk alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from flower_mcp import Handoff, Workbench
from flower_mcp.demo.documents import DEAD_END, FIRST, FIRST_SUBJECT, SECOND, SECOND_SUBJECT, TRACE
from flower_mcp.demo.sessions import OLD_TABLE, READ_WITH_CSV, TABLE, WIDTH
from flower_mcp.demo.story import DemoWorld, verify
from flower_mcp.demo.workshop import DRAW, git
from flower_mcp.demo.world import complete


@pytest.fixture
def finished(world: DemoWorld) -> DemoWorld:
    """A world as the story leaves it, made without any session."""
    drawn = DRAW.replace('"""Draws rows of cells as a table."""\n', WIDTH).replace(OLD_TABLE, TABLE)
    for name, content, subject in (
        ("columns/read.py", READ_WITH_CSV, FIRST_SUBJECT),
        ("columns/draw.py", drawn, SECOND_SUBJECT),
    ):
        (world.workspace / name).write_text(content, encoding="utf-8")
        git(world.workspace, complete(world.environment), "commit", "--quiet", "--all", f"--message={subject}")
    for document in (FIRST, SECOND):
        Workbench(world.workspace).freeze(world.step, document)
    return world


def test_a_world_as_the_story_leaves_it_has_no_problems(finished: DemoWorld) -> None:
    assert verify(finished) == []


def change_draw(world: DemoWorld) -> None:
    """Break the drawing."""
    (world.workspace / "columns/draw.py").write_text(DRAW)


def change_check(world: DemoWorld) -> None:
    """Make the checks pass by changing them."""
    (world.workspace / "check.py").write_text("print('6 of 6 checks pass')\n")


def leave_trace(world: DemoWorld) -> None:
    """Leave the dead end in the code."""
    with (world.workspace / "columns/read.py").open("a") as file:
        file.write(f"{TRACE} = None\n")


def commit_trace(world: DemoWorld) -> None:
    """Let the dead end into the last commit."""
    leave_trace(world)
    environment = complete(world.environment)
    git(world.workspace, environment, "commit", "--quiet", "--all", "--amend", "--no-edit")


def lose_commit(world: DemoWorld) -> None:
    """Take the last commit back, and keep its files."""
    git(world.workspace, complete(world.environment), "reset", "--quiet", "--soft", "HEAD~1")


def forget_dead_end(world: DemoWorld) -> None:
    """Write a document without the dead end."""
    path = world.workspace / ".flower/notes/交接-work.md"
    path.write_text(path.read_text(encoding="utf-8").replace(DEAD_END, "It failed."), encoding="utf-8")


def one_more_document(world: DemoWorld) -> None:
    """Freeze a document of code's own."""
    Workbench(world.workspace).freeze(world.step, Handoff(doing="[降级:交接没写成]", next="Look."))


def empty_archive(world: DemoWorld) -> None:
    """Take the first document away."""
    for version in Workbench(world.workspace).history(world.step):
        version.path.unlink()


def no_documents(world: DemoWorld) -> None:
    """Take the workbench away."""
    shutil.rmtree(world.workspace / ".flower")


def no_repository(world: DemoWorld) -> None:
    """Take the repository away."""
    shutil.rmtree(world.workspace / ".git")


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (change_draw, "the checks do not pass: 4 of 6"),
        (change_check, "check.py is not as it was"),
        (leave_trace, "the dead end is still in read.py"),
        (commit_trace, "the dead end was committed"),
        (lose_commit, "the commits are not those of the story"),
        (lose_commit, "not committed: M  columns/draw.py"),
        (forget_dead_end, "the second document does not carry the dead end"),
        (empty_archive, "the first document is not in the archive"),
        (one_more_document, "put together by code"),
        (no_documents, "there is no document"),
        (no_repository, "it could not be looked at"),
    ],
)
def test_the_verdict_names_what_is_wrong(finished: DemoWorld, damage: Callable[[DemoWorld], Any], problem: str) -> None:
    damage(finished)
    assert problem in "\n".join(verify(finished))
