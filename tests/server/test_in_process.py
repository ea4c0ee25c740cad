"""Sessions that the supervisor runs get the same server in process: the real CLI, the real Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from flower_mcp import Handoff, Runtime, StepResult, Workbench
from flower_mcp.core.books import State, WrittenBy
from flower_mcp.demo.model import Request, ScriptedModel, Sender, Story, each_session, text, tool
from flower_mcp.server.app import lowlevel
from flower_mcp.server.service import Service
from flower_mcp.server.writing import write
from tests.e2e.conftest import environment, model, workspace
from tests.e2e.steps import TASK, bash, is_asked, manifest, policy, spec
from tests.server.helpers import HANDOFF, TOOLS
from tests.server.test_claude_code import shown, value

__all__ = ["environment", "model", "workspace"]

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

PREFIX = "mcp__flower__"
WRITE = tool(f"{PREFIX}write_handoff", doing="Porting, 3 of 7.", next="Port test_resume.", deadends="pytest-mock")


async def run(workspace: Path, prompt: str = TASK) -> StepResult:
    """Run the step `work` to its end, the server in process."""
    server = lowlevel(Workbench(workspace), step="work")
    runs = workspace.parent / "runs"
    async with Runtime(workspace=workspace, run_dir=runs, handoff=policy(), mcp_server=server) as runtime:
        with anyio.fail_after(60):
            return await runtime.run(spec(), prompt)


async def test_a_handoff_written_by_tool_is_the_document_and_the_tools_never_change(
    model: ScriptedModel, workspace: Path
) -> None:
    seen: list[str] = []

    def after_status(request: Request) -> Any:
        seen.append(shown(request))
        return bash("echo two").at(155_000)

    first = Story(
        [bash("echo one").at(40_000), tool(f"{PREFIX}handoff_status").at(50_000), after_status],
        branches=[(is_asked, WRITE.at(156_000))],
    )
    model.script = each_session(first, Story([text("All ported.").at(30_000)]))
    Workbench(workspace).freeze("another", HANDOFF)  # so that `step` left out could mean two
    result = await run(workspace)
    assert result.ok, result.error
    assert result.generations[0].written_by is WrittenBy.DRAFT
    document = Workbench(workspace).read("work")
    assert document is not None
    assert (document.handoff.doing, document.handoff.deadends) == ("Porting, 3 of 7.", "pytest-mock")

    main = [request for request in model.requests if request.sender is Sender.MAIN]
    assert all(set(request.tools) >= {PREFIX + name for name in TOOLS} for request in main)
    assert len({tuple(request.tools) for request in main}) == 1

    status = value(seen[0])
    step = next(each for each in status["steps"] if each["step"] == "work")
    assert step["state"] == "working"
    assert status["caller"]["session_id"] == step["row"]["session_id"] == result.retired[0]
    assert status["caller"]["context"] == 50_000
    assert (status["caller"]["window"], status["caller"]["window_source"]) == (200_000, "set")


async def test_a_document_written_without_a_supervisor_waits_for_one(model: ScriptedModel, workspace: Path) -> None:
    workbench = Workbench(workspace)
    write(Service(lambda: workbench), "", Handoff(doing="By hand.", next="Go on from here."), "")
    model.script = Story([text("All done.").at(30_000)])
    result = await run(workspace, "")
    assert result.state is State.DONE, result.error
    assert "Go on from here." in model.requests[0].all_text()


async def test_such_a_document_adds_no_row_to_the_books(model: ScriptedModel, workspace: Path) -> None:
    workbench = Workbench(workspace)
    write(Service(lambda: workbench), "", Handoff(doing="By hand.", next="Go on from here."), "")
    model.script = Story([text("All done.").at(30_000)])
    result = await run(workspace, "")
    assert [row["run"] for row in manifest(workspace)] == [result.run]
