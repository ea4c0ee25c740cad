"""The handoff turn that does not go well: a document is frozen in every case, and the work goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp import Event, Runtime
from flower_mcp.core.handoff import DEGRADED
from flower_mcp.demo.model import (
    Reply,
    Request,
    ScriptedModel,
    Sender,
    Source,
    Story,
    each_session,
    failure,
    text,
    tool,
)
from tests.e2e.steps import (
    ASKED_AGAIN,
    DOCUMENT,
    TASK,
    Run,
    bash,
    document,
    document_path,
    is_asked,
    is_asked_again,
    policy,
    run_step,
    spec,
)

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]


def finish() -> Story:
    """The successor's part."""
    return Story([text("All ported.").at(30_000)])


async def handed_over(
    model: ScriptedModel,
    workspace: Path,
    asked: Source,
    again: Source = "",
    *,
    then: Reply | None = None,
    **changes: float,
) -> Run:
    """A run whose first session answers the ask with `asked`, and the second ask with `again`."""
    first = Story(
        [bash("echo one").at(40_000), bash("echo two").at(155_000)],
        branches=[(is_asked, asked), (is_asked_again, again)],
        then=then,
    )
    model.script = each_session(first, finish())
    run = await run_step(workspace, handoff=policy(**changes))
    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 2
    return run


def degradation(run: Run) -> str:
    """The reason in the books."""
    return next(error for error in run.result.errors if error.startswith("交接降级("))


async def test_an_error_degrades_and_says_why(model: ScriptedModel, workspace: Path) -> None:
    run = await handed_over(model, workspace, failure(400, "invalid_request_error", "something is wrong with this"))
    written = document_path(workspace).read_text()
    assert DEGRADED in written
    assert TASK in written
    assert "something is wrong with this" in degradation(run)
    assert run.result.generations[0].written_by == "code"
    assert run.of("handoff", "done")[0].payload["degraded"] is True
    assert run.result.attempts == 1


async def test_silence_past_the_limit_degrades(model: ScriptedModel, workspace: Path) -> None:
    run = await handed_over(model, workspace, Reply(hang=30), write_timeout=0.5)
    assert "no answer in time" in degradation(run)


async def test_a_missing_section_is_asked_for_once_and_then_it_is_whole(model: ScriptedModel, workspace: Path) -> None:
    run = await handed_over(
        model, workspace, text(document(without="Next")).at(156_000), text("## 下一步 · Next\n\nRun it.\n").at(157_000)
    )
    written = document_path(workspace).read_text()
    assert "Run it." in written
    assert "pytest-mock: breaks" in written
    assert run.result.errors == ()
    asked = [request for request in model.requests if request.asks(ASKED_AGAIN)]
    assert len(asked) == 1
    assert "next" in asked[0].last_text()


async def test_a_section_missing_twice_degrades_and_keeps_what_was_written(
    model: ScriptedModel, workspace: Path
) -> None:
    run = await handed_over(model, workspace, text(document(without="Next")), text("I have nothing to add."))
    written = document_path(workspace).read_text()
    assert "without next" in degradation(run)
    assert DEGRADED in written
    assert "pytest-mock: breaks" in written
    assert "Porting tests/test_export.py" in written


async def test_prose_alone_degrades_and_is_kept(model: ScriptedModel, workspace: Path) -> None:
    run = await handed_over(model, workspace, text("I am nearly done, three are left."), text("As I said: three."))
    assert "without doing and next" in degradation(run)
    assert "As I said: three." in document_path(workspace).read_text()


def cut(words: str) -> Reply:
    """An answer that reached the output limit."""
    return text(words).but(stop_reason="max_tokens").at(156_000)


async def test_a_document_cut_after_next_is_frozen_with_the_reason(model: ScriptedModel, workspace: Path) -> None:
    # The CLI asks three times for more before it gives up.
    asked = cut(DOCUMENT[: DOCUMENT.index("port test_resume")])
    run = await handed_over(model, workspace, asked, then=cut("port"))
    assert run.result.generations[0].written_by == "session"
    assert DEGRADED not in document_path(workspace).read_text()
    assert any("cut off" in error for error in run.result.errors)


async def test_a_document_cut_before_next_is_asked_for_again(model: ScriptedModel, workspace: Path) -> None:
    asked = cut(DOCUMENT[: DOCUMENT.index("## 下一步")])
    run = await handed_over(model, workspace, asked, text(DOCUMENT).at(157_000), then=cut("and"))
    assert run.result.generations[0].written_by == "session"
    assert "port test_resume next" in document_path(workspace).read_text()


async def test_the_apis_error_text_is_never_taken_for_the_document(model: ScriptedModel, workspace: Path) -> None:
    await handed_over(model, workspace, failure(400, "invalid_request_error", "## Doing\nx\n\n## Next\ny"))
    assert DEGRADED in document_path(workspace).read_text()


async def test_only_reading_tools_run_in_the_handoff_turn(model: ScriptedModel, workspace: Path) -> None:
    marker = workspace / "made-in-the-handoff-turn"
    first = Story(
        [
            bash("echo one").at(155_000),
            (bash(f"touch {marker}") + tool("Read", file_path=str(workspace / "README.md"))).at(156_000),
            text(DOCUMENT).at(157_000),
        ]
    )
    model.script = each_session(Story([bash("echo zero").at(40_000)], then=first), finish())
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert not marker.exists()
    assert first.left == 0
    answered = model.requests[3].all_text()
    assert "The handoff is being written" in answered
    assert "A workspace" in answered


async def test_a_background_agent_keeps_its_tools_while_the_handoff_waits_for_it(
    model: ScriptedModel, workspace: Path
) -> None:
    marker = workspace / "made-by-the-agent"
    steps = [bash("sleep 0.8"), bash(f"touch {marker}"), text("the agent is done")]

    def agent(request: Request) -> Reply:
        assert request.sender is Sender.AGENT
        return steps[min((len(request.messages) - 1) // 2, 2)]

    start = tool("Agent", description="look around", prompt="look", subagent_type="general-purpose")
    first = Story(
        [bash("echo one").at(40_000), start.at(155_000)],
        branches=[
            (is_asked, text(DOCUMENT).at(156_000)),
            (lambda request: "task-notification" in request.last_text(), bash("echo injected").at(157_000)),
        ],
        agents=agent,
    )
    model.script = each_session(first, finish())
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert marker.exists()
    assert any(event.payload.get("agents") == 1 for event in run.of("drain"))
    order = [
        "agent" if request.agent else "asked" if is_asked(request) else "main"
        for request in model.requests
        if request.session == run.result.retired[0]
    ]
    assert order.index("asked") > max(i for i, who in enumerate(order) if who == "agent")
    assert run.result.generations[0].written_by == "session"


async def test_an_agent_that_does_not_end_is_stopped_and_recorded(model: ScriptedModel, workspace: Path) -> None:
    start = tool("Agent", description="count for ever", prompt="count", subagent_type="general-purpose")
    first = Story(
        [bash("echo one").at(40_000), start.at(155_000)],
        branches=[(is_asked, text(DOCUMENT).at(156_000))],
        then=text("noted").at(157_000),
        agents=Reply(hang=30),
    )
    model.script = each_session(first, finish())
    run = await run_step(workspace, handoff=policy(drain_timeout=0.5))
    assert run.result.ok, run.result.error
    assert "stopped at the handoff, agent: count for ever" in document_path(workspace).read_text()


async def test_asking_again_cuts_the_waiting_for_agents_short(model: ScriptedModel, workspace: Path) -> None:
    def ask(runtime: Runtime, event: Event) -> None:
        if event.kind == "drain" and event.payload.get("agents"):
            runtime.hand_off()

    start = tool("Agent", description="count for ever", prompt="count", subagent_type="general-purpose")
    first = Story(
        [bash("echo one").at(40_000), start.at(155_000)],
        branches=[(is_asked, text(DOCUMENT).at(156_000))],
        then=text("noted").at(157_000),
        agents=Reply(hang=30),
    )
    model.script = each_session(first, finish())
    run = await run_step(workspace, handoff=policy(drain_timeout=600), during=ask, limit=30)
    assert run.result.ok, run.result.error
    assert "stopped at the handoff, agent" in document_path(workspace).read_text()


async def test_a_budget_that_runs_out_in_the_handoff_turn_does_not_cost_the_document(
    model: ScriptedModel, workspace: Path
) -> None:
    dear = text(DOCUMENT).but(output=100_000).at(156_000)
    read = tool("Read", file_path=str(workspace / "README.md")).but(output=60_000).at(156_000)
    first = Story([bash("echo one").at(40_000), bash("echo two").at(155_000), read], then=dear)
    model.script = each_session(first, finish())
    run = await run_step(workspace, agent=spec(max_budget_usd=0.5))
    assert run.result.generations[0].written_by == "session"
    assert run.result.state == "stopped"
    assert "go on with --budget" in (run.result.error or "")
