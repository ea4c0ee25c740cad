"""docs/mcp.md says what the server says: its tables are made of what a client is told, and its script is run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flower_mcp import Workbench
from flower_mcp.server.clients import INSPECTOR, Client
from flower_mcp.server.main import _parser
from tests.server.helpers import client
from tests.server.processes import started

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"


def part(name: str) -> str:
    """The generated part of this name."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"docs/mcp.md has no part {name}"
    return found[1].strip()


def tool_rows(tools: list[Any]) -> Iterator[str]:
    """Each tool, and a row for each of its inputs."""
    for tool in tools:
        kind = "reads" if tool.annotations.read_only_hint else "writes"
        yield f"### `{tool.name}` ({kind})\n\n{tool.description}\n\n| input | |\n|---|---|"
        required = tool.input_schema.get("required", ())
        for name, each in tool.input_schema["properties"].items():
            choices = f" ({', '.join(each['enum'])})" if "enum" in each else ""
            yield f"| `{name}`{', required' if name in required else ''} | {each['description']}{choices} |"
        yield ""


@pytest.mark.anyio
async def test_the_tools_are_the_server_s(workbench: Workbench) -> None:
    async with client(workbench) as connected:
        tools = (await connected.list_tools()).tools
    assert part("tools") == "\n".join(tool_rows(tools)).strip()


@pytest.mark.anyio
async def test_the_prompts_and_resources_are_the_server_s(workbench: Workbench) -> None:
    async with client(workbench) as connected:
        prompts = (await connected.list_prompts()).prompts
        templates = (await connected.list_resource_templates()).resource_templates
        resources = (await connected.list_resources()).resources
    rows = ["| prompt | arguments, all optional | |", "|---|---|---|"]
    for prompt in prompts:
        names = ", ".join(f"`{each.name}`" for each in prompt.arguments or ())
        rows.append(f"| `{prompt.name}` | {names} | {prompt.description} |")
    assert part("prompts") == "\n".join(rows)
    rows = ["| resource | type | |", "|---|---|---|"]
    rows += [f"| `{each.uri_template}` | {each.mime_type} | {each.description} |" for each in templates]
    rows += [f"| `{each.uri}` | {each.mime_type} | {each.description} |" for each in resources]
    assert part("resources") == "\n".join(rows)


def test_its_options_are_the_command_s() -> None:
    page = PAGE.read_text(encoding="utf-8")
    options = {option for action in _parser()._actions for option in action.option_strings if option.startswith("--")}
    for option in options - {"--help", "--version"}:
        assert f"`{option}" in page
    assert all(f"flower config {each}" in page for each in Client)
    assert INSPECTOR.partition("@modelcontextprotocol/")[2] in page


def test_the_script_by_hand_works_as_it_is_written(workspace: Path) -> None:
    lines = [line for line in part("by hand").splitlines() if line.startswith("{")]
    assert len(lines) > 3
    with started(workspace) as server:
        assert server.process.stdin is not None
        for line in lines:
            message = json.loads(line)
            server.process.stdin.write(line.encode() + b"\n")
            server.process.stdin.flush()
            if "id" in message:
                answered = server.answer_to(message["id"])
                assert not answered["result"].get("isError"), answered
    document = Workbench(workspace).read("work")
    assert document is not None
    assert document.handoff.complete()
