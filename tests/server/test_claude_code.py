"""The real Claude Code CLI with the scripted model: it connects, calls all four tools, and shows the answers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flower_mcp import Workbench
from flower_mcp.demo.model import Request, ScriptedModel, Story, text, tool
from flower_mcp.demo.request import texts
from tests.e2e.conftest import environment, model, workspace
from tests.e2e.harness import MODEL, claude_cli
from tests.server.helpers import TOOLS
from tests.server.processes import SERVER

__all__ = ["environment", "model", "workspace"]

pytestmark = pytest.mark.e2e

LIMIT = 90.0
PREFIX = "mcp__flower__"
DOCUMENT = "## 现在在做 · Doing now\nPorting, 3 of 7."


def claude(folder: Path, environ: dict[str, str], *arguments: str) -> str:
    """What the CLI prints."""
    done = subprocess.run(
        [claude_cli(), *arguments], cwd=folder, env=environ, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def configured(workspace: Path, environment: dict[str, str]) -> dict[str, str]:
    """The environment of a CLI that knows the server, added as the documentation says.

    The CLI waits for the server before its first request, however loaded the machine is; by itself it goes on without.
    """
    claude(workspace, environment, "mcp", "add", "flower", "--", *SERVER)
    return {**environment, "MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "60000"}


def test_the_cli_says_that_it_is_connected(workspace: Path, configured: dict[str, str]) -> None:
    listed = claude(workspace, configured, "mcp", "list")
    (line,) = [line for line in listed.splitlines() if line.startswith("flower:")]
    assert "Connected" in line
    assert "Failed" not in line


def shown(request: Request) -> str:
    """The tool results in the last user message, as the model is shown them; reminders around them are left out."""
    content = [message for message in request.messages if message["role"] == "user"][-1]["content"]
    results = [block["content"] for block in content if block["type"] == "tool_result"]
    return "\n".join(each for result in results for each in texts(result))


def value(shown: str) -> dict[str, Any]:
    """The JSON that a result begins with; the CLI appends a reminder of its own."""
    found: dict[str, Any] = json.JSONDecoder().raw_decode(shown)[0]
    return found


def test_a_conversation_knows_and_calls_all_four_tools_and_is_shown_their_answers(
    workspace: Path, configured: dict[str, str], model: ScriptedModel
) -> None:
    seen: dict[str, str] = {}

    def after(name: str, reply: Any) -> Any:
        """Note what came back from a tool, then answer."""

        def script(request: Request) -> Any:
            seen[name] = shown(request)
            return reply

        return script

    query = "select:" + ",".join(PREFIX + each for each in TOOLS)
    model.script = Story(
        [
            tool("ToolSearch", query=query, max_results=10).at(20_000),
            tool(f"{PREFIX}write_handoff", doing="Porting, 3 of 7.", next="Port test_resume.").at(81_000),
            after("write_handoff", tool(f"{PREFIX}edit_section", section="decided", text="Fixtures.").at(82_000)),
            after("edit_section", tool(f"{PREFIX}read_handoff").at(83_000)),
            after("read_handoff", tool(f"{PREFIX}handoff_status").at(84_000)),
            after("handoff_status", tool(f"{PREFIX}write_handoff", doing="x", next="").at(85_000)),
            after("error", text("Done.").at(86_000)),
        ]
    )
    claude(workspace, configured, "-p", "Hand it over.", "--model", MODEL, "--allowedTools", "mcp__flower")
    check_what_the_model_is_told(model.requests[0], model.requests[-1])

    document = Workbench(workspace).read("work")
    assert document is not None
    assert document.handoff.decided == "Fixtures."

    written, edited = value(seen["write_handoff"]), value(seen["edit_section"])
    assert written["characters"]["doing"] == len("Porting, 3 of 7.")
    assert (written["written"], written["masked"]) == ("document", 0)
    assert edited["revision"] == document.revision
    assert DOCUMENT in seen["read_handoff"]  # as markdown, not as a JSON string
    assert document.revision in seen["read_handoff"]
    status = value(seen["handoff_status"])
    assert status["steps"][0]["document"]["revision"] == document.revision
    assert status["caller"]["session_id"] == model.requests[-1].session
    assert status["caller"]["context"] == 84_000
    assert "`next` (下一步 · Next) says nothing" in seen["error"]


def check_what_the_model_is_told(first: Request, last: Request) -> None:
    """Names and instructions from the first request on; descriptions and schemas once they were asked for."""
    told = first.system + first.all_text()
    assert "a fresh session goes on from exactly that document" in told
    assert all(PREFIX + each in told for each in TOOLS)
    offered = {each["name"]: each for each in last.body["tools"]}
    for each in TOOLS:
        assert offered[PREFIX + each]["description"]
    assert offered[f"{PREFIX}write_handoff"]["input_schema"]["required"] == ["doing", "next"]


def test_the_prompts_are_slash_commands(workspace: Path, configured: dict[str, str], model: ScriptedModel) -> None:
    Workbench(workspace).freeze("work", f"{DOCUMENT}\n\n## 下一步 · Next\nPort test_resume.\n")
    model.script = Story([text("Done.").at(20_000)] * 2)
    claude(workspace, configured, "-p", "/mcp__flower__TAKEOVER_PROMPT", "--model", MODEL)
    assert DOCUMENT in model.requests[-1].all_text()
    claude(workspace, configured, "-p", "/mcp__flower__HANDOFF_PROMPT 150000 200000", "--model", MODEL)
    assert "holds 150.0K of its 200K tokens" in model.requests[-1].all_text()
