"""What does not fit stops nobody: moved folders, missing transcripts, broken books of every kind, on a real disk.

Without the CLI: a run is put together and looks at what was left, as it does before its first session.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from flower_mcp import AgentSpec, Handoff, Runtime, Workbench
from flower_mcp.core.books import Generation, LiveStep, State, StepResult
from flower_mcp.core.decide import Ending
from flower_mcp.runtime.look import look
from flower_mcp.runtime.step import StepRun
from flower_mcp.workbench.ledger import Lineage, Manifest
from tests.e2e.editing import close

pytestmark = pytest.mark.anyio

SESSION = "0a0a0a0a-1111-2222-3333-444444444444"
LIVING, DOCUMENT, TASK = Ending.LIVING_SESSION, Ending.WAITING_DOCUMENT, Ending.NEW_TASK
LOST = f"the session {SESSION} cannot be resumed: its transcript is gone"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Left:
    """What an earlier run left: a finished session, its document, its books."""

    place: Path

    @property
    def workspace(self) -> Path:
        return self.place / "workspace"

    @property
    def runs(self) -> Path:
        return self.place / "runs"

    @property
    def live(self) -> Path:
        return self.workspace / ".flower" / "live"

    @property
    def transcript(self) -> Path:
        return self.place / "claude" / "projects" / "key" / f"{SESSION}.jsonl"


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Left:
    one = Left(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    one.workspace.mkdir()
    one.transcript.parent.mkdir(parents=True)
    one.transcript.write_text("{}\n")
    bench = Workbench(one.workspace)
    bench.tasks.start("work", "The task.")
    frozen = bench.freeze("work", Handoff(doing="It.", next="Go on."))
    generations = (
        Generation(1, "first", context=9, frozen=frozen.revision, launched=frozen.revision, path=str(frozen.path)),
        Generation(2, SESSION, context=9, num_turns=1),
    )
    row = StepResult(
        "run", "work", ok=True, state=State.DONE, session_id=SESSION, generations=generations, ended_at="x"
    )
    bench.lives.write(LiveStep("work", State.DONE, row))
    Manifest(one.runs).put(row)
    Lineage(one.runs, str(one.workspace)).remember("work", SESSION)
    return one


def corrupt(path: Path) -> None:
    path.write_text('{"steps": {"wo')


def empty(path: Path) -> None:
    path.write_text("")


def other_type(path: Path) -> None:
    path.write_text("17")


def odd_values(path: Path) -> None:
    path.write_text('{"workspace": 1, "woke": [], "steps": "all"}')


def noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 9)


def nested(path: Path) -> None:
    path.write_text("[" * 200_000)


def huge(path: Path) -> None:
    os.truncate(path, 1 << 40)  # more than there is memory: it must not be read to find out


def folder(path: Path) -> None:
    path.unlink()
    (path / "below").mkdir(parents=True)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


DAMAGES: list[Callable[[Path], None]] = [
    corrupt, empty, other_type, odd_values, noise, nested, huge, folder, pipe, link,
]  # fmt: skip


@pytest.fixture
def started() -> Iterator[list[StepRun]]:
    runs: list[StepRun] = []
    yield runs
    for run in runs:
        close(run)


async def start(left: Left, started: list[StepRun], prompt: str = "More.") -> tuple[StepRun, Ending, str]:
    """Put a run together and let it look; what was said, in one text."""
    runtime = Runtime(workspace=left.workspace, run_dir=left.runs)
    run, notes = runtime._prepared(AgentSpec(), prompt, False, None, lambda: True)
    started.append(run)
    for note in notes:
        run.record.say(note)
    ending, _ = await look(run)
    run.record.enter(State.WORKING)
    run.record.remember_session()
    return run, ending, "\n".join(run.record.row.errors)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", ["lineage.json", "manifest.json"])
async def test_broken_books_stop_nobody_are_kept_and_said(
    name: str, damage: Callable[[Path], None], left: Left, started: list[StepRun]
) -> None:
    damage(left.runs / name)

    run, ending, said = await start(left, started)

    assert ending is LIVING  # the live state knows the session, too
    assert run.record.row.session_id == SESSION
    kept = [path.name for path in left.runs.iterdir() if ".broken-" in path.name]
    assert len(kept) == 1
    assert kept[0].startswith(name)
    assert kept[0] in said
    assert ("bytes, and" in said) == (damage is huge)
    assert Lineage(left.runs).read().steps == {"work": SESSION}
    rows = Manifest(left.runs).rows()
    assert [row["run"] for row in rows] == ["run", run.run_id]  # the earlier row is mended from the live state
    assert not run.record.owed


@pytest.mark.parametrize("damage", [*DAMAGES[:-1]], ids=lambda damage: damage.__name__)
async def test_a_broken_live_state_stops_nobody_is_kept_and_said(
    damage: Callable[[Path], None], left: Left, started: list[StepRun]
) -> None:
    damage(left.live / "work.json")

    run, ending, said = await start(left, started)

    assert ending is LIVING  # the lineage knows the session
    assert run.record.row.session_id == SESSION
    kept = [path.name for path in left.live.iterdir() if ".broken-" in path.name]
    assert len(kept) == 1
    assert "work.json could not be read and counts for nothing" in said
    assert json.loads((left.live / "work.json").read_text())["row"]["run"] == run.run_id


def without_transcript(left: Left) -> None:
    left.transcript.unlink()


def without_transcript_and_document(left: Left) -> None:
    left.transcript.unlink()
    Workbench(left.workspace).documents.path("work").unlink()


def without_transcript_and_live(left: Left) -> None:
    left.transcript.unlink()
    shutil.rmtree(left.live)


def with_a_new_run_dir(left: Left) -> None:
    left.runs.rename(left.place / "moved")


def about_another_workspace(left: Left) -> None:
    path = left.runs / "lineage.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "workspace": "/elsewhere"}))


def about_another_workspace_and_without_live(left: Left) -> None:
    about_another_workspace(left)
    shutil.rmtree(left.live)


@pytest.mark.parametrize(
    ("damage", "expected", "words"),
    [
        (without_transcript, DOCUMENT, LOST),
        (
            without_transcript_and_document,
            Ending.UNWRITTEN,
            LOST,
        ),
        (without_transcript_and_live, DOCUMENT, LOST),
        (with_a_new_run_dir, LIVING, ""),
        (about_another_workspace, LIVING, ""),  # the live state is in the workspace itself
        (about_another_workspace_and_without_live, DOCUMENT, "is about another workspace, /elsewhere"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
async def test_what_is_missing_or_moved_stops_nobody_and_the_next_best_is_taken(
    damage: Callable[[Left], None], expected: Ending, words: str, left: Left, started: list[StepRun]
) -> None:
    damage(left)

    run, ending, said = await start(left, started)

    assert ending is expected
    assert words in said
    assert run.words.startswith("The task.")
    assert "More." in run.words


async def test_a_workspace_that_was_moved_goes_on_from_its_document(left: Left, started: list[StepRun]) -> None:
    moved = left.place / "somewhere else"
    left.workspace.rename(moved)
    runtime = Runtime(workspace=moved, run_dir=left.runs)
    run, notes = runtime._prepared(AgentSpec(), "", False, None, lambda: True)
    started.append(run)

    assert (await look(run))[0] is DOCUMENT  # its text was frozen on this machine; whose folder it was is not known
    assert any("unknown" in note for note in notes), notes


@pytest.mark.parametrize("name", ["work.inbox", "交接"], ids=["inbox", "archive"])
async def test_a_folder_that_cannot_be_listed_stops_nobody_and_the_end_of_the_run_closes_its_books(
    name: str, left: Left, started: list[StepRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def refused(place: Path | str = ".") -> object:
        if Path(place).name == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
        return real(place)

    monkeypatch.setattr(os, "scandir", refused)
    document = Workbench(left.workspace).documents.path("work")
    run, ending, _ = await start(left, started)
    run.late.resume("000000000000")
    run.late.begin()
    document.write_text(document.read_text().replace("Go on.", "Stop."))
    run.late.end()
    run.hearing.end()
    assert ending is LIVING
    assert [error for error in run.record.row.errors if f"{name} cannot be listed: Permission denied" in error]
    assert any("change of next came too late" in error for error in run.record.row.errors)
