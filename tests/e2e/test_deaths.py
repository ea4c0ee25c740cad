"""A death at points of the main path that no other test names: each has a next act, and nothing is started twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from flower_mcp.demo.model import Reply, Request, ScriptedModel, Story, each_session, text
from tests.e2e.editing import live
from tests.e2e.harness import wait_until
from tests.e2e.steps import ASKED, DOCUMENT, TAKING_OVER, TASK, bash, is_asked, run_step
from tests.e2e.test_continuity import supervisor
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
