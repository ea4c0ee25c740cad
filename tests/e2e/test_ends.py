"""How a step ends: agents, shells, timers, detached processes, limits, refusals."""

from __future__ import annotations

import os
import re
from pathlib import Path

import anyio
import pytest

from flower_mcp import CompactPolicy, Event, HandoffPolicy, Runtime
from flower_mcp.core.errors import Busy
from flower_mcp.demo.model import ScriptedModel, Story, each_session, failure, overflow, text, tool
from tests.e2e.harness import marked, wait_until_async
from tests.e2e.steps import (
    DOCUMENT,
    bash,
    document_path,
    handing_over,
    is_asked,
    is_running,
    policy,
    run_step,
    spec,
)

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]


def finish() -> Story:
    """The last session's part."""
    return Story([bash("echo on").at(30_000), text("All ported.").at(31_000)])


async def test_a_step_is_not_done_while_a_background_agent_runs(model: ScriptedModel, workspace: Path) -> None:
    marker = workspace / "made-by-the-agent"
    start = tool("Agent", description="make it", prompt="make", subagent_type="general-purpose")
    agent = [bash(f"sleep 0.5; touch {marker}"), text("made")]
    model.script = Story(
        [start.at(30_000), text("It is being made.").at(31_000), text("It is made.").at(32_000)],
        agents=lambda request: agent[min((len(request.messages) - 1) // 2, 1)],
    )
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert marker.exists()
    assert run.result.text == "It is made."


async def test_a_timer_is_not_to_be_had(model: ScriptedModel, workspace: Path) -> None:
    model.script = Story([
        tool("ScheduleWakeup", delaySeconds=60, reason="later", prompt="wake").at(30_000),
        bash("echo on").at(31_000),
        text("Done without waiting.").at(32_000),
    ])  # fmt: skip
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert run.result.text == "Done without waiting."
    assert "ScheduleWakeup" not in model.requests[0].tools


async def test_a_shell_is_recorded_as_stopped_and_a_detached_process_lives_until_the_end(
    model: ScriptedModel, workspace: Path
) -> None:
    pids: dict[str, int] = {}
    seen: list[bool] = []

    def look(_runtime: Runtime, event: Event) -> None:
        if event.kind == "session" and event.payload.get("phase") == "launched":
            pids.update((name, int((workspace / name).read_text())) for name in ("shell.pid", "server.pid"))
        if event.kind == "tool" and "looking" in event.text:
            seen.append(is_running(pids["server.pid"]))

    shell = bash("echo $$ > shell.pid; echo started; sleep 60; echo late", run_in_background=True)
    server = bash("setsid nohup sh -c 'echo $$ > server.pid; exec sleep 60' > /dev/null 2>&1 & sleep 0.3")
    first = handing_over(shell.at(40_000), server.at(155_000))
    last = Story([bash("sleep 0.5; echo looking").at(30_000), text("Done.").at(31_000)])
    model.script = each_session(first, last)
    run = await run_step(workspace, during=look)
    assert run.result.ok, run.result.error
    written = document_path(workspace).read_text()
    assert "stopped at the handoff, shell: a step (echo $$ > shell.pid; echo started;" in written
    assert "last line: started" in written
    assert f"still running: pid {pids['server.pid']}" in written
    assert seen == [True]
    assert not is_running(pids["shell.pid"])
    assert not is_running(pids["server.pid"])
    assert any(str(pids["server.pid"]) in line for line in run.of("result")[-1].payload["ended"])


async def test_nothing_is_left_running_after_a_run(model: ScriptedModel, workspace: Path) -> None:
    model.script = Story([bash("tail -f /dev/null & echo $! > left.pid").at(30_000), text("Done.").at(31_000)])
    run = await run_step(workspace)
    await wait_until_async(lambda: marked(f"FLOWER_RUN={run.result.run}") == [], 5)
    assert not is_running(int((workspace / "left.pid").read_text()))


async def test_two_fresh_sessions_that_overflow_at_once_end_the_step(model: ScriptedModel, workspace: Path) -> None:
    model.script = overflow(210_000, 200_000)
    run = await run_step(workspace)
    assert run.result.state == "failed"
    assert len(run.result.generations) == 2
    assert "too full for their first request" in (run.result.error or "")


async def test_a_fresh_session_over_the_line_with_its_first_message_ends_the_step(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = Story([bash("echo one").at(160_000), text("not reached")])
    run = await run_step(workspace)
    assert run.result.state == "failed"
    assert "160.0K" in (run.result.error or "")
    assert "150K" in (run.result.error or "")
    assert len([request for request in model.requests if not request.agent]) == 1


async def test_after_the_last_handoff_of_a_run_the_next_document_waits(model: ScriptedModel, workspace: Path) -> None:
    def burning() -> Story:
        return handing_over(bash("echo").at(40_000), bash("echo").at(155_000))

    model.script = each_session(*[burning() for _ in range(3)], finish())
    run = await run_step(workspace, handoff=policy(max_generations=2))
    assert run.result.state == "stopped"
    assert len(run.result.generations) == 3
    assert "阈值很可能低于这个角色的启动地板" in (run.result.error or "")
    assert run.result.generations[-1].frozen
    assert run.result.generations[-1].launched is None

    again = await run_step(workspace, "")
    assert again.result.ok, again.result.error
    assert again.result.resumed
    assert again.result.generations[0].n == 4
    assert "You are taking over" in model.requests[-2].all_text()


async def test_turns_count_over_generations(model: ScriptedModel, workspace: Path) -> None:
    first = handing_over(bash("echo").at(40_000), bash("echo").at(155_000))
    second = Story([bash("echo").at(tokens) for tokens in (30_000, 31_000, 32_000, 33_000)])
    model.script = each_session(first, second)
    run = await run_step(workspace, agent=spec(max_turns=4))
    assert run.result.state == "stopped"
    assert second.told == 2  # two of the first session, two of the second; the handoff turn is exempt
    assert "limit of 4 turns; go on with --max-turns 8" in (run.result.error or "")
    assert run.result.num_turns == 4
    again = await run_step(workspace, "", agent=spec(max_turns=6))
    assert again.result.state == "stopped"
    assert second.told == 4  # it is exempt in later runs, too


async def test_a_budget_counts_over_generations_and_says_how_to_go_on(model: ScriptedModel, workspace: Path) -> None:
    work = [bash("echo").but(output=5_000).at(40_000), bash("echo").but(output=5_000).at(155_000)]
    first = Story(work, branches=[(is_asked, text(DOCUMENT).but(output=20_000).at(156_000))])
    second = Story([bash("echo").but(output=5_000).at(30_000) for _ in range(9)])
    model.script = each_session(first, second)
    run = await run_step(workspace, agent=spec(max_budget_usd=1.0))
    assert run.result.state == "stopped"
    assert 0 < second.told < 9
    assert "of 1.00 USD; go on with --budget" in (run.result.error or "")
    assert 1.0 <= (run.result.cost_usd or 0) < 1.1  # the last message alone is beyond it, not the document too

    again = await run_step(workspace, "", agent=spec(max_budget_usd=1.0))
    assert again.result.state == "stopped"
    assert again.result.num_turns == 0


async def test_no_handoff_leaves_auto_compact_alone_even_if_inherited(
    model: ScriptedModel, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISABLE_AUTO_COMPACT", "1")
    show = bash("echo compact=[$DISABLE_AUTO_COMPACT] limit=[$CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE]")
    model.script = lambda request: show.at(30_000) if len(request.messages) < 3 else text("Done.").at(195_000)
    await run_step(workspace, handoff=False)
    await run_step(workspace, handoff=policy(), agent=spec(compact=CompactPolicy("auto")), fresh=True)
    await run_step(workspace, handoff=policy(), fresh=True)
    results = [request.all_text() for request in model.requests if "compact=[" in request.last_text()]
    assert [("compact=[]" in result, "compact=[1]" in result) for result in results] == [
        (True, False), (True, False), (False, True),
    ]  # fmt: skip


async def test_handoff_off_does_not_hand_off(model: ScriptedModel, workspace: Path) -> None:
    model.script = Story([bash("echo").at(40_000), bash("echo").at(160_000), text("Done.").at(161_000)])
    run = await run_step(workspace, handoff=HandoffPolicy(enabled=False, window=200_000))
    assert run.result.ok, run.result.error
    assert run.phases() == []


async def test_a_second_run_of_a_running_step_is_busy(model: ScriptedModel, workspace: Path) -> None:
    refused: list[Busy] = []

    async def run_again(runtime: Runtime) -> None:
        try:
            await runtime.run(spec(), "again")
        except Busy as busy:
            refused.append(busy)

    model.script = Story([bash("sleep 0.5").at(30_000), text("Done.").at(31_000)])
    runtime = Runtime(workspace=workspace, run_dir=workspace.parent / "runs", handoff=policy())
    other = Runtime(workspace=workspace, run_dir=workspace.parent / "runs")
    async with anyio.create_task_group() as tasks:

        def take(event: Event) -> None:
            if event.kind == "tool":
                tasks.start_soon(run_again, runtime)
                tasks.start_soon(run_again, other)

        result = await runtime.run(spec(), "work", on_event=take)
    assert result.ok
    assert len(refused) == 2
    assert f"pid {os.getpid()}" in str(refused[1])
    assert re.search(r", since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\)", str(refused[1]))


async def test_refused_credentials_stop_at_the_first_sign(model: ScriptedModel, workspace: Path) -> None:
    model.script = failure(401, "authentication_error", "invalid x-api-key")
    run = await run_step(workspace)
    assert run.result.state == "failed"
    assert len(model.requests) == 1
    assert run.of("error")[0].payload["failure"] == "credentials refused"


async def test_no_credentials_are_known_at_connect(
    model: ScriptedModel, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    run = await run_step(workspace)
    assert run.result.state == "failed"
    assert model.requests == []
    assert run.of("error")[0].payload["failure"] == "credentials refused"


async def test_a_server_error_is_tried_again_in_the_same_session(model: ScriptedModel, workspace: Path) -> None:
    broken = [failure(500, "api_error", "down")] * 3  # the CLI tries three times, then the supervisor
    model.script = Story([bash("echo one").at(30_000), *broken, text("Done.").at(31_000)])
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert run.result.attempts == 2
    assert run.result.retired == ()
    assert len({request.session for request in model.requests}) == 1


async def test_a_stop_ends_at_the_next_boundary_and_the_next_run_goes_on(model: ScriptedModel, workspace: Path) -> None:
    def stop(runtime: Runtime, event: Event) -> None:
        if event.kind == "tool":
            runtime.stop()

    model.script = Story([bash("sleep 0.3; echo finished > one.txt").at(30_000), text("Done.").at(31_000)])
    run = await run_step(workspace, during=stop)
    assert run.result.state == "stopped"
    assert (workspace / "one.txt").read_text() == "finished\n"
    again = await run_step(workspace, "")
    assert again.result.ok, again.result.error
    assert again.result.session_id == run.result.session_id


async def test_the_spec_reaches_the_model(model: ScriptedModel, workspace: Path) -> None:
    model.script = text("Done.").at(30_000)
    await run_step(workspace, agent=spec(instructions="SPEAK LIKE A GARDENER"))
    system = model.requests[0].system
    assert "SPEAK LIKE A GARDENER" in system
    assert "Nobody may be there to answer" in system


async def test_a_question_is_answered_with_decide_and_note_it(model: ScriptedModel, workspace: Path) -> None:
    question = {
        "question": "Which one?", "header": "One", "multiSelect": False,
        "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
    }  # fmt: skip
    model.script = Story([tool("AskUserQuestion", questions=[question]).at(30_000), text("A, then.").at(31_000)])
    run = await run_step(workspace, agent=spec(permission_mode="default"))
    assert run.result.ok, run.result.error
    assert "Nobody is here to answer" in model.requests[1].all_text()


async def test_with_nobody_there_a_tool_is_refused_with_a_reason_and_listed(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = Story([bash("rm -rf build").at(30_000), text("Then not.").at(31_000)])
    run = await run_step(workspace, agent=spec(permission_mode="default"))
    assert run.result.ok, run.result.error
    assert "Nobody is here to allow this tool" in model.requests[1].all_text()
    assert run.of("result")[-1].payload["denied"] == ["Bash: rm -rf build"]
