"""kill -9 between any two system calls of a write: a whole old or new file, nothing lost, and the next write works."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from flower_mcp.core.books import LiveStep, State, StepResult
from flower_mcp.workbench import exchange
from flower_mcp.workbench.ledger import Manifest
from flower_mcp.workbench.tasks import By
from flower_mcp.workbench.workbench import Workbench

forkserver = multiprocessing.get_context("forkserver")
forkserver.set_forkserver_preload(["flower_mcp.workbench.workbench", "flower_mcp.core.masking", "pytest"])
CALLS = ("open", "write", "fsync", "fchmod", "replace", "rename", "link", "unlink", "mkdir")  # those that leave a trace
OLD = "# 交接 · work\n\n## Doing now\n\n" + "old words\n" * 100 + "\n## Next\n\ngo on\n"
NEW = OLD.replace("old", "new")


def kill_before_call(number: int) -> None:
    """From now on the process dies before its n-th system call that may change a file."""
    calls = count(1)

    def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            if next(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))
    exchange._rename = deadly(exchange._rename)


def freeze(workspace: Path) -> None:
    Workbench(workspace).freeze("work", NEW)


def freeze_checked(workspace: Path) -> None:
    bench = Workbench(workspace)
    document = bench.read("work")
    bench.freeze("work", NEW, expected=document.revision if document else "new")


def edit(workspace: Path) -> None:
    Workbench(workspace).edit("work", "next", "stop")


def add(workspace: Path) -> None:
    Workbench(workspace).tasks.add("work", "more words", By.SAY, "now")


def start(workspace: Path) -> None:
    Workbench(workspace).tasks.start("work", "other words")


def record(workspace: Path) -> None:
    Manifest(workspace / "runs").put(StepResult(run="r2", step="work"))
    Workbench(workspace).lives.write(LiveStep("work", State.DONE, StepResult(run="r2", step="work")), durable=True)


def dying(act: Callable[[Path], None], workspace: Path, number: int) -> None:
    kill_before_call(number)
    act(workspace)


def kill_at(act: Callable[[Path], None], workspace: Path, number: int) -> bool:
    """Run the act in a process that is killed at its n-th call; whether it was."""
    process = forkserver.Process(target=dying, args=(act, workspace, number))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def killed_everywhere(
    act: Callable[[Path], None], folder: Path, prepare: Callable[[Path], None], check: Callable[[Path], None]
) -> int:
    """Prepare, kill and check a workspace for each call of the act. How many there were."""
    for number in count(1):
        workspace = folder / str(number)
        workspace.mkdir()
        prepare(workspace)
        if not kill_at(act, workspace, number):
            return number - 1
        check(workspace)
    raise AssertionError("not reached")


def contents(folder: Path) -> list[str]:
    """The files in a folder that have lasting names."""
    return [path.read_text() for path in folder.glob("*.md") if not path.name.startswith(".")]


@pytest.mark.parametrize("act", [freeze, freeze_checked, edit])
def test_a_killed_write_leaves_a_whole_document_and_every_version(act: Callable[[Path], None], tmp_path: Path) -> None:
    after = OLD.replace("go on", "stop") if act is edit else NEW

    def check(workspace: Path) -> None:
        bench = Workbench(workspace)
        document = bench.read("work")
        assert document is not None
        assert document.text in (OLD, after)
        versions = [version.data().decode() for version in bench.history("work")]
        assert OLD in (document.text, *versions)
        assert set(versions) <= {OLD, after}

        act(workspace)
        document = bench.read("work")
        assert document is not None
        assert document.text == after
        assert OLD in [version.data().decode() for version in bench.history("work")]

    calls = killed_everywhere(act, tmp_path, _freeze_old, check)

    assert calls > 8


def test_a_killed_first_freeze_leaves_no_document_or_a_whole_one(tmp_path: Path) -> None:
    def check(workspace: Path) -> None:
        bench = Workbench(workspace)
        document = bench.read("work")
        assert document is None or document.text == NEW
        freeze(workspace)
        document = bench.read("work")
        assert document is not None
        assert document.text == NEW
        assert (bench.folder / ".gitignore").read_text() == "*\n"

    calls = killed_everywhere(freeze, tmp_path, lambda _workspace: None, check)

    assert calls > 8


@pytest.mark.parametrize("act", [add, start])
def test_a_killed_writer_of_a_persons_words_loses_none(act: Callable[[Path], None], tmp_path: Path) -> None:
    after = "first words\n\n## now · say\n\nmore words" if act is add else "other words"

    def check(workspace: Path) -> None:
        tasks = Workbench(workspace).tasks
        text = tasks.read("work")
        assert text in ("first words", after)
        assert any("first words" in kept for kept in (text, *contents(tasks.archive)))

    calls = killed_everywhere(act, tmp_path, _start_first, check)

    assert calls > 8


def test_killed_books_are_whole(tmp_path: Path) -> None:
    def prepare(workspace: Path) -> None:
        Manifest(workspace / "runs").put(StepResult(run="r1", step="work"))
        Workbench(workspace).lives.write(LiveStep("work", State.STOPPED, StepResult(run="r1", step="work")))

    def check(workspace: Path) -> None:
        told: list[str] = []
        assert [row["run"] for row in Manifest(workspace / "runs").rows()] in (["r1"], ["r1", "r2"])
        live = Workbench(workspace, say=told.append).live("work")
        assert live is not None
        assert live.state in (State.STOPPED, State.DONE)
        assert told == []

    calls = killed_everywhere(record, tmp_path, prepare, check)

    assert calls > 8


def _freeze_old(workspace: Path) -> None:
    Workbench(workspace).freeze("work", OLD)


def _start_first(workspace: Path) -> None:
    Workbench(workspace).tasks.start("work", "first words")
