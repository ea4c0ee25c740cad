"""A hostile world: what the books say is true, a stop is heeded, and nobody but the person chooses."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime
from flower_mcp.core.errors import FlowerError
from flower_mcp.demo.model import (
    Reply,
    Request,
    ScriptedModel,
    Story,
    ToolUse,
    each_session,
    failure,
    text,
    tool,
)
from tests.e2e.editing import opening_of
from tests.e2e.steps import (
    CUT_OFF,
    DOCUMENT,
    TASK,
    archived,
    bash,
    document_path,
    handing_over,
    is_asked,
    policy,
    run_step,
    successor,
    two_sessions,
)

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

LIMITED = failure(429, "rate_limit_error", "You've hit your weekly limit · resets in 3d").but(
    headers={"anthropic-ratelimit-unified-status": "rejected"}
)
OVERLOADED = failure(529, "overloaded_error", "Overloaded")


# The session's knowledge is not thrown away for a passing failure


async def test_a_moment_of_overload_in_the_handoff_turn_costs_no_document(
    model: ScriptedModel, workspace: Path
) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Reply:
        asked.append(request)
        return OVERLOADED if len(asked) <= 4 else text(DOCUMENT).at(156_000)

    first = Story(
        [bash("echo a").at(40_000), bash("echo b").at(155_000)],
        branches=[(is_asked, answer)],
        then=answer,
    )
    model.script = each_session(first, successor())
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert run.result.generations[0].written_by == "session"


@pytest.mark.parametrize(
    "refusal",
    [LIMITED, failure(402, "billing_error", "Your credit balance is too low")],
    ids=["usage limit", "credit used up"],
)
async def test_a_refusal_that_stops_all_work_keeps_the_session_that_could_not_write(
    model: ScriptedModel, workspace: Path, refusal: Reply
) -> None:
    closed = [True]

    def answer(_request: Request) -> Reply:
        return refusal if closed[0] else text(DOCUMENT).at(156_000)

    first = Story(
        [bash("echo a").at(40_000), bash("echo b").at(155_000)],
        branches=[(is_asked, answer)],
        then=lambda request: refusal if closed[0] else bash("echo c").at(157_000),
    )
    model.script = each_session(first, lambda request: refusal if closed[0] else text("All ported.").at(20_000))
    evening = await run_step(workspace)
    assert not evening.result.ok
    closed[0] = False
    morning = await run_step(workspace, "")
    assert morning.result.ok, morning.result.error
    written = [generation.written_by for row in (evening, morning) for generation in row.result.generations]
    assert "code" not in written
    assert "port test_resume next" in model.requests[-1].all_text()


# Done means done


async def test_a_step_is_not_done_while_an_injected_turn_works(
    model: ScriptedModel, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flower_mcp.runtime.working.SETTLE", 1.0, raising=False)
    start = tool("Agent", description="look", prompt="look", subagent_type="general-purpose")
    model.script = Story(
        [
            start.at(30_000),
            text("I wait for the agent.").at(31_000),
            bash("for i in 1 2 3 4 5 6 7 8; do sleep 0.5; done; echo x > made").at(32_000),
            text("Now it is finished.").but(delay=2.5).at(33_000),
        ],
        agents=text("looked").but(delay=0.5),
    )
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert run.result.text == "Now it is finished."


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse"])
async def test_work_that_a_hook_of_the_workspace_stops_is_not_done(
    model: ScriptedModel, workspace: Path, event: str
) -> None:
    commands = {
        "UserPromptSubmit": "echo not today >&2; exit 2",
        "PostToolUse": 'echo \'{"continue": false, "stopReason": "not today"}\'',
    }
    hook = {"matcher": "*", "hooks": [{"type": "command", "command": commands[event]}]}
    (workspace / ".claude").mkdir()
    (workspace / ".claude" / "settings.json").write_text(json.dumps({"hooks": {event: [hook]}}))
    model.script = Story([bash("echo a").at(30_000), text("Finished.").at(31_000)], then=text("More.").at(32_000))
    run = await run_step(workspace, trust=True)
    assert not run.result.ok
    assert "hook" in (run.result.error or "")


async def test_a_tool_input_that_is_no_object_does_not_end_the_step(model: ScriptedModel, workspace: Path) -> None:
    odd = [Reply(blocks=(ToolUse("Bash", {}, raw=raw),)).at(30_000) for raw in ("[1, 2]", '"words"', "7")]
    model.script = Story([*odd, bash("echo a").at(31_000), text("Finished.").at(32_000)])
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert run.result.text == "Finished."


# A stop is heeded


async def test_agents_that_go_on_working_do_not_put_off_a_stop(
    model: ScriptedModel, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flower_mcp.runtime.working.STOP_GRACE", 2.0, raising=False)
    asked_at: list[float] = []

    def stop(runtime: Runtime, event: Event) -> None:
        if event.payload.get("by_agent") and not asked_at:
            asked_at.append(time.monotonic())
            runtime.stop()

    start = tool("Agent", description="look", prompt="look", subagent_type="general-purpose")
    long = bash("for i in $(seq 25); do sleep 1; done").at(31_000)
    model.script = Story([start.at(30_000), long], then=text("late").at(32_000), agents=bash("sleep 1; echo tick"))
    run = await run_step(workspace, during=stop)
    assert run.result.state == "stopped"
    assert time.monotonic() - asked_at[0] < 12


# What is said and what is written


async def test_a_blank_task_writes_nothing(model: ScriptedModel, workspace: Path) -> None:
    with pytest.raises(FlowerError):
        await run_step(workspace, " \n\t")
    assert not (workspace / ".flower" / "live" / "work.json").exists()
    assert not (workspace.parent / "runs" / "manifest.json").exists()


@pytest.mark.parametrize("name", ["x\0y", "lone \ud800", "a" * 200_000], ids=["NUL", "surrogate", "very long"])
async def test_a_step_may_have_any_name_or_is_refused_before_anything_is_written(
    model: ScriptedModel, workspace: Path, name: str
) -> None:
    model.script = two_sessions()
    try:
        run = await run_step(workspace, step=name)
    except FlowerError:
        assert list(workspace.glob(".flower/notes/*.md")) == []
        assert not (workspace.parent / "runs" / "manifest.json").exists()
    else:
        assert run.result.ok, run.result.error


async def test_the_live_state_of_a_newer_version_is_not_overwritten(model: ScriptedModel, workspace: Path) -> None:
    model.script = two_sessions()
    await run_step(workspace)
    live = workspace / ".flower" / "live" / "work.json"
    newer = '{"v": 99, "step": "work", "future": 1}'
    live.write_text(newer)
    try:
        await run_step(workspace, "")
    except FlowerError:
        assert live.read_text() == newer
    else:
        kept = [path for path in live.parent.iterdir() if path.is_file() and path.read_bytes() == newer.encode()]
        assert kept, "the newer file is gone"


async def test_a_corrupt_lineage_is_said_once(model: ScriptedModel, workspace: Path) -> None:
    model.script = two_sessions()
    await run_step(workspace)
    (workspace.parent / "runs" / "lineage.json").write_bytes(b"\xff{")
    run = await run_step(workspace, "")
    assert run.result.ok, run.result.error
    assert len([error for error in run.result.errors if "lineage.json" in error]) == 1


async def test_the_workspaces_settings_do_not_turn_compaction_on(model: ScriptedModel, workspace: Path) -> None:
    settings = {"env": {"DISABLE_AUTO_COMPACT": "0", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "60000"}}
    (workspace / ".claude").mkdir()
    (workspace / ".claude" / "settings.json").write_text(json.dumps(settings))
    work = [bash(f"echo {n}").at(context) for n, context in enumerate((30_000, 50_000, 70_000, 100_000, 155_000))]
    model.script = each_session(handing_over(*work), successor())
    run = await run_step(workspace, trust=True)
    assert run.result.ok, run.result.error
    assert not any("Do NOT call any tools" in request.last_text() for request in model.requests)
    assert [generation.written_by for generation in run.result.generations] == ["session", None]


async def test_the_workspaces_settings_do_not_choose_the_endpoint(model: ScriptedModel, workspace: Path) -> None:
    (workspace / ".claude").mkdir()
    settings = {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}
    (workspace / ".claude" / "settings.json").write_text(json.dumps(settings))
    model.script = Story([text("Finished.").at(30_000)])
    run = await run_step(workspace, trust=True)
    assert run.result.ok, run.result.error


# What held when it was attacked, and must go on to


async def test_a_listener_that_raises_each_time_stops_nothing(model: ScriptedModel, workspace: Path) -> None:
    def complain(_runtime: Runtime, event: Event) -> None:
        raise ValueError(event.kind)

    model.script = two_sessions()
    run = await run_step(workspace, during=complain)
    assert run.result.ok, run.result.error
    assert any("on_event raised ValueError" in error for error in run.result.errors)


async def test_a_document_spoilt_in_the_edit_window_is_replaced_by_the_frozen_one(
    model: ScriptedModel, workspace: Path
) -> None:
    """One fault at each handoff of a run."""
    path = document_path(workspace)
    faults: dict[str, Callable[[], object]] = {
        "emptied": lambda: path.write_text(""),
        "deleted": lambda: None,
        "a folder": path.mkdir,
        "a link": lambda: path.symlink_to(workspace / "README.md"),
        "noise": lambda: path.write_bytes(bytes(range(256)) * 40),
    }
    due = list(faults.values())
    there: list[bool] = []

    def spoil(_runtime: Runtime, event: Event) -> None:
        phase = event.payload.get("phase")
        if (event.kind, phase) == ("edit", "open"):
            path.unlink()
            due.pop(0)()
        elif phase == "launched":
            there.append(bool(archived(workspace)) or path.exists())
            if path.is_symlink():
                path.unlink()
            elif path.is_dir():
                path.rmdir()  # as the person would, for the next document

    work = [bash("echo a").at(40_000), bash("echo b").at(155_000)]
    model.script = each_session(*[handing_over(*work) for _ in faults], successor())
    run = await run_step(workspace, handoff=policy(edit_window=0.6, edit_limit=2), during=spoil)
    assert run.result.ok, run.result.error
    assert due == []
    sessions = [generation.session_id for generation in run.result.generations]
    assert len(sessions) == len(faults) + 1
    for fault, session, is_there in zip(faults, sessions[1:], there, strict=True):
        assert "port test_resume next" in opening_of(model, session).all_text(), fault
        assert is_there or fault == "deleted", fault
    assert len(run.result.errors) >= len(faults), run.result.errors


def _stop_at(phase: str, runtime: Runtime, event: Event) -> None:
    """For run_step's `during`."""
    if event.payload.get("phase") == phase:
        runtime.stop()


async def test_a_stop_between_two_sessions_goes_on_from_the_document(model: ScriptedModel, workspace: Path) -> None:
    """Each run goes on where the one before was stopped, and is stopped a phase later."""
    phases = ("done", "open", "closed", "retired")
    work = [bash("echo a").at(40_000), bash("echo b").at(155_000)]
    model.script = each_session(*[handing_over(*work) for _ in phases], successor())
    for number, phase in enumerate(phases, start=1):
        prompt, during = ("" if number > 1 else TASK), partial(_stop_at, phase)
        run = await run_step(workspace, prompt, handoff=policy(edit_window=0.3), during=during)
        assert run.result.state in ("stopped", "done"), phase
        assert len([request for request in model.requests if is_asked(request)]) == number, phase
    last = await run_step(workspace, "")
    assert last.result.ok, last.result.error
    assert len([request for request in model.requests if is_asked(request)]) == len(phases)


async def test_a_stop_in_the_handoff_turn_leaves_the_document_to_be_written_first(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = two_sessions()
    evening = await run_step(workspace, during=partial(_stop_at, "writing"))
    assert evening.result.state == "stopped"
    morning = await run_step(workspace, "")
    assert morning.result.ok, morning.result.error
    assert [generation.written_by for generation in morning.result.generations] == ["session", None]
    assert not any(request.asks(CUT_OFF) for request in model.requests)
