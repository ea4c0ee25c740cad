"""A hostile world: what breaks overnight runs must end in a true state, in bounded requests, with nothing lost.

Scripts here answer for ever unless they say otherwise; `Patience` ends such a script after so many requests, so that a
loop without a bound fails its test instead of hanging it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime
from flower_mcp.demo.model import (
    Reply,
    Request,
    ScriptedModel,
    Sender,
    Story,
    ToolUse,
    each_session,
    text,
    tool,
)
from tests.e2e.steps import (
    DOCUMENT,
    TAKING_OVER,
    bash,
    document_path,
    is_asked,
    policy,
    run_step,
    spec,
    successor,
    two_sessions,
)

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

PATIENCE = 40  # requests; the bounds asked for below are lower


class Patience:
    """A script that asks `answer` for a reply to the n-th main request, and says "I give up." from PATIENCE on."""

    def __init__(self, answer: Callable[[int, Request], Reply]) -> None:
        self._answer = answer
        self.asked = 0

    def __call__(self, request: Request) -> Reply:
        """The next reply; side requests get a title."""
        if request.sender is Sender.SIDE:
            return text('{"title": "x"}')
        self.asked += 1
        return text("I give up.").at(20_000) if self.asked > PATIENCE else self._answer(self.asked, request)


def of_session(model: ScriptedModel, session_id: str) -> list[Request]:
    """The main thread's requests of one session."""
    return [each for each in model.requests if each.session == session_id and each.sender is Sender.MAIN]


# No runaway


async def test_a_cli_that_dies_at_each_attempt_is_not_resumed_for_ever(model: ScriptedModel, workspace: Path) -> None:
    script = Patience(lambda n, _: bash("kill -9 $CLAUDE_PID").at(20_000 + 1_000 * n))
    model.script = script
    run = await run_step(workspace)
    assert not run.result.ok
    assert script.asked <= 10
    assert (run.result.cost_usd, run.result.generations[0].cost_usd) == (None, None)
    assert any("what its last turn cost is not known" in error for error in run.result.errors)


async def test_answers_cut_at_the_output_limit_are_not_asked_for_for_ever(
    model: ScriptedModel, workspace: Path
) -> None:
    script = Patience(lambda n, _: text("words").but(stop_reason="max_tokens").at(20_000 + 1_000 * n))
    model.script = script
    run = await run_step(workspace)
    assert not run.result.ok
    assert script.asked < PATIENCE


async def test_tool_calls_cut_at_the_output_limit_do_not_repeat_for_ever(model: ScriptedModel, workspace: Path) -> None:
    cut = Reply(blocks=(ToolUse("Bash", {}, raw='{"command": "echo hi'),), stop_reason="max_tokens")
    script = Patience(lambda n, _: cut.at(20_000 + 100 * n))
    model.script = script
    run = await run_step(workspace)
    assert not run.result.ok
    assert script.asked < PATIENCE


async def test_a_stream_that_drops_after_each_tool_call_does_not_repeat_for_ever(
    model: ScriptedModel, workspace: Path
) -> None:
    script = Patience(lambda n, _: bash("echo hi >> ran").but(drop_after=4).at(20_000 + 100 * n))
    model.script = script
    run = await run_step(workspace)
    assert not run.result.ok
    assert script.asked < PATIENCE


@pytest.mark.parametrize("shape", ["cut text", "cut tool call", "dropped stream"])
async def test_the_line_is_heeded_also_where_no_tool_batch_ends(
    model: ScriptedModel, workspace: Path, shape: str
) -> None:
    replies = {
        "cut text": text("words").but(stop_reason="max_tokens"),
        "cut tool call": Reply(blocks=(ToolUse("Bash", {}, raw='{"command": "echo'),), stop_reason="max_tokens"),
        "dropped stream": bash("echo hi").but(drop_after=4),
    }
    contexts: list[int] = []

    def answer(n: int, request: Request) -> Reply:
        if is_asked(request):
            return text(DOCUMENT).at(contexts[-1] + 1_000)
        contexts.append(130_000 + 4_000 * n)
        return replies[shape].at(contexts[-1])

    model.script = each_session(Patience(answer), successor())
    await run_step(workspace)
    assert max(contexts) < 180_000  # the line is at 150,000, the window 200,000
    assert document_path(workspace).exists()


@pytest.mark.parametrize("shape", ["reads", "cut tool calls"])
async def test_a_handoff_turn_that_never_writes_ends_after_a_bounded_number_of_requests(
    model: ScriptedModel, workspace: Path, shape: str
) -> None:
    read = tool("Read", file_path=str(workspace / "README.md"))
    cut = Reply(blocks=(ToolUse("Write", {}, raw='{"file_path": "/x'),), stop_reason="max_tokens")

    def answer(n: int, _request: Request) -> Reply:
        work = [bash("echo a").at(40_000), bash("echo b").at(155_000)]
        return work[n - 1] if n <= 2 else (read if shape == "reads" else cut).at(155_000 + 100 * n)

    script = Patience(answer)
    model.script = each_session(script, successor())
    await run_step(workspace, handoff=policy(write_timeout=15))
    assert script.asked < PATIENCE


async def test_sessions_that_all_reach_the_models_limit_at_once_do_not_use_up_the_cap(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = text("part").but(stop_reason="model_context_window_exceeded").at(30_000)
    run = await run_step(workspace)
    assert not run.result.ok
    assert len(run.result.generations) <= 3


async def test_a_retired_session_asks_the_model_nothing_more(model: ScriptedModel, workspace: Path) -> None:
    def first(request: Request) -> Reply:
        if is_asked(request):
            return text(DOCUMENT).but(delay=1.0).at(156_000)
        if "task-notification" in request.last_text():
            return bash("echo injected").but(delay=0.8).at(155_500)
        if len(request.messages) < 2:
            return bash("sleep 0.7; echo over", run_in_background=True).at(40_000)
        return bash("echo more").but(delay=0.1).at(155_000)

    model.script = each_session(first, Story([bash("sleep 4; echo").at(20_000), text("All ported.").at(20_100)]))
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    begun = of_session(model, run.result.session_id or "")[0].at
    late = [each for each in of_session(model, run.result.retired[0]) if each.at > begun + 0.5]
    assert len(late) <= 1


# A frozen document is launched


class Struck(BaseException):
    """Stands for a death of the supervisor at an exact point."""


@pytest.mark.parametrize("point", [("edit", "closed"), ("session", "retired")])
async def test_a_document_that_no_session_got_is_launched_next_time(
    model: ScriptedModel, workspace: Path, point: tuple[str, str]
) -> None:
    old = Story(
        [bash("echo a").at(40_000), bash("echo b").at(155_000)],
        branches=[(is_asked, text(DOCUMENT).at(156_000))],
        then=text("The old session went on.").at(157_000),
    )
    model.script = each_session(old, successor())

    def strike(_runtime: Runtime, event: Event) -> None:
        if (event.kind, event.payload.get("phase")) == point:
            raise Struck

    with pytest.raises(BaseExceptionGroup):
        await run_step(workspace, handoff=policy(edit_window=0.2), during=strike)
    path = document_path(workspace)
    path.write_text(path.read_text().replace("port test_resume next", "A PERSON CHANGED THIS"))
    run = await run_step(workspace, "")
    assert run.result.text == "All ported."
    assert "A PERSON CHANGED THIS" in model.requests[-1].all_text()


async def test_a_document_frozen_when_the_budget_was_used_up_is_launched_with_a_larger_one(
    model: ScriptedModel, workspace: Path
) -> None:
    old = Story(
        [bash("echo a").at(40_000), bash("echo b").at(155_000)],
        branches=[(is_asked, text(DOCUMENT).but(output=100_000).at(156_000))],
        then=text("The old session went on.").at(157_000),
    )
    model.script = each_session(old, successor())
    first = await run_step(workspace, agent=spec(max_budget_usd=0.6))
    assert first.result.state == "stopped"
    assert first.result.session_id not in first.result.retired
    second = await run_step(workspace, "", agent=spec(max_budget_usd=50.0))
    assert second.result.text == "All ported."
    assert TAKING_OVER in model.requests[-1].all_text()


async def test_a_run_folder_that_vanishes_does_not_stop_the_step(model: ScriptedModel, workspace: Path) -> None:
    def remove(runtime: Runtime, event: Event) -> None:
        if event.payload.get("phase") == "writing":
            shutil.rmtree(runtime.run_dir)

    model.script = two_sessions()
    run = await run_step(workspace, during=remove)
    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("no right to mount here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


async def test_a_disk_that_is_full_at_the_handoff_does_not_stop_the_step(
    model: ScriptedModel, small_disk: Path
) -> None:
    place = small_disk / "workspace"
    place.mkdir()

    def fill(_runtime: Runtime, event: Event) -> None:
        if event.payload.get("phase") == "near":
            with (small_disk / "filler").open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 256)
                except OSError:
                    pass
        if event.payload.get("phase") == "launched":
            (small_disk / "filler").unlink()

    model.script = two_sessions()
    run = await run_step(place, during=fill)
    assert run.result.ok, run.result.error
    assert "port test_resume next" in model.requests[-1].all_text()
    assert any("No space left" in error for error in run.result.errors)
