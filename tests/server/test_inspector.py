"""The MCP Inspector's command line against the server: each tool, the prompts, the resources, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flower_mcp import Workbench
from tests.server.helpers import HANDOFF, TOOLS
from tests.server.node import INSPECTOR, node
from tests.server.processes import SERVER, START

pytestmark = pytest.mark.e2e

IS_ERROR = 5  # the Inspector's exit code for a tool that answers with an error
BAD_SCHEMA = 6  # and for a schema that not every client takes
OTHER = 1


def inspect(workspace: Path, method: str, *options: str, expected: int = 0) -> dict[str, Any]:
    """What the Inspector prints."""
    command = [*node(INSPECTOR).command, "--cli", *SERVER, "--workspace", str(workspace), "--format", "json"]
    done = subprocess.run(
        [*command, "--method", method, *options],
        cwd=workspace,
        env={**os.environ, "MCP_CATALOG_PATH": str(workspace.parent / "catalog.json"), "HOME": str(workspace.parent)},
        capture_output=True,
        text=True,
        timeout=START * 2,
        check=False,
    )
    assert done.returncode == expected, done.stdout + done.stderr
    if not done.stdout.strip():
        assert "error" in json.loads(done.stderr.strip().splitlines()[-1])
        return {}
    result: dict[str, Any] = json.loads(done.stdout)["result"]
    return result


def call(workspace: Path, tool: str, expected: int = 0, **arguments: str) -> dict[str, Any]:
    """A tool's result."""
    pairs = [f"{name}={value}" for name, value in arguments.items()]
    given = ["--tool-arg", *pairs] if pairs else []
    return inspect(workspace, "tools/call", "--tool-name", tool, *given, expected=expected)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_tools_are_listed_and_every_client_takes_their_schemas(workspace: Path, era: str) -> None:
    listed = inspect(workspace, "tools/list", "--strict", "--protocol-era", era)
    assert [tool["name"] for tool in listed["tools"]] == [*TOOLS]


def test_each_tool_can_be_called(workspace: Path) -> None:
    written = call(workspace, "write_handoff", doing="a", next="b")
    assert written["structuredContent"]["written"] == "document"
    assert call(workspace, "edit_section", section="next", text="c")["isError"] is False
    assert "## 下一步 · Next\nc\n" in call(workspace, "read_handoff", offset="0")["content"][1]["text"]
    assert call(workspace, "handoff_status", step="work")["structuredContent"]["step"] == "work"


def test_an_error_has_its_exit_code(workspace: Path) -> None:
    assert "no step" in call(workspace, "read_handoff", expected=IS_ERROR, step="nope")["content"][0]["text"]
    inspect(workspace, "resources/read", "--uri", "handoff://nope", expected=OTHER)


def test_prompts_and_resources_are_listed_and_read(workspace: Path) -> None:
    document = Workbench(workspace).freeze("work", HANDOFF)
    prompts = inspect(workspace, "prompts/list")["prompts"]
    assert [prompt["name"] for prompt in prompts] == ["HANDOFF_PROMPT", "TAKEOVER_PROMPT"]
    given = ["--prompt-name", "HANDOFF_PROMPT", "--prompt-args", "used=150000", "window=200000"]
    (message,) = inspect(workspace, "prompts/get", *given)["messages"]
    assert "150.0K of its 200K" in message["content"]["text"]
    uris = [each["uri"] for each in inspect(workspace, "resources/list")["resources"]]
    assert uris == ["handoff://status", "handoff://work"]
    templates = inspect(workspace, "resources/templates/list")["resourceTemplates"]
    assert len(templates) == 2
    (content,) = inspect(workspace, "resources/read", "--uri", "handoff://work")["contents"]
    assert content["text"] == document.path.read_text()
