"""The MCP Inspector's command line against the server: each tool, the prompts, the resources, and its exit codes.

On stdio the Inspector starts the server itself, at each call; where several calls follow, they go to one over HTTP.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flower_mcp import Workbench
from tests.server.helpers import HANDOFF, TOOLS
from tests.server.node import INSPECTOR, node
from tests.server.processes import SERVER, START, serving

pytestmark = pytest.mark.e2e

IS_ERROR = 5  # the Inspector's exit code for a tool that answers with an error
BAD_SCHEMA = 6  # and for a schema that not every client takes
OTHER = 1


def inspect(workspace: Path, target: Sequence[str], method: str, *options: str, expected: int = 0) -> dict[str, Any]:
    """What the Inspector prints. `target` is the server's command or its address."""
    done = subprocess.run(
        [*node(INSPECTOR).command, "--cli", *target, "--format", "json", "--method", method, *options],
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


@pytest.fixture
def ask(workspace: Path) -> Iterator[Callable[..., dict[str, Any]]]:
    """`inspect` with one server over HTTP."""
    node(INSPECTOR)
    with serving(workspace) as (url, _):
        yield partial(inspect, workspace, [url])


def call(ask: Callable[..., dict[str, Any]], tool: str, expected: int = 0, **arguments: str) -> dict[str, Any]:
    """A tool's result."""
    pairs = [f"{name}={value}" for name, value in arguments.items()]
    given = ["--tool-arg", *pairs] if pairs else []
    return ask("tools/call", "--tool-name", tool, *given, expected=expected)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_tools_are_listed_and_every_client_takes_their_schemas(workspace: Path, era: str) -> None:
    command = [*SERVER, "--workspace", str(workspace)]
    listed = inspect(workspace, command, "tools/list", "--strict", "--protocol-era", era)
    assert [tool["name"] for tool in listed["tools"]] == [*TOOLS]


def test_each_tool_can_be_called(ask: Callable[..., dict[str, Any]]) -> None:
    written = call(ask, "write_handoff", doing="a", next="b")
    assert written["structuredContent"]["written"] == "document"
    assert call(ask, "edit_section", section="next", text="c")["isError"] is False
    assert "## 下一步 · Next\nc\n" in call(ask, "read_handoff", offset="0")["content"][1]["text"]
    assert call(ask, "handoff_status", step="work")["structuredContent"]["step"] == "work"


def test_an_error_has_its_exit_code(ask: Callable[..., dict[str, Any]]) -> None:
    assert "no step" in call(ask, "read_handoff", expected=IS_ERROR, step="nope")["content"][0]["text"]
    ask("resources/read", "--uri", "handoff://nope", expected=OTHER)


def test_prompts_and_resources_are_listed_and_read(workspace: Path, ask: Callable[..., dict[str, Any]]) -> None:
    document = Workbench(workspace).freeze("work", HANDOFF)
    prompts = ask("prompts/list")["prompts"]
    assert [prompt["name"] for prompt in prompts] == ["HANDOFF_PROMPT", "TAKEOVER_PROMPT"]
    given = ["--prompt-name", "HANDOFF_PROMPT", "--prompt-args", "used=150000", "window=200000"]
    (message,) = ask("prompts/get", *given)["messages"]
    assert "150.0K of its 200K" in message["content"]["text"]
    uris = [each["uri"] for each in ask("resources/list")["resources"]]
    assert uris == ["handoff://status", "handoff://work"]
    templates = ask("resources/templates/list")["resourceTemplates"]
    assert len(templates) == 2
    (content,) = ask("resources/read", "--uri", "handoff://work")["contents"]
    assert content["text"] == document.path.read_text()
