"""What the books keep of a session whose run ends: what it owes, and when it ended. On a real disk, without the CLI."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flower_mcp import AgentSpec, Handoff, HandoffPolicy, Runtime
from flower_mcp.core.books import OWED, State
from flower_mcp.core.decide import Ending
from flower_mcp.core.failures import Outcome
from flower_mcp.core.texts import load
from flower_mcp.runtime import opening
from flower_mcp.runtime.look import look
from flower_mcp.runtime.opening import resume
from flower_mcp.runtime.options import Opening
from flower_mcp.runtime.step import StepRun
from flower_mcp.workbench.known import Known
from tests.e2e.editing import close, freeze, idle_run

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StepRun]:
    """A run whose session, `one`, has a transcript."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    transcript = tmp_path / "claude" / "projects" / "key" / "one.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text("{}\n")
    (tmp_path / "workspace").mkdir()
    run = idle_run(tmp_path / "workspace", tmp_path / "runs", HandoffPolicy())
    Known().remember(tmp_path / "workspace", "work")
    yield run
    close(run)


async def after(run: StepRun) -> tuple[Ending, bool, StepRun]:
    """What the next run finds, and whether the session is to write; that run."""
    runtime = Runtime(workspace=run.setting.workspace, run_dir=run.setting.run_dir)
    later, _ = runtime._prepared(AgentSpec(), "", False, None, lambda: True)
    close(later)
    ending, _ = await look(later)
    return ending, later.owes_handoff, later


@pytest.mark.parametrize("end", [State.STOPPED, State.FAILED, None], ids=["stopped", "failed", "killed"])
@pytest.mark.parametrize("state", [State.WORKING, State.DRAINING, State.WRITING])
async def test_a_run_that_ends_in_the_handoff_leaves_it_owed_through_runs_that_begin_no_session(
    first: StepRun, state: State, end: State | None
) -> None:
    first.record.enter(state)
    if end is not None:
        first.record.enter(end)
        first.record.end()
    owes = state is not State.WORKING
    for _ in range(2):
        ending, owed, later = await after(first)
        assert (ending, owed) == (Ending.LIVING_SESSION, owes)
        later.record.enter(State.STOPPED)  # before its session began
        later.record.end()


@pytest.mark.parametrize("end", [State.STOPPED, State.FAILED, None], ids=["stopped", "failed", "killed"])
async def test_a_handoff_stays_owed_when_the_session_could_not_be_resumed(first: StepRun, end: State | None) -> None:
    first.record.enter(State.WRITING)
    first.record.enter(State.STOPPED)
    first.record.end()
    _, _, later = await after(first)

    async def refused(_opening: Opening) -> Outcome:
        return Outcome(is_error=True, status=401, error="authentication_failed", text="no key")

    later.open = refused  # type: ignore[method-assign, assignment]
    later.record.enter(State.LAUNCHING)
    assert (await resume(later))[0] is Ending.GIVE_UP
    if end is not None:
        later.record.enter(end)
        later.record.end()
    assert (await after(first))[:2] == (Ending.LIVING_SESSION, True)


@pytest.mark.parametrize("before", [None, "2026-11-30T11:00:00.000000Z"], ids=["living", "retired"])
async def test_the_books_say_when_the_last_session_ended(first: StepRun, before: str | None) -> None:
    first.record.generation(ended_at=before)
    first.record.enter(State.DONE)
    row = first.record.end()
    assert row.generation is not None
    assert row.generation.ended_at == (before or row.ended_at)


@pytest.mark.parametrize(
    ("states", "told"),
    [
        ((State.WORKING, State.STOPPED), "stopped"),
        ((State.WORKING, State.FAILED), "stopped"),
        ((State.WORKING,), "continue"),
        ((State.WORKING, State.IDLE), "continue"),  # the run after the one that was killed was killed at once
    ],
    ids=["stopped", "failed", "killed", "killed twice"],
)
async def test_a_resumed_session_is_told_that_it_was_killed_only_if_it_was(
    first: StepRun, states: tuple[State, ...], told: str
) -> None:
    for state in states:
        first.record.enter(state)
    _, _, later = await after(first)
    assert opening._words_for_resumed(later) == load(told)


async def test_a_document_that_is_frozen_is_owed_no_more(first: StepRun) -> None:
    first.record.enter(State.WRITING)
    freeze(first, Handoff(doing="It.", next="Go on."))
    first.record.enter(State.STOPPED)
    generation = first.record.row.generation
    assert generation is not None
    assert generation.why is None
    assert (await after(first))[0] is Ending.WAITING_DOCUMENT
    assert OWED not in (first.setting.run_dir / "manifest.json").read_text()
