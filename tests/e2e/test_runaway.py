"""Steps that would go round in circles, and endpoints whose figures are no help."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp import Event, Runtime
from flower_mcp.demo.model import Reply, Request, ScriptedModel, Sender, Story, Usage, each_session, failure, text
from flower_mcp.runtime.metering import SEED_SENTENCE
from flower_mcp.workbench.workbench import Workbench
from tests.e2e.steps import DOCUMENT, bash, handing_over, is_asked, policy, run_step, spec, successor

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]


def main_requests(model: ScriptedModel) -> list[Request]:
    """What the sessions themselves asked the API."""
    return [request for request in model.requests if request.sender is Sender.MAIN]


async def test_a_window_below_the_floor_costs_one_session_and_one_request(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = Story([bash("echo one").at(23_000), text("not reached")])
    run = await run_step(workspace, handoff=policy(window=20_000))
    assert run.result.state == "failed"
    assert len(run.result.generations) == 1
    assert len(main_requests(model)) == 1
    assert "already carried 23.0K, and the handoff line is at 15K" in (run.result.error or "")
    assert SEED_SENTENCE in (run.result.error or "")


async def test_two_sessions_in_a_row_that_came_to_nothing_stop_the_step_and_the_document_waits(
    model: ScriptedModel, workspace: Path
) -> None:
    def thin(floor: int) -> Story:
        return handing_over(bash("echo a").at(floor), bash("echo b").but(output=140_000).at(floor + 5_000))

    model.script = each_session(thin(40_000), thin(65_000), successor())
    run = await run_step(workspace)
    assert run.result.state == "stopped"
    assert len(run.result.generations) == 2
    assert len(main_requests(model)) == 6  # two of work and one for the document, in each
    assert "5.0K and 5.0K worked" in (run.result.error or "")
    assert "carried 40.0K and 65.0K, and the handoff line is at 150K" in (run.result.error or "")
    assert SEED_SENTENCE in (run.result.error or "")
    assert [error for error in run.result.errors if "started with 65.0K, the first one with 40.0K" in error]
    last = run.result.generations[-1]
    assert (last.written_by, last.launched) == ("session", None)

    again = await run_step(workspace, "")
    assert again.result.ok, again.result.error
    assert again.result.generations[0].n == 3
    assert "You are taking over" in main_requests(model)[-1].all_text()


async def test_handoffs_that_a_person_asks_for_are_no_circle(model: ScriptedModel, workspace: Path) -> None:
    def ask(runtime: Runtime, event: Event) -> None:
        if event.kind == "tool":
            runtime.hand_off()

    work = [handing_over(bash("echo on").at(30_000), bash("echo on").at(31_000)) for _ in range(2)]
    model.script = each_session(*work, successor())
    run = await run_step(workspace, during=ask)
    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 3


async def test_three_starts_that_fail_alike_are_enough(model: ScriptedModel, workspace: Path) -> None:
    model.script = lambda request: failure(400, "invalid_request_error", f"flux capacitor at 0x{request.number}")
    run = await run_step(workspace)
    assert run.result.state == "failed"
    assert run.result.attempts == 3
    assert "3 starts in a row failed alike" in (run.result.error or "")
    assert "flux capacitor" in (run.result.error or "")


def silent(reply: Reply) -> Reply:
    """The same reply from an endpoint that reports nothing."""
    return reply.but(usage=Usage(0, 0, 0), start_output=0, output=0)


async def test_a_gateway_that_reports_nothing_hands_off_by_an_estimate(model: ScriptedModel, workspace: Path) -> None:
    work = [silent(bash(f"python3 -c \"print('{n}' + '字' * 8_000)\"")) for n in range(8)]
    first = Story(work, branches=[(is_asked, silent(text(DOCUMENT)))])
    model.script = each_session(first, lambda request: silent(text("All ported.")))
    run = await run_step(workspace, handoff=policy(window=60_000), agent=spec(max_budget_usd=5.0))
    assert run.result.ok, run.result.error
    assert [each.written_by for each in run.result.generations] == ["session", None]
    assert 4 <= first.told <= 5  # 25,000 at the start and 8,000 with each message; the line is at 45,000
    assert 45_000 <= run.result.generations[0].context <= 60_000

    estimated = [event.payload["estimated"] for event in run.of("context") if event.payload["context"]]
    assert estimated[0]
    assert all(event.payload["estimated"] for event in run.of("handoff"))
    assert run.of("handoff", "near")[0].text.startswith("context ~")
    assert any("holds ~4" in request.last_text() or "holds ~5" in request.last_text() for request in model.requests)
    assert len([error for error in run.result.errors if "the context is unknown, and estimated at ~" in error]) == 1
    assert len([error for error in run.result.errors if "cost not reported" in error]) == 1

    again = await run_step(workspace, "One more thing.", handoff=policy(window=60_000))
    assert again.result.ok, again.result.error
    resumed = again.of("session", "resumed")[0]
    assert resumed.payload["estimated"]
    assert 25_000 < resumed.payload["context"] < 35_000
    assert "context ~" in resumed.text
    live = Workbench(workspace).live("work")
    assert live is not None
    assert live.row.context > 25_000
