"""From one process to the next, and through every kind of death."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from flower_mcp.demo.model import Reply, ScriptedModel, Story, each_session, text
from tests.e2e.harness import claude_cli, command, marked, wait_until
from tests.e2e.steps import (
    CUT_OFF,
    DOCUMENT,
    TAKING_OVER,
    Run,
    archived,
    bash,
    document_path,
    handing_over,
    is_asked,
    manifest,
    run_step,
)

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

ROOT = Path(__file__).parents[2]


@contextmanager
def supervisor(workspace: Path, prompt: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A supervisor in a process of its own; killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.child", str(workspace), prompt],
        cwd=ROOT,
        env={**environment, "FLOWER_STATE_DIR": str(workspace.parent / "state")},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)
        if process.stdout:
            process.stdout.close()


def live(workspace: Path) -> dict[str, Any]:
    """The step's live state."""
    state: dict[str, Any] = json.loads((workspace / ".flower" / "live" / "work.json").read_text())
    return state


def run_of(workspace: Path) -> str:
    """The id of the run that the live state speaks of."""
    return str(live(workspace)["row"]["run"])


def claude_pids(run: str) -> list[int]:
    """The Claude Code processes of a run."""
    return [pid for pid in marked(f"FLOWER_RUN={run}") if command(pid).startswith(str(claude_cli()))]


async def test_a_second_process_goes_on_with_the_successor(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    last = Story([bash("echo goes on").at(30_000), text("First part done.").at(31_000), text("More done.").at(32_000)])
    model.script = each_session(handing_over(bash("echo").at(40_000), bash("echo").at(155_000)), last)
    with supervisor(workspace, "The task.", environment) as process:
        assert process.wait(120) == 0
    before = manifest(workspace)[0]
    run = await run_step(workspace, "One more thing.")
    assert run.result.ok, run.result.error
    assert run.result.resumed
    assert run.result.session_id == before["session_id"]
    assert run.result.session_id not in before["retired"]
    assert model.requests[-1].asks("One more thing.")
    assert "context 31.0K" in run.of("session", "resumed")[0].text
    assert run.result.text == "More done."
    words = (workspace / ".flower" / "notes" / "任务-work.md").read_text()
    assert words.startswith("The task.")
    assert "One more thing." in words


async def test_only_this_runs_cost_is_in_its_row(model: ScriptedModel, workspace: Path) -> None:
    model.script = text("Done.").but(output=10_000).at(30_000)
    first = await run_step(workspace)
    second = await run_step(workspace, "Again.")
    third = await run_step(workspace, "And again.")
    assert first.result.session_id == third.result.session_id
    assert first.result.cost_usd is not None
    assert second.result.cost_usd == pytest.approx(first.result.cost_usd, rel=0.2)
    assert third.result.cost_usd == pytest.approx(second.result.cost_usd, rel=0.2)


async def test_fresh_moves_what_was_there_into_the_archive(model: ScriptedModel, workspace: Path) -> None:
    model.script = each_session(
        handing_over(bash("echo").at(40_000), bash("echo").at(155_000)), text("Done.").at(30_000)
    )
    first = await run_step(workspace, "The old task.")
    second = await run_step(workspace, "The new task.", fresh=True)
    assert second.result.ok, second.result.error
    assert second.result.session_id != first.result.session_id
    assert not second.result.resumed
    assert second.result.generations[0].n == 1
    assert not document_path(workspace).exists()
    assert len(archived(workspace)) == 1
    assert (workspace / ".flower" / "notes" / "任务-work.md").read_text().startswith("The new task.")
    kept = list((workspace / ".flower" / "notes" / "archive" / "任务").iterdir())
    assert [path.read_text() for path in kept] == ["The old task."]


@pytest.mark.parametrize("victim", ["supervisor", "claude", "both"])
async def test_nothing_is_left_after_a_kill_and_the_next_run_goes_on(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], victim: str
) -> None:
    endless = bash("echo $$ > shell.pid; exec tail -f /dev/null").at(30_000)
    script: list[Reply] = [endless, text("Done after all.").at(31_000)]
    model.script = Story(script)
    with supervisor(workspace, "The task.", environment) as process:
        wait_until(lambda: (workspace / "shell.pid").exists() and (workspace / "shell.pid").read_text().strip(), 60)
        run = run_of(workspace)
        claude = claude_pids(run)
        assert len(claude) == 1
        if victim != "claude":
            os.kill(process.pid, signal.SIGKILL)
        if victim != "supervisor":
            os.kill(claude[0], signal.SIGKILL)
        if victim == "claude":
            assert process.wait(120) == 0  # the supervisor resumes by itself
        wait_until(lambda: not marked(f"FLOWER_RUN={run}"), 30, "something is left running")
    if victim == "claude":
        row = manifest(workspace)[0]
        assert (row["ok"], row["attempts"]) == (True, 2)
    else:
        again = await run_step(workspace, "")
        assert again.result.ok, again.result.error
        assert again.result.resumed
        rows = manifest(workspace)
        assert [row["state"] for row in rows] == ["stopped", "done"]
    assert model.requests[-1].asks(CUT_OFF)
    assert len({request.session for request in model.requests}) == 1


async def test_killed_before_the_first_message_the_same_id_starts_again(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model.script = text("Done.").at(30_000)
    # The process never gets further than its start: the CLI is replaced by one that only waits.
    with supervisor(workspace, "The task.", {**environment, "FLOWER_TEST_STOP_AT": "connect"}) as process:
        wait_until((workspace / ".flower" / "live" / "work.json").exists, 60)
        wait_until(lambda: live(workspace)["row"]["session_id"], 60)
        os.kill(process.pid, signal.SIGKILL)
        drawn = live(workspace)["row"]["session_id"]
    run = await run_step(workspace, "The task.")
    assert run.result.ok, run.result.error
    assert run.result.session_id == drawn
    assert run.result.generations[0].n == 1


async def test_killed_between_freeze_and_launch_the_document_is_launched(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = each_session(
        handing_over(bash("echo").at(40_000), bash("echo").at(155_000)), text("Done.").at(30_000)
    )
    with supervisor(workspace, "The task.", {**environment, "FLOWER_TEST_EDIT_WINDOW": "60"}) as process:
        wait_until(lambda: document_path(workspace).exists(), 60)
        wait_until(lambda: live(workspace)["state"] == "editing", 60)
        os.kill(process.pid, signal.SIGKILL)
    path = document_path(workspace)
    path.write_text(path.read_text().replace("test_resume next", "test_resume LATER"))
    run = await run_step(workspace, "")
    assert run.result.ok, run.result.error
    assert run.result.generations[0].n == 2
    opening = model.requests[-1]
    assert opening.asks(TAKING_OVER)
    assert "test_resume LATER" in opening.all_text()
    assert sum(is_asked(request) for request in model.requests) == 1


async def test_broken_books_are_set_aside_and_stop_nobody(model: ScriptedModel, workspace: Path) -> None:
    model.script = text("Done.").at(30_000)
    runs = workspace.parent / "runs"
    runs.mkdir()
    (runs / "manifest.json").write_text("[{")
    (runs / "lineage.json").write_text('{"workspace": 3}')
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    names = sorted(path.name.split("-")[0] for path in runs.iterdir() if ".broken" in path.name)
    assert names == ["lineage.json.broken", "manifest.json.broken"]
    assert len([error for error in run.result.errors if "manifest" in error]) == 1
    assert len(manifest(workspace)) == 1


async def test_a_session_whose_transcript_is_gone_goes_on_from_the_document(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = each_session(
        handing_over(bash("echo").at(40_000), bash("echo").at(155_000)), text("Done.").at(30_000)
    )
    first = await run_step(workspace)
    for transcript in Path(environment["CLAUDE_CONFIG_DIR"]).rglob(f"{first.result.session_id}.jsonl"):
        transcript.unlink()
    run = await run_step(workspace, "And now this.")
    assert run.result.ok, run.result.error
    assert run.result.session_id != first.result.session_id
    assert model.requests[-1].asks(TAKING_OVER)
    assert "And now this." in model.requests[-1].all_text()


async def test_a_resumed_session_over_the_line_hands_off_at_its_first_batch(
    model: ScriptedModel, workspace: Path
) -> None:
    first = Story(
        [text("Done.").at(160_000), bash("echo more").at(161_000)],
        branches=[(is_asked, text(DOCUMENT).at(162_000))],
    )
    model.script = each_session(first, text("All done.").at(30_000))
    await run_step(workspace)
    run = await run_step(workspace, "One more thing.")
    assert run.result.ok, run.result.error
    assert [generation.n for generation in run.result.generations] == [1, 2]
    assert first.left == 0


async def test_a_conversation_that_the_cli_refuses_is_given_up_for_a_fresh_session(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = text("Done.").at(30_000)
    first = await run_step(workspace)
    for transcript in Path(environment["CLAUDE_CONFIG_DIR"]).rglob(f"{first.result.session_id}.jsonl"):
        transcript.write_text("")
    run = await run_step(workspace, "Go on.")
    assert run.result.ok, run.result.error
    assert run.result.session_id != first.result.session_id
    assert run.result.attempts == 2
    assert "Go on." in model.requests[-1].all_text()


async def test_the_same_words_after_a_finished_run_are_kept_again(model: ScriptedModel, workspace: Path) -> None:
    model.script = text("Done.").at(30_000)
    await run_step(workspace, "Port.")
    await run_step(workspace, "Port.")
    words = (workspace / ".flower" / "notes" / "任务-work.md").read_text()
    assert words.count("Port.") == 2


async def test_two_steps_run_at_once(model: ScriptedModel, workspace: Path) -> None:
    model.script = lambda request: (
        bash("sleep 0.3; echo on").at(30_000) if len(request.messages) < 3 else text("Done.").at(31_000)
    )
    results: dict[str, Run] = {}

    async def one(step: str) -> None:
        results[step] = await run_step(workspace, step=step)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one, "docs")
        tasks.start_soon(one, "code")
    assert {step: run.result.ok for step, run in results.items()} == {"docs": True, "code": True}
    assert {row["step"] for row in manifest(workspace)} == {"docs", "code"}
