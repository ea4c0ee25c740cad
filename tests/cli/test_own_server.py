"""Sessions that `flower` runs have the MCP server's tools, in process: the real command, the real CLI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.demo.model import ScriptedModel, Sender, Story, each_session, text, tool
from tests.cli.processes import flower
from tests.e2e.harness import MODEL
from tests.e2e.steps import bash, is_asked

pytestmark = pytest.mark.e2e

PREFIX = "mcp__flower__"
TOOLS = {f"{PREFIX}{name}" for name in ("handoff_status", "write_handoff", "read_handoff", "edit_section")}
WRITE = tool(f"{PREFIX}write_handoff", doing="Porting, 3 of 7.", next="Port test_resume.", deadends="pytest-mock")


def test_a_handoff_written_by_tool_is_the_handoff_and_the_tools_never_change(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    first = Story(
        [bash("echo one").at(40_000), tool(f"{PREFIX}handoff_status").at(50_000), bash("echo two").at(155_000)],
        branches=[(is_asked, WRITE.at(156_000))],
    )
    second = Story([tool(f"{PREFIX}read_handoff").at(20_000), text("All ported.").at(30_000)])
    model.script = each_session(first, second)
    Workbench(workspace).freeze("work", "## Doing\n\nAnother step.\n\n## Next\n\nNothing.\n")
    usual = ["--model", MODEL, "--permission-mode", "bypassPermissions", "--edit-window", "0"]

    done = flower(*usual, "--step", "docs", "Port it.", cwd=workspace, environment=environment)

    assert done.code == 0, done
    assert done.err == ""
    (row,) = json.loads((workspace / "runs" / "manifest.json").read_text())
    assert [each["written_by"] for each in row["generations"]] == ["draft", None]
    document = Workbench(workspace).read("docs")
    assert document is not None
    assert (document.handoff.doing, document.handoff.deadends) == ("Porting, 3 of 7.", "pytest-mock")
    main = [request for request in model.requests if request.sender is Sender.MAIN]
    assert len({request.session for request in main}) == 2
    assert set(main[0].tools) >= TOOLS
    assert len({tuple(request.tools) for request in main}) == 1
    shown = "\n".join(request.all_text() for request in main)
    assert "Porting, 3 of 7." in shown


def test_nobody_has_to_allow_the_handoff(model: ScriptedModel, workspace: Path, environment: dict[str, str]) -> None:
    first = Story(
        [bash("touch not-allowed").at(40_000), tool(f"{PREFIX}handoff_status").at(155_000)],
        branches=[(is_asked, WRITE.at(156_000))],
    )
    model.script = each_session(first, Story([text("All ported.").at(30_000)]))

    done = flower("--model", MODEL, "--edit-window", "0", "Port it all.", cwd=workspace, environment=environment)

    assert done.code == 0, done
    assert "! Bash: touch not-allowed: refused" in done.out
    assert f"! {PREFIX}" not in done.out
    (row,) = json.loads((workspace / "runs" / "manifest.json").read_text())
    assert row["generations"][0]["written_by"] == "draft"
