"""A run that was killed before it had a session hides nothing that the run before it left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flower_mcp import Handoff, Workbench
from flower_mcp.core.books import Generation, LiveStep, State, StepResult
from flower_mcp.core.decide import Ending
from flower_mcp.runtime import look as look_module
from flower_mcp.runtime.before import carried
from flower_mcp.runtime.look import look
from flower_mcp.runtime.opening import _next_number
from flower_mcp.runtime.taking import TAKEN
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.ledger import Lineage, Manifest
from tests.runtime.conftest import Prepare

pytestmark = pytest.mark.anyio
FIRST, SECOND = "0a0a0a0a-1111-2222-3333-444444444444", "0b0b0b0b-1111-2222-3333-444444444444"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("state", [State.IDLE, State.LAUNCHING])
async def test_a_document_that_waited_is_still_launched_as_the_next_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Prepare, state: State
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    projects = tmp_path / "claude" / "projects" / "key"
    projects.mkdir(parents=True)
    (projects / f"{SECOND}.jsonl").write_text("{}\n")  # it could be resumed, and must not be
    bench = Workbench(tmp_path)
    Known().remember(tmp_path, "work")
    bench.tasks.start("work", "The task.")
    frozen = bench.freeze("work", Handoff(doing="It.", next="Go on."))
    generations = (
        Generation(1, FIRST, context=9),
        Generation(2, SECOND, context=9, frozen=frozen.revision, path=str(frozen.path)),
    )
    row = StepResult("run-1", "work", state=State.STOPPED, session_id=SECOND, generations=generations, ended_at="x")
    Manifest(tmp_path / "runs").put(row)
    Lineage(tmp_path / "runs", str(tmp_path)).remember("work", SECOND)
    killed = StepResult("run-2", "work", state=state, resumed=True)
    bench.lives.write(LiveStep("work", state, killed))

    run = prepare(tmp_path)
    assert (await look(run))[0] is Ending.WAITING_DOCUMENT
    assert _next_number(run, "a new one") == 3


@pytest.mark.parametrize("is_put_away", [True, False], ids=["behind the archiving", "before it"])
async def test_a_step_that_began_afresh_and_was_killed_before_its_first_session_begins_afresh_with_the_new_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Prepare, is_put_away: bool
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    projects = tmp_path / "claude" / "projects" / "key"
    projects.mkdir(parents=True)
    (projects / f"{FIRST}.jsonl").write_text("{}\n")
    bench = Workbench(tmp_path)
    Known().remember(tmp_path, "work")
    bench.tasks.start("work", "The old task.")
    bench.freeze("work", Handoff(doing="The old one.", next="Go on."))
    row = StepResult(
        "run-1", "work", state=State.DONE, session_id=FIRST, generations=(Generation(1, FIRST, context=9),)
    )
    Manifest(tmp_path / "runs").put(row)
    Lineage(tmp_path / "runs", str(tmp_path)).remember("work", FIRST)
    bench.lives.write(LiveStep("work", State.DONE, row))

    with monkeypatch.context() as patch:
        if not is_put_away:
            patch.setattr(look_module, "put_away", lambda _run: None)
        killed = prepare(tmp_path, "The new task.", fresh=True)
        assert (await look(killed))[0] is Ending.NEW_TASK
    again = prepare(tmp_path)
    assert (await look(again))[0] is Ending.NEW_TASK
    assert again.words == "The new task."
    assert again.new_session_id() == killed.record.row.session_id
    assert bench.read("work") is None
    assert len(bench.history("work")) == 1

    waiting = bench.freeze("work", Handoff(doing="Written by hand meanwhile.", next="Go on."))
    assert (await look(prepare(tmp_path)))[0] is Ending.WAITING_DOCUMENT
    assert (bench.read("work") or waiting).revision == waiting.revision


@pytest.mark.parametrize("taken_by", ["nobody", "a session at the terminal", "a successor of flower's"])
async def test_a_document_that_a_session_elsewhere_was_given_is_launched_and_that_is_said(
    tmp_path: Path, prepare: Prepare, taken_by: str
) -> None:
    bench = Workbench(tmp_path)
    Known().remember(tmp_path, "work")
    frozen = bench.freeze("work", Handoff(doing="It.", next="Go on."))
    launched = frozen.revision if taken_by == "a successor of flower's" else None
    left = Generation(1, FIRST, context=9, frozen=frozen.revision, path=str(frozen.path), launched=launched)
    row = StepResult("run-1", "work", state=State.STOPPED, session_id=FIRST, generations=(left,), ended_at="x")
    bench.lives.write(LiveStep("work", State.STOPPED, row))
    if taken_by != "nobody":
        assert bench.taken.claim("work", frozen.revision)

    run = prepare(tmp_path)
    assert (await look(run))[0] is Ending.WAITING_DOCUMENT
    assert run.record.row.errors == ((TAKEN,) if taken_by == "a session at the terminal" else ())


def test_only_a_run_that_had_found_something_is_looked_behind() -> None:
    row = StepResult("run-1", "work", generations=(Generation(1, FIRST),))
    rows = ({"step": "work", "run": "run-1", "generations": [{"n": 1, "session_id": FIRST}]},)
    killed = LiveStep("work", State.IDLE, StepResult("run-2", "work", resumed=True))
    assert carried(killed, rows) == replace(killed, row=row)
    afresh = replace(killed, row=replace(killed.row, resumed=False))
    other = ({**rows[0], "step": "docs"}, {"step": "work", "generations": [7]}, {"step": "work", "generations": []})
    living = replace(killed, row=replace(row, resumed=True))
    assert [carried(afresh, rows), carried(killed, other), carried(living, rows)] == [afresh, killed, living]
    assert carried(None, rows) is None
