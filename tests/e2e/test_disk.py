"""A real run on a real disk that refuses: it goes on in memory, says so, and writes what it owes when it can."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime, Workbench
from flower_mcp.demo.model import ScriptedModel, Story, each_session, text
from tests.disks import fill, read_only, small_disk
from tests.e2e.steps import (
    TAKING_OVER,
    archived,
    bash,
    document_path,
    handing_over,
    manifest,
    run_step,
    two_sessions,
)

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

NEXT = "port test_resume next"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A workspace on a small disk; the books lie beside it, on the same disk."""
    with small_disk(tmp_path / "small", "1m") as disk:
        (disk / "workspace").mkdir()
        yield disk / "workspace"


def events(workspace: Path) -> list[str]:
    """The kinds in events.jsonl, in order; torn lines are passed over, as every reader does."""
    return [str(line["kind"]) for line in Workbench(workspace).lives.tail(999)]


async def test_what_a_full_disk_refused_is_written_when_there_is_room_again(model: ScriptedModel, place: Path) -> None:
    disk = place.parent

    def during(_runtime: Runtime, event: Event) -> None:
        phase = event.payload.get("phase")
        if phase == "writing":
            fill(disk)
        elif event.kind == "tool" and "make room" in event.text:
            (disk / "filler").unlink()

    last = Story([bash("echo make room").at(20_000), bash("echo b").at(20_050), text("All ported.").at(20_100)])
    model.script = each_session(handing_over(bash("echo a").at(40_000), bash("echo b").at(155_000)), last)
    run = await run_step(place, during=during)

    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 2
    opening = next(request for request in model.requests if request.asks(TAKING_OVER))
    assert NEXT in opening.all_text()
    path = document_path(place)
    assert NEXT in path.read_text()
    assert archived(place) == []
    assert run.result.generations[0].path == str(path)
    assert not [request for request in model.requests if request.asks("a person changed")]
    assert not run.of("edit", "late")
    refused = [error for error in run.result.errors if "No space left" in error]
    assert len([error for error in refused if str(path) in error]) == 1
    assert any(event.text.startswith("written after all:") for event in run.of("retry"))
    row = manifest(place)[0]
    assert (row["ok"], row["session_id"]) == (True, run.result.session_id)
    lineage = json.loads((disk / "runs" / "lineage.json").read_text())
    assert lineage["steps"] == {"work": run.result.session_id}
    assert sorted(events(place)) == sorted(event.kind for event in run.events)  # none lost, none twice
    assert not [path for path in disk.rglob("*") if path.name.endswith(".tmp") or path.name.startswith("keeper-")]


async def test_what_was_refused_to_the_end_lies_elsewhere_and_the_next_run_has_it_written_again(
    model: ScriptedModel, workspace: Path, tmp_path: Path
) -> None:
    with ExitStack() as refusing:

        def during(runtime: Runtime, event: Event) -> None:
            if event.payload.get("phase") == "writing":
                refusing.enter_context(read_only(workspace / ".flower"))
                refusing.enter_context(read_only(runtime.run_dir))

        model.script = two_sessions()
        run = await run_step(workspace, during=during)
    assert run.result.ok, run.result.error
    assert not document_path(workspace).exists()
    kept = list((tmp_path / "state" / "unwritten").iterdir())
    assert [NEXT in path.read_text() for path in kept] == [True]
    assert any(f"it is in {kept[0]}" in error for error in run.result.errors)
    assert any("not up to date" in error and "manifest.json" in error for error in run.result.errors)

    model.script = two_sessions()
    again = await run_step(workspace, "")
    assert again.result.ok, again.result.error
    assert again.result.retired == run.result.retired  # the session that knows it all writes once more
    assert NEXT in document_path(workspace).read_text()
    assert [row["state"] for row in manifest(workspace)] == ["stopped", "done"]


async def test_a_step_runs_where_nothing_can_be_written_at_all(
    model: ScriptedModel, workspace: Path, tmp_path: Path
) -> None:
    model.script = two_sessions()
    with read_only(workspace):
        run = await run_step(workspace, "The task.")
    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 2
    assert not (workspace / ".flower").exists()
    assert any("nothing keeps a second flower" in error for error in run.result.errors)
    kept = tmp_path / "state" / "unwritten"
    assert sorted(path.name.split("-")[0] for path in kept.iterdir()) == ["交接", "任务"]
    assert any("Make that file system writable." in error for error in run.result.errors)


async def test_folders_that_become_read_only_midway_are_written_when_they_can_be(
    model: ScriptedModel, workspace: Path
) -> None:
    with ExitStack() as refusing:

        def during(runtime: Runtime, event: Event) -> None:
            if event.payload.get("phase") == "writing":
                refusing.enter_context(read_only(workspace / ".flower" / "notes"))
                refusing.enter_context(read_only(runtime.run_dir))
            elif event.kind == "text":
                refusing.close()

        model.script = two_sessions()
        run = await run_step(workspace, during=during)
    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 2
    assert NEXT in document_path(workspace).read_text()
    assert manifest(workspace)[0]["ok"]
    assert any("Read-only file system" in error and "manifest.json" in error for error in run.result.errors)
    assert not [error for error in run.result.errors if "not up to date" in error]


async def test_a_review_that_cannot_be_held_is_not_passed_over(model: ScriptedModel, place: Path) -> None:
    disk = place.parent

    def during(_runtime: Runtime, event: Event) -> None:
        if event.payload.get("phase") == "writing":
            fill(disk)

    model.script = two_sessions()
    run = await run_step(place, during=during, review=True)
    assert run.result.state == "stopped"
    assert "could not be held for your review" in (run.result.error or "")
    assert "Free some space" in (run.result.error or "")
    assert len(run.result.generations) == 1


async def test_a_workspace_that_was_moved_goes_on_from_its_document(
    model: ScriptedModel, workspace: Path, tmp_path: Path
) -> None:
    model.script = two_sessions()
    first = await run_step(workspace)
    moved = workspace.rename(tmp_path / "moved")
    model.script = text("Done there.").at(20_000)
    again = await run_step(moved, "And now this.")
    assert again.result.ok, again.result.error
    assert again.result.attempts == 1
    assert again.result.session_id != first.result.session_id  # whose folder it was is not known here any more
    opening = model.requests[-1].all_text()
    assert "And now this." in opening
    assert "pytest-mock: breaks the spies" in opening  # the document is: its text was frozen on this machine
