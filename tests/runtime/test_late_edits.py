"""Late edits by hand: saves at instants that no real run can be made to hit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower_mcp import Handoff, HandoffPolicy
from flower_mcp.runtime.late_edits import Save
from flower_mcp.runtime.signals import Used
from flower_mcp.runtime.step import StepRun
from tests.e2e.editing import close, freeze, idle_run
from tests.e2e.steps import archived, document_path

OLD = Handoff(step="work", doing="Old.", next="Run it.")
NEW = Handoff(step="work", doing="New.", next="Run it all.")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[StepRun]:
    """A run whose session works from a frozen document."""
    (tmp_path / "workspace").mkdir()
    one = idle_run(tmp_path / "workspace", tmp_path / "runs", HandoffPolicy(edit_window=0))
    freeze(one, OLD)
    one.late.begin()
    yield one
    close(one)


def path_of(run: StepRun) -> Path:
    return document_path(run.setting.workspace)


def told(run: StepRun) -> list[tuple[str, str, str]]:
    """What waits to be told: section, before, after."""
    saves: list[Save] = run.late._saves
    return [(change.section, change.before, change.after) for save in saves for change in save.changes]


def test_an_editor_that_writes_into_the_file_that_a_freeze_has_swapped_out_is_heard(run: StepRun) -> None:
    with path_of(run).open("r+b") as file:
        content = file.read().replace(b"Run it.", b"Stop.")
        file.seek(0)
        file.truncate()
        freeze(run, NEW)
        file.write(content)
    assert told(run) == []
    run.late.notice()
    assert told(run) == [("next", "Run it.", "Stop.")]
    run.late.notice()
    assert len(told(run)) == 1
    assert b"New." in path_of(run).read_bytes()
    assert content in [each.read_bytes() for each in archived(run.setting.workspace)]


def test_a_save_between_the_last_look_and_the_swap_is_heard(run: StepRun, monkeypatch: pytest.MonkeyPatch) -> None:
    workbench = run.setting.workbench
    assert workbench is not None
    real = workbench.documents.freeze

    def just_before(*given: object, **options: object) -> object:
        path_of(run).write_text(path_of(run).read_text().replace("Run it.", "Stop."))
        return real(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(workbench.documents, "freeze", just_before)
    freeze(run, NEW)
    assert told(run) == [("next", "Run it.", "Stop.")]


def test_a_save_right_after_the_freeze_is_an_edit_of_the_new_document(run: StepRun) -> None:
    frozen = freeze(run, NEW)
    path_of(run).write_text(frozen.text.replace("Run it all.", "Stop."))
    assert frozen.path == path_of(run)
    assert run.late.known is not None
    assert run.late.known.revision == frozen.revision
    run.late.notice()
    assert told(run) == [("next", "Run it all.", "Stop.")]


def test_a_deleted_or_emptied_document_is_no_late_edit_and_its_return_is_one(run: StepRun) -> None:
    before = path_of(run).read_text()
    path_of(run).unlink()
    run.late.notice()
    path_of(run).write_bytes(b"")
    run.late.notice()
    assert told(run) == []
    path_of(run).write_text(before.replace("Run it.", "Stop."))
    run.late.notice()
    assert told(run) == [("next", "Run it.", "Stop.")]


def test_a_save_with_other_line_ends_is_nothing_to_tell(run: StepRun) -> None:
    path_of(run).write_bytes(path_of(run).read_bytes().replace(b"\n", b"\r\n"))
    run.late.notice()
    assert told(run) == []


def test_the_sessions_own_command_explains_a_change_once(run: StepRun) -> None:
    run.late.take(Used("Bash", "id", {"command": "sed -i s/a/b/ .flower/notes/*.md"}))
    path_of(run).write_text(path_of(run).read_text().replace("Run it.", "Mine."))
    run.late.notice()
    assert told(run) == []
    path_of(run).write_text(path_of(run).read_text().replace("Mine.", "Theirs."))
    run.late.notice()
    assert told(run) == [("next", "Mine.", "Theirs.")]


def edit(old: str, new: str) -> Used:
    """A session's Edit of the document."""
    return Used("Edit", old, {"file_path": ".flower/notes/交接-work.md", "old_string": old, "new_string": new})


@pytest.mark.parametrize("landed", [0, 1, 2], ids=["none yet", "the first", "the first two"])
def test_edits_of_one_message_are_the_sessions_own_however_many_had_been_made_when_the_last_began(
    run: StepRun, landed: int
) -> None:
    edits = [edit("Old.", "Older."), edit("Run it.", "Run."), edit("Run.", "Run it twice.")]

    def make(some: list[Used]) -> None:
        for each in some:
            path_of(run).write_text(
                path_of(run).read_text().replace(each.input["old_string"], each.input["new_string"])
            )

    long_ago = time.time() - 60
    os.utime(path_of(run), (long_ago, long_ago))
    for each in edits[:2]:
        run.late.take(each)
    make(edits[:landed])
    os.utime(path_of(run), (long_ago, long_ago))
    run.late.take(edits[2])
    make(edits[landed:])
    run.late.notice()
    assert told(run) == []
    path_of(run).write_text(path_of(run).read_text().replace("twice", "thrice"))
    run.late.notice()
    assert told(run) == [("next", "Run it twice.", "Run it thrice.")]


def test_a_save_before_the_sessions_own_edit_is_told_and_the_edit_is_not(run: StepRun) -> None:
    run.late.take(edit("Old.", "Older."))
    path_of(run).write_text(path_of(run).read_text().replace("Run it.", "Stop."))
    long_ago = time.time() - 60
    os.utime(path_of(run), (long_ago, long_ago))
    run.late.take(edit("Stop.", "Stop now."))
    path_of(run).write_text(path_of(run).read_text().replace("Old.", "Older.").replace("Stop.", "Stop now."))
    run.late.notice()
    assert told(run) == [("next", "Run it.", "Stop.")]


def test_without_a_workbench_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    from dataclasses import replace

    from flower_mcp.runtime.late_edits import LateEdits

    one = idle_run(tmp_path / "workspace", tmp_path / "runs", HandoffPolicy())
    one.setting = replace(one.setting, workbench=None)
    late = LateEdits(one)
    late.begin()
    late.take(Used("Bash", "id", {"command": "cat .flower"}))
    late.notice()
    late.end()
    assert late.known is None
    assert one.record.row.errors == ()
    close(one)
