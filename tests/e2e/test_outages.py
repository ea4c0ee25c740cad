"""An endpoint that is overloaded for longer than the attempts last ends no night's run, and costs no document."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from flower_mcp import Event, RetryPolicy, Runtime
from flower_mcp.core.books import seconds
from flower_mcp.demo.model import Reply, Request, ScriptedModel, Story, each_session, failure, text
from tests.e2e.steps import CUT_OFF, DOCUMENT, bash, is_asked, run_step, successor

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

DOWN = failure(529, "overloaded_error", "Overloaded").but(headers={"x-should-retry": "false"})
QUICK = RetryPolicy(max_attempts=2, base=0.02, cap=0.05)


@dataclass
class Outage:
    """A model that is overloaded while `down`; `waits` are the waits that were told, and `mends_at` how many last."""

    answer: Reply
    down: bool = True
    mends_at: int = 0
    stops_at: int = 0

    def __post_init__(self) -> None:
        self.waits: list[Event] = []

    def __call__(self, _request: Request) -> Reply:
        return DOWN if self.down else self.answer

    def during(self, runtime: Runtime, event: Event) -> None:
        """For run_step."""
        if event.kind == "wait" and event.payload["phase"] == "open":
            self.waits.append(event)
            self.down = self.down and len(self.waits) != self.mends_at
            if len(self.waits) == self.stops_at:
                runtime.stop()


async def test_an_overloaded_server_is_waited_for_and_a_person_can_stop_that(
    model: ScriptedModel, workspace: Path
) -> None:
    work = Outage(text("Done.").at(31_000), mends_at=3)
    model.script = lambda request: bash("echo one").at(30_000) if len(request.messages) == 1 else work(request)
    night = await run_step(workspace, during=work.during, retry=QUICK)
    assert night.result.ok, night.result.error
    assert night.result.attempts == 2  # a wait is none
    assert "Overloaded" in work.waits[0].text
    assert seconds(work.waits[-1].payload["latest"]) - seconds(work.waits[0].payload["since"]) == pytest.approx(3600)

    model.script = stopped = Outage(text("Done."), stops_at=2)
    assert (await run_step(workspace, "More.", during=stopped.during, retry=QUICK)).result.state == "stopped"

    model.script = DOWN
    began = time.monotonic()
    failed = await run_step(workspace, "", retry=RetryPolicy(max_attempts=2, base=0.02, cap=0.05, offline=0.5))
    assert failed.result.state == "failed"
    assert time.monotonic() - began > 0.5
    assert any(request.asks("The run of this session had ended") for request in model.requests)
    assert not any(request.asks(CUT_OFF) for request in model.requests)
    assert "server error" in (failed.result.error or "")


async def test_an_overloaded_server_costs_no_document_in_the_handoff_turn_however_long_it_lasts(
    model: ScriptedModel, workspace: Path
) -> None:
    work = [bash("echo one").at(40_000), bash("echo two").at(155_000)]
    evening, morning = Outage(text(""), stops_at=2), Outage(text(DOCUMENT).at(156_000), mends_at=1)
    answers = [evening, morning]

    def write(request: Request) -> Reply:
        return answers[0](request)

    first = Story(work, branches=[(is_asked, write)])
    model.script = each_session(first, successor())
    stopped = await run_step(workspace, during=evening.during, retry=QUICK)
    assert stopped.result.state == "stopped"
    assert len(stopped.of("retry")) - len([each for each in stopped.of("retry") if each.payload.get("by")]) == 1

    del answers[0]
    run = await run_step(workspace, "", during=morning.during, retry=QUICK)
    assert run.result.ok, run.result.error
    assert [generation.written_by for generation in run.result.generations] == ["session", None]
    assert run.result.attempts == 1
