"""Edits that were taken back, from what the calls of a session did to its files."""

from __future__ import annotations

import pytest

from flower_mcp.core.facts import edits_undone
from flower_mcp.core.happened import happened
from flower_mcp.core.undone import How, restored
from tests.core.lines import Line, called, edited, ran, wrote

ONE = [*edited("/w/a.py", "x", "y"), *edited("/w/src/b.py", "p", "q")]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        pytest.param(ONE, [], id="edits that hold"),
        pytest.param([*ONE, *edited("/w/a.py", "y", "x")], [("/w/a.py", How.EDITED, "y")], id="the reverse edit"),
        pytest.param([*ONE, *edited("/w/src/b.py", "y", "x")], [], id="the reverse in another file"),
        pytest.param([*ONE, *edited("/w/a.py", "y", "x"), *edited("/w/a.py", "x", "y")], [], id="made again: it holds"),
        pytest.param(
            [*edited("a", "x", "y", of="x1"), *edited("a", "1", "2", of="y1"), *wrote("a", "x1", of="y2")],
            [("a", How.WRITTEN, "2")],
            id="written back, the newest of the file is told",
        ),
        pytest.param(
            [*wrote("a", "1"), *wrote("a", "2", of="1"), *wrote("a", "1", of="2")],
            [("a", How.WRITTEN, "2")],
            id="a new file written to and fro",
        ),
        pytest.param(
            [*wrote("a", "1"), *wrote("a", "2", of="1"), *wrote("a", "1", of="2"), *wrote("a", "2", of="1")],
            [],
            id="written again: it holds",
        ),
        pytest.param(
            [*edited("a", "x", "y", of="x1"), *edited("a", "1", "2", of="y1"), *edited("a", "y", "x", of="y2")],
            [("a", How.EDITED, "y")],
            id="the reverse edit with another in between",
        ),
        pytest.param(
            [*edited("a", "x", "y", of="x1"), *edited("a", "1", "2", of="y formatted 1")], [], id="changed by others"
        ),
        pytest.param(
            [*edited("a", "x", "y", of="x1"), *wrote("a", "x1", of="formatted")],
            [("a", How.WRITTEN, "y")],
            id="written back after others changed it",
        ),
        pytest.param(
            [*edited("a", "x", "y", of="x1"), *edited("a", "1", "2", of="x1")],
            [("a", How.OUTSIDE, "y")],
            id="the earlier text was there again",
        ),
        pytest.param(
            [*edited("a", "x", "y", of="x1"), *edited("a", "x", "y", of="x1")], [], id="taken back, and made again"
        ),
        pytest.param(
            [
                *edited("a", "x", "y", of="x1"),
                *edited("a", "1", "2", of="y1"),
                *edited("a", "y", "x", of="y2"),
                *wrote("a", "y2", of="x2"),
            ],
            [],
            id="what had taken it back was taken back",
        ),
        pytest.param(
            [
                *edited("a", "x", "y", of="x1"),
                *edited("a", "1", "2", of="y1"),
                *edited("a", "y", "x", of="y2"),
                *wrote("a", "y2", of="x2"),
                *edited("a", "y", "x", of="y2"),
            ],
            [("a", How.EDITED, "y")],
            id="and it was taken back after all",
        ),
        pytest.param([*ONE, *ran("cd /w && git checkout -- a.py")], [("/w/a.py", How.RESTORED, "y")], id="checkout"),
        pytest.param([*ONE, *ran("git restore ./a.py")], [("/w/a.py", How.RESTORED, "y")], id="restore"),
        pytest.param([*ONE, *ran("git restore src")], [("/w/src/b.py", How.RESTORED, "q")], id="a folder"),
        pytest.param(
            [*ONE, *ran("git reset --hard")],
            [("/w/a.py", How.RESTORED, "y"), ("/w/src/b.py", How.RESTORED, "q")],
            id="everything",
        ),
        pytest.param([*ONE, *ran("git checkout .", code=1)], [], id="git failed"),
        pytest.param([*ONE, *ran("git restore --staged a.py")], [], id="the index alone"),
        pytest.param([*ONE, *ran("git checkout src")], [], id="a branch"),
        pytest.param([*ONE, *ran("git checkout -b a.py"), *ran("git reset a.py")], [], id="a new branch"),
        pytest.param([*wrote("/w/n.py", "1"), *ran("git checkout .")], [], id="a file that git does not have"),
        pytest.param(
            [*ONE, *ran("git checkout ."), *edited("/w/a.py", "x", "y")],
            [("/w/src/b.py", How.RESTORED, "q")],
            id="made again after git",
        ),
        pytest.param(
            [*called("Edit", "no", failed=True, file_path="a", old_string="x", new_string="y"), *edited("a", "y", "x")],
            [],
            id="an edit that failed",
        ),
        pytest.param([*called("MultiEdit", "ok", file_path="a"), *called("Write", "ok", file_path="a")], [], id="bare"),
    ],
)
def test_an_edit_is_undone_when_it_was_taken_back_and_not_made_again(
    lines: list[Line], found: list[tuple[str, How, str]]
) -> None:
    told = [(each.change.path, each.how, each.change.shown) for each in edits_undone(happened(lines))]
    assert told == found


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("git checkout -- 'a.py' b.py", [("a.py", True), ("b.py", True)]),
        ("git -C sub checkout HEAD~1 -- a.py; echo b", [("a.py", True)]),
        ("git checkout main", [("main", False)]),
        ("git restore --source=HEAD~1 -- :/", [("", True)]),
        ("git restore -S -W a", [("a", True)]),
        ("git status && echo checkout", []),
        ("echo restore", []),
        ("git reset --hard HEAD~1 | tail -1", [("", True)]),
        ("git checkout ''", []),
    ],
)
def test_the_paths_that_git_puts_back_are_read_from_the_command(command: str, paths: list[tuple[str, bool]]) -> None:
    assert list(restored(command)) == paths
