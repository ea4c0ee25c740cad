"""A whole handoff, when the context crosses the line: what is written, what is launched, what is told."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime
from flower_mcp.demo.model import ScriptedModel, Story, each_session, text, tool
from tests.e2e.harness import common_prefix_share
from tests.e2e.steps import (
    DOCUMENT,
    TAKING_OVER,
    TASK,
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


def finish() -> Story:
    """The last session: one more command, and done."""
    return Story([bash("echo goes on").at(30_000), text("All ported.").at(31_000)])


async def test_a_session_over_the_line_writes_and_a_new_one_finishes(model: ScriptedModel, workspace: Path) -> None:
    first = handing_over(bash("echo one").at(40_000), bash("echo two").at(155_000))
    model.script = each_session(first, finish())
    run = await run_step(workspace)

    assert run.result.ok, run.result.error
    assert run.result.text == "All ported."
    assert run.phases() == ["near", "writing", "done"]
    assert run.phases("session") == ["started", "retired", "launched"]
    assert run.result.attempts == 1
    one, two = run.result.generations
    assert run.result.retired == (one.session_id,)
    assert run.result.session_id == two.session_id
    assert (one.written_by, one.launched, one.edited) == ("session", one.frozen, False)
    text_on_disk = document_path(workspace).read_text()
    assert "pytest-mock: breaks the spies" in text_on_disk
    opening = next(request for request in model.requests if request.session == two.session_id)
    assert opening.asks(TAKING_OVER)
    assert text_on_disk in opening.all_text()
    assert manifest(workspace)[0]["generations"][0]["frozen"] == one.frozen


async def test_the_done_event_says_what_was_written(model: ScriptedModel, workspace: Path) -> None:
    model.script = each_session(handing_over(bash("echo one").at(40_000), bash("echo two").at(155_000)), finish())
    run = await run_step(workspace)
    done = run.of("handoff", "done")[0].payload
    assert done["window"] == 200_000
    assert done["context"] == 156_000
    assert done["degraded"] is False
    assert done["path"] == str(document_path(workspace))
    assert done["sections"]["doing"] == "Porting tests/test_export.py, 3 of 7 done."


async def test_two_handoffs_in_a_row_keep_both_documents(model: ScriptedModel, workspace: Path) -> None:
    first = handing_over(bash("echo").at(40_000), bash("echo").at(155_000), document_text=document("FIRST"))
    second = handing_over(bash("echo").at(30_000), bash("echo").at(160_000), document_text=document("SECOND"))
    model.script = each_session(first, second, finish())
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 3
    assert "SECOND" in document_path(workspace).read_text()
    assert ["FIRST" in path.read_text() for path in archived(workspace)] == [True]
    assert run.phases() == ["near", "writing", "done"] * 2


async def test_near_is_said_once_a_generation(model: ScriptedModel, workspace: Path) -> None:
    first = handing_over(*[bash("echo").at(tokens) for tokens in (100_000, 131_000, 135_000, 140_000, 151_000)])
    model.script = each_session(first, finish())
    run = await run_step(workspace)
    assert run.phases() == ["near", "writing", "done"]
    near = run.of("handoff", "near")[0].payload
    assert (near["context"], near["left"]) == (131_000, 19_000)


async def test_near_comes_first_also_when_one_message_jumps_over_both_lines(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = each_session(handing_over(bash("echo").at(20_000), bash("echo").at(190_000)), finish())
    assert (await run_step(workspace)).phases() == ["near", "writing", "done"]


async def test_what_the_next_request_will_carry_counts_too(model: ScriptedModel, workspace: Path) -> None:
    big = "python3 -c \"print('x' * 29000)\""
    three = bash(big) + bash(big) + bash(big) + bash(big) + bash(big)
    model.script = each_session(handing_over(bash("echo").at(40_000), three.at(140_000)), finish())
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 2  # 140,000 + 145,000 characters / 3 is above 180,000


async def test_a_subagent_with_a_huge_context_does_not_trigger(model: ScriptedModel, workspace: Path) -> None:
    agent = tool("Agent", description="look", prompt="look around", subagent_type="general-purpose",
                 run_in_background=False)  # fmt: skip
    model.script = Story(
        [agent.at(40_000), bash("echo").at(41_000), text("Done.").at(42_000)],
        agents=text("seen").at(195_000),
    )
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert run.phases() == []
    assert len(run.result.generations) == 1


async def test_a_slow_listener_still_breaks_on_time(model: ScriptedModel, workspace: Path) -> None:
    def slow(_runtime: Runtime, _event: Event) -> None:
        time.sleep(0.02)

    work = [bash("echo").at(tokens) for tokens in (40_000, 80_000, 120_000, 155_000, 190_000, 199_000)]
    first = handing_over(*work)
    model.script = each_session(first, finish())
    run = await run_step(workspace, during=slow)
    assert run.result.ok, run.result.error
    assert first.told == 4  # the request after 155,000 is the handoff's


async def test_the_handoff_request_begins_with_the_last_working_request(model: ScriptedModel, workspace: Path) -> None:
    model.script = each_session(handing_over(bash("echo").at(40_000), bash("echo").at(155_000)), finish())
    await run_step(workspace)
    asked = next(index for index, request in enumerate(model.requests) if is_asked(request))
    shared = common_prefix_share(model.requests[asked - 1], model.requests[asked])
    assert (shared.tools, shared.system) == (True, True)
    assert shared.messages == shared.total
    assert shared.share == 1.0


async def test_usage_above_the_line_does_not_interrupt_the_handoff_turn(model: ScriptedModel, workspace: Path) -> None:
    read = tool("Read", file_path=str(workspace / "README.md"))
    first = Story(
        [bash("echo").at(40_000), bash("echo").at(155_000), read.at(180_000), text(DOCUMENT).at(185_000)],
        branches=[],
    )
    model.script = each_session(first, finish())
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert run.result.generations[0].written_by == "session"
    assert first.left == 0


async def test_a_path_and_a_slash_in_a_document_stay_text(model: ScriptedModel, workspace: Path) -> None:
    secret = workspace / "notes.txt"
    secret.write_text("CONTENT OF THE FILE")
    body = document(f"@{secret} and\n/compact")
    first = handing_over(bash("echo").at(40_000), bash("echo").at(155_000), document_text=body)
    model.script = each_session(first, finish())
    run = await run_step(workspace, f"/compact is no command here, nor is @{secret}")
    assert run.result.ok, run.result.error
    assert not any("CONTENT OF THE FILE" in request.all_text() for request in model.requests)
    assert any(f"@{secret} and" in request.all_text() for request in model.requests)


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


async def test_the_successor_gets_the_persons_own_words(model: ScriptedModel, workspace: Path) -> None:
    model.script = each_session(handing_over(bash("echo").at(40_000), bash("echo").at(155_000)), finish())
    run = await run_step(workspace)
    opening = next(r for r in model.requests if r.session == run.result.session_id)
    assert TASK in opening.all_text()


async def test_an_edit_in_the_window_reaches_the_successor(model: ScriptedModel, workspace: Path) -> None:
    def edit(_runtime: Runtime, event: Event) -> None:
        if event.kind == "edit" and event.payload.get("phase") == "open":
            path = document_path(workspace)
            path.write_text(path.read_text().replace("port test_resume next", "port test_batch FIRST"))

    model.script = each_session(handing_over(bash("echo").at(40_000), bash("echo").at(155_000)), finish())
    run = await run_step(workspace, handoff=policy(edit_window=0.5), during=edit)
    one = run.result.generations[0]
    assert (one.edited, one.sections_edited) == (True, ("next",))
    assert one.launched != one.frozen
    assert any("port test_batch FIRST" in request.all_text() for request in model.requests)


async def test_the_design_documents_spec_defaults_serve(model: ScriptedModel, workspace: Path) -> None:
    """The window that the CLI reports is used when nobody set one."""
    model.script = Story([bash("echo").at(40_000), text("Done.").at(41_000)])
    run = await run_step(workspace, handoff=True, agent=spec())
    assert run.result.ok, run.result.error
    assert (run.result.window, run.result.window_source) == (200_000, "reported")
