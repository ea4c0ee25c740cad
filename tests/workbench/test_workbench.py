"""The workbench as a whole: nothing before the first write, nothing outside the workspace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flower_mcp.core.errors import FilesError
from flower_mcp.workbench.inbox import Asks, Message
from flower_mcp.workbench.workbench import Workbench


def test_looking_makes_nothing(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)

    assert bench.read("work") is None
    assert bench.history("work") == ()
    assert bench.live("work") is None
    assert bench.tasks.read("work") is None
    assert list(tmp_path.iterdir()) == []


FIRST_WRITES: dict[str, Callable[[Workbench], object]] = {
    "freeze": lambda bench: bench.freeze("work", "text"),
    "task": lambda bench: bench.tasks.start("work", "words"),
    "event": lambda bench: bench.lives.append([{"n": 1}]),
    "message": lambda bench: bench.lives.put("work", Message("", "me", Asks.SAY, "x")),
    "draft": lambda bench: bench.lives.write_draft("work", "x"),
    "run": lambda bench: bench.run_lock("work").acquire(),
}


@pytest.mark.parametrize("write", FIRST_WRITES)
def test_the_first_write_makes_the_folders_that_git_ignores(write: str, tmp_path: Path) -> None:
    FIRST_WRITES[write](Workbench(tmp_path))

    assert (tmp_path / ".flower" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / ".flower").stat().st_mode & 0o777 == 0o700


def test_a_workbench_in_a_linked_workspace_is_the_same_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    Workbench(tmp_path / "real").freeze("work", "text")

    document = Workbench(tmp_path / "link").read("work")

    assert document is not None
    assert document.path == tmp_path.resolve() / "real" / ".flower" / "notes" / "交接-work.md"


def test_a_workbench_that_leads_out_or_is_no_folder_is_refused(tmp_path: Path) -> None:
    for name in ("out", "file", "circle"):
        (tmp_path / name).mkdir()
    (tmp_path / "out" / ".flower").symlink_to(tmp_path)
    (tmp_path / "file" / ".flower").write_text("")
    (tmp_path / "circle" / ".flower").symlink_to(".flower")

    for name in ("out", "file", "circle", "missing"):
        with pytest.raises(FilesError):
            Workbench(tmp_path / name)


@pytest.mark.parametrize("part", ["notes", "live", "notes/archive"])
def test_no_folder_inside_may_lead_out(part: str, tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    outside.mkdir()
    (workspace / ".flower" / part).parent.mkdir(parents=True)
    (workspace / ".flower" / part).symlink_to(outside)
    bench = Workbench(workspace)

    with pytest.raises(FilesError):
        bench.freeze("work", "text")

    assert list(outside.iterdir()) == []


def test_a_link_in_a_documents_place_is_neither_read_nor_written(tmp_path: Path) -> None:
    target = tmp_path / "target.md"
    target.write_text("outside")
    workspace = tmp_path / "workspace"
    (workspace / ".flower" / "notes").mkdir(parents=True)
    (workspace / ".flower" / "notes" / "交接-work.md").symlink_to(target)
    bench = Workbench(workspace)

    for act in (lambda: bench.read("work"), lambda: bench.freeze("work", "x"), lambda: bench.edit("work", "next", "x")):
        with pytest.raises(FilesError, match="link"):
            act()
    assert target.read_text() == "outside"


def test_importing_the_workbench_imports_nothing_heavy() -> None:
    code = (
        "import sys, flower_mcp.workbench.workbench, flower_mcp.workbench.ledger, flower_mcp.workbench.windows\n"
        "print(*{'pydantic', 'mcp', 'claude_agent_sdk', 'anyio', 'platformdirs', 'ctypes'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.split() == []
