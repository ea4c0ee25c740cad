"""A whole handoff, when the context crosses the line: what is written, what is launched, what is told."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flower_mcp import Event, Runtime, Workbench
from flower_mcp.demo.model import Request, ScriptedModel, Story, each_session, text, tool
from flower_mcp.demo.prefix import common_prefix_share
from tests.e2e.steps import (
    DOCUMENT,
    TAKING_OVER,
    TASK,
    Run,
    archived,
    bash,
    document,
    document_path,
    handing_over,
    is_asked,
    manifest,
    policy,
    run_step,
    spec,
)

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]


@dataclass(frozen=True, slots=True)
class Told:
    """A run, what the model was asked in it, where it ran, and its books."""

    run: Run
    requests: list[Request]
    workspace: Path
    rows: list[dict[str, Any]]


def finish() -> Story:
    """The last session: one more command, and done."""
    return Story([bash("echo goes on").at(30_000), text("All ported.").at(31_000)])


@pytest.fixture(scope="module")
def told() -> dict[str, Told]:
    """The run that several tests look at, once it was made."""
    return {}


@pytest.fixture
async def two_handoffs(model: ScriptedModel, workspace: Path, told: dict[str, Told]) -> Told:
    """Three sessions. The first comes near the line in several messages, the second jumps over both lines in one."""
    if "run" not in told:
        first = [bash("echo").at(tokens) for tokens in (100_000, 131_000, 135_000, 140_000, 151_000)]
        second = [bash("echo").at(20_000), bash("echo").at(190_000)]
        model.script = each_session(
            handing_over(*first, document_text=document("FIRST")),
            handing_over(*second, document_text=document("SECOND")),
            finish(),
        )
        run = await run_step(workspace)
        assert run.result.ok, run.result.error
        told["run"] = Told(run, list(model.requests), workspace, manifest(workspace))
    return told["run"]


async def test_a_session_over_the_line_writes_and_a_new_one_finishes(two_handoffs: Told) -> None:
    run = two_handoffs.run
    assert run.result.text == "All ported."
    assert run.phases() == ["near", "writing", "done"] * 2
    assert run.phases("session") == ["started", *["retired", "launched"] * 2]
    assert run.result.attempts == 1
    one, two, three = run.result.generations
    assert run.result.retired == (one.session_id, two.session_id)
    assert run.result.session_id == three.session_id
    assert (one.written_by, one.launched, one.edited) == ("session", one.frozen, False)
    assert two_handoffs.rows[0]["generations"][0]["frozen"] == one.frozen
    on_disk = document_path(two_handoffs.workspace).read_text()
    assert "pytest-mock: breaks the spies" in on_disk
    opening = next(request for request in two_handoffs.requests if request.session == three.session_id)
    assert opening.asks(TAKING_OVER)
    assert on_disk in opening.all_text()
    assert TASK in opening.all_text()  # the person's own words
    assert Workbench(two_handoffs.workspace).taken.read("work") == two.launched  # no interactive session is given it


async def test_two_handoffs_in_a_row_keep_both_documents(two_handoffs: Told) -> None:
    assert "SECOND" in document_path(two_handoffs.workspace).read_text()
    assert ["FIRST" in path.read_text() for path in archived(two_handoffs.workspace)] == [True]


async def test_the_done_event_says_what_was_written(two_handoffs: Told) -> None:
    done = two_handoffs.run.of("handoff", "done")[0].payload
    assert done["window"] == 200_000
    assert done["context"] == 156_000
    assert done["degraded"] is False
    assert done["path"] == str(document_path(two_handoffs.workspace))
    assert done["sections"]["doing"] == "Porting tests/test_export.py, 3 of 7 done."


async def test_near_is_said_once_a_generation_and_first_also_where_one_message_jumps_over_both_lines(
    two_handoffs: Told,
) -> None:
    assert two_handoffs.run.phases() == ["near", "writing", "done"] * 2
    first, second = (event.payload for event in two_handoffs.run.of("handoff", "near"))
    assert (first["context"], first["left"]) == (131_000, 19_000)
    assert second["context"] == 190_000


async def test_the_handoff_request_begins_with_the_last_working_request(two_handoffs: Told) -> None:
    requests = two_handoffs.requests
    asked = [index for index, request in enumerate(requests) if is_asked(request)]
    assert len(asked) == 2
    for index in asked:
        shared = common_prefix_share(requests[index - 1], requests[index])
        assert (shared.tools, shared.system) == (True, True)
        assert shared.messages == shared.total
        assert shared.share == 1.0


async def test_what_the_next_request_will_carry_counts_and_the_handoff_turn_is_not_interrupted_above_the_line(
    model: ScriptedModel, workspace: Path
) -> None:
    big = "python3 -c \"print('x' * 29000)\""
    five = bash(big) + bash(big) + bash(big) + bash(big) + bash(big)
    read = tool("Read", file_path=str(workspace / "README.md"))
    second = Story(
        [bash("echo").at(40_000), bash("echo").at(155_000), read.at(180_000), text(DOCUMENT).at(185_000)],
        branches=[],
    )
    model.script = each_session(handing_over(bash("echo").at(40_000), five.at(140_000)), second, finish())
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 3  # 140,000 + 145,000 characters / 3 is above 180,000
    assert [each.written_by for each in run.result.generations] == ["session", "session", None]
    assert second.left == 0


async def test_a_subagent_with_a_huge_context_does_not_trigger(model: ScriptedModel, workspace: Path) -> None:
    """The window that the CLI reports is used, since nobody set one."""
    agent = tool("Agent", description="look", prompt="look around", subagent_type="general-purpose",
                 run_in_background=False)  # fmt: skip
    model.script = Story(
        [agent.at(40_000), bash("echo").at(41_000), text("Done.").at(42_000)],
        agents=text("seen").at(195_000),
    )
    run = await run_step(workspace, handoff=True, agent=spec())
    assert run.result.ok, run.result.error
    assert run.phases() == []
    assert len(run.result.generations) == 1
    assert (run.result.window, run.result.window_source) == (200_000, "reported")


async def test_a_slow_listener_still_breaks_on_time_and_an_edit_in_the_window_reaches_the_successor(
    model: ScriptedModel, workspace: Path
) -> None:
    """A path and a slash stay text, in the task as in the document."""
    secret = workspace / "notes.txt"
    secret.write_text("CONTENT OF THE FILE")

    def slow(_runtime: Runtime, event: Event) -> None:
        time.sleep(0.02)
        if event.kind == "edit" and event.payload.get("phase") == "open":
            path = document_path(workspace)
            path.write_text(path.read_text().replace("port test_resume next", "port test_batch FIRST"))

    work = [bash("echo").at(tokens) for tokens in (40_000, 80_000, 120_000, 155_000, 190_000, 199_000)]
    first = handing_over(*work, document_text=document(f"@{secret} and\n/compact"))
    model.script = each_session(first, finish())
    task = f"/compact is no command here, nor is @{secret}"
    run = await run_step(workspace, task, handoff=policy(edit_window=0.5), during=slow)
    assert run.result.ok, run.result.error
    assert first.told == 4  # the request after 155,000 is the handoff's
    one = run.result.generations[0]
    assert (one.edited, one.sections_edited) == (True, ("next",))
    assert one.launched != one.frozen
    asked = [request.all_text() for request in model.requests]
    assert any("port test_batch FIRST" in each for each in asked)
    assert any(f"@{secret} and" in each for each in asked)
    assert not any("CONTENT OF THE FILE" in each for each in asked)


async def test_without_a_workbench_nothing_is_on_disk_and_it_still_works(model: ScriptedModel, workspace: Path) -> None:
    model.script = each_session(handing_over(bash("echo").at(40_000), bash("echo").at(155_000)), finish())
    run = await run_step(workspace, workbench=False)
    assert run.result.ok, run.result.error
    assert not (workspace / ".flower").exists()
    assert run.of("handoff", "done")[0].payload["path"] is None
    assert any("pytest-mock: breaks" in request.all_text() for request in model.requests[3:])


async def test_a_handoff_that_was_asked_for_comes_at_the_next_boundary(model: ScriptedModel, workspace: Path) -> None:
    def ask(runtime: Runtime, event: Event) -> None:
        if event.kind == "tool":
            runtime.hand_off()

    model.script = each_session(handing_over(bash("echo").at(20_000), bash("echo").at(21_000)), text("Done."))
    run = await run_step(workspace, during=ask)
    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 2
