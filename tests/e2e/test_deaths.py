"""A death at points of the main path that no other test names: each has a next act, and nothing is started twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime
from flower_mcp.demo.model import Reply, Request, ScriptedModel, Story, each_session, text, tool
from tests.e2e.editing import live
from tests.e2e.harness import wait_until
from tests.e2e.steps import ASKED, DOCUMENT, TAKING_OVER, TASK, bash, document_path, is_asked, run_step, successor
from tests.e2e.test_continuity import claude_pids, run_of, supervisor
from tests.e2e.test_inbox import put, waiting

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]


async def test_deaths_in_the_handoff_turn_and_just_after_the_launch_start_nothing_twice(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    never = text("Never heard.").but(delay=60.0)
    documents = [never.at(156_000), text(DOCUMENT).at(156_100)]

    def written(_request: Request) -> Reply:
        return documents.pop(0)

    first = Story([bash("echo one").at(40_000), bash("echo two").at(155_000)], branches=[(is_asked, written)])
    model.script = each_session(first, Story([never.at(30_000), text("Done.").at(31_000)]))

    with supervisor(workspace, TASK, environment) as process:
        wait_until(lambda: len(documents) == 1, 60, "the handoff turn has begun")
        put(workspace, "Said while it wrote.")
        os.kill(process.pid, signal.SIGKILL)
    assert live(workspace)["state"] == "writing"

    with supervisor(workspace, "", environment) as process:
        wait_until(lambda: model.requests and model.requests[-1].asks(TAKING_OVER), 60, "the successor has begun")
        os.kill(process.pid, signal.SIGKILL)
    sessions = list(dict.fromkeys(request.session for request in model.requests))
    assert live(workspace)["row"]["session_id"] == sessions[1]

    run = await run_step(workspace, "")
    assert run.result.ok, run.result.error
    assert run.result.session_id == sessions[1]
    assert {request.session for request in model.requests} == set(sessions)
    assert len(sessions) == 2
    told = model.requests[-1].all_text()
    assert (told.count(TAKING_OVER), told.count("Said while it wrote.")) == (1, 1)
    assert sum(request.asks(ASKED) for request in model.requests) == 2
    assert waiting(workspace) == []


async def test_a_session_that_dies_while_its_agents_are_waited_for_writes_its_document_all_the_same(
    model: ScriptedModel, workspace: Path
) -> None:
    def die(_runtime: Runtime, event: Event) -> None:
        if event.kind == "drain" and event.payload.get("agents"):
            for pid in claude_pids(run_of(workspace)):
                os.kill(pid, signal.SIGKILL)

    start = tool("Agent", description="count for ever", prompt="count", subagent_type="general-purpose")
    first = Story(
        [bash("echo one").at(40_000), start.at(155_000)],
        branches=[(is_asked, text(DOCUMENT).at(156_000))],
        agents=Reply(hang=30),
    )
    model.script = each_session(first, successor())
    run = await run_step(workspace, during=die)
    assert run.result.ok, run.result.error
    assert [generation.written_by for generation in run.result.generations] == ["session", None]
    assert "stopped at the handoff, agent: count for ever" in document_path(workspace).read_text()
