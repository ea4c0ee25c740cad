"""A run whose disk refuses, without a session: what is kept in memory is written when that works, or lies elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower_mcp import Handoff, HandoffPolicy
from flower_mcp.core.books import LiveStep, State
from flower_mcp.runtime.documents import freeze_text, put_away
from flower_mcp.runtime.person import add_words, begin_words
from flower_mcp.runtime.step import StepRun
from flower_mcp.workbench.tasks import By
from tests.disks import fill, small_disk
from tests.e2e.editing import close, freeze, idle_run
from tests.e2e.steps import archived, document_path

OLD = Handoff(step="work", doing="Old.", next="Run it.")
NEW = Handoff(step="work", doing="New.", next="Run it all.")


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small disk for the workspace and the books; the user's state lies on another one."""
    monkeypatch.setenv("FLOWER_STATE_DIR", str(tmp_path / "state"))
    with small_disk(tmp_path / "disk") as folder:
        (folder / "workspace").mkdir()
        yield folder


@pytest.fixture
def run(disk: Path) -> Iterator[StepRun]:
    one = idle_run(disk / "workspace", disk / "runs", HandoffPolicy(edit_window=0))
    yield one
    close(one)


def workspace(run: StepRun) -> Path:
    return run.setting.workspace


def read_live(run: StepRun) -> LiveStep:
    found = run.setting.books.lives.read("work", owner=True)
    assert found is not None
    return found


def test_a_document_is_frozen_once_the_disk_takes_it_and_the_books_say_where(run: StepRun, disk: Path) -> None:
    freeze(run, OLD)
    run.late.begin()
    filler = fill(disk)
    assert freeze(run, NEW).path is None
    run.record.generation(why="x" * 5_000)  # the live state has no room any more either
    assert "Run it all." in run.handing.text
    assert "Old." in document_path(workspace(run)).read_text()
    errors = [error for error in run.record.row.errors if "the document" in error]
    assert len(errors) == 1
    assert str(document_path(workspace(run))) in errors[0]
    assert "Free some space" in errors[0]

    filler.unlink()
    run.record.owed.pay(at_once=True)

    path = document_path(workspace(run))
    assert "Run it all." in path.read_text()
    assert ["Old." in kept.read_text() for kept in archived(workspace(run))] == [True]
    assert run.handing.path == path
    books = read_live(run)
    assert books.row.generations[-1].path == str(path)
    assert books.row.generations[-1].frozen == run.handing.revision
    assert books.document is not None
    assert books.document.revision == run.handing.revision
    run.late.notice()
    assert run.late._saves == []  # nobody edited it: it was we who wrote it
    assert not run.record.owed


def test_a_save_in_the_old_document_meanwhile_is_in_the_archive_and_told(run: StepRun, disk: Path) -> None:
    freeze(run, OLD)
    run.late.begin()
    filler = fill(disk)
    freeze(run, NEW)
    run.late.begin()
    filler.unlink()
    path = document_path(workspace(run))
    path.write_text(path.read_text().replace("Run it.", "A PERSON'S WORDS"))

    run.record.owed.pay(at_once=True)

    assert "Run it all." in path.read_text()
    assert any("A PERSON'S WORDS" in kept.read_text() for kept in archived(workspace(run)))
    assert [change.section for save in run.late._saves for change in save.changes] == ["next"]


def test_two_documents_that_were_owed_are_frozen_in_their_order(run: StepRun, disk: Path) -> None:
    filler = fill(disk)
    for handoff in (OLD, NEW):
        freeze_text(run, handoff)
    filler.unlink()
    third = freeze_text(run, Handoff(step="work", doing="Third.", next="Go."))

    assert third.path is not None
    assert "Third." in document_path(workspace(run)).read_text()
    assert [("Old." in kept.read_text(), "New." in kept.read_text()) for kept in archived(workspace(run))] == [
        (True, False),
        (False, True),
    ]


def test_the_end_is_the_last_try(run: StepRun, disk: Path) -> None:
    filler = fill(disk, leave=3)  # enough for the books, and not for the document
    freeze_text(run, Handoff(step="work", doing="New. " * 5_000, next="Go."))
    run.record.change(text="still works")
    assert [debt.lane for debt in run.record.owed.left()] == ["documents"]
    filler.unlink()
    run.record.end()

    assert "New. New." in document_path(workspace(run)).read_text()


def test_what_cannot_be_written_to_the_end_lies_elsewhere_and_the_result_says_where(
    run: StepRun, disk: Path, tmp_path: Path
) -> None:
    fill(disk)
    begin_words(run, "The task.")
    freeze_text(run, NEW)
    run.record.change(text="x" * 9_000)
    row = run.record.end()

    kept = {path.name.split("-")[0]: path for path in (tmp_path / "state" / "unwritten").iterdir()}
    assert "Run it all." in kept["交接"].read_text()
    assert kept["任务"].read_text() == "The task."
    assert any(f"it is in {kept['交接']}" in error for error in row.errors)
    assert any(f"it is in {kept['任务']}" in error for error in row.errors)
    assert any("not up to date" in error and "manifest.json" in error for error in row.errors)


def test_where_nothing_can_be_written_the_text_is_told(
    run: StepRun, disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWER_STATE_DIR", str(disk / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(disk))
    told: list[str] = []
    run.record._on_event = lambda event: told.append(event.text)
    fill(disk)
    freeze_text(run, NEW)
    row = run.record.end()

    assert any("Run it all." in text for text in told)
    assert any("nor anywhere else; it follows" in error for error in row.errors)


def test_a_persons_words_are_known_at_once_and_written_in_their_order_later(run: StepRun, disk: Path) -> None:
    filler = fill(disk)
    begin_words(run, "The task.")
    add_words(run, "One more thing.", By.SAY, "2026-11-29T16:05:12.000000Z")
    add_words(run, "One more thing.", By.SAY, "2026-11-29T16:05:12.000000Z")
    assert run.words.startswith("The task.")
    assert run.words.endswith("One more thing.")
    filler.unlink()
    run.record.owed.pay(at_once=True)

    bench = run.setting.workbench
    assert bench is not None
    assert bench.tasks.read("work") == run.words


def test_the_books_of_a_disk_that_comes_back_are_those_of_the_end(run: StepRun, disk: Path) -> None:
    filler = fill(disk)
    run.record.enter(State.WORKING)
    run.record.begin_generation(1, "a-session")
    run.record.remember_session()
    for n in range(30):
        run.record.event("text", f"{n} " + "x" * 500)  # type: ignore[arg-type]
    filler.unlink()
    run.record.change(live={"state": State.DONE}, state=State.DONE)
    run.record.end()

    rows = json.loads((run.setting.run_dir / "manifest.json").read_text())
    assert [(row["state"], row["session_id"]) for row in rows] == [("done", "a-session")]
    assert run.setting.books.lineage.read().steps == {"work": "a-session"}
    assert read_live(run).state is State.DONE
    texts = [line["text"] for line in run.setting.books.lives.tail(99) if line["kind"] == "text"]
    assert [int(text.split()[0]) for text in texts] == list(range(30))
    assert run.setting.books.lives.tail(1)[0]["text"].startswith("written after all: ")


def test_a_fresh_steps_old_document_goes_to_the_archive_before_the_next_is_frozen(run: StepRun, disk: Path) -> None:
    freeze(run, OLD)
    put_away(run)
    assert not document_path(workspace(run)).exists()
    freeze(run, NEW)
    assert ["Old." in kept.read_text() for kept in archived(workspace(run))] == [True]
