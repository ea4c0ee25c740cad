"""What clients are told about the server: names, schemas, annotations, words, and what is pinned of the SDK."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer, Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler

from flower_mcp import Workbench, __version__
from flower_mcp.core.errors import Usage
from flower_mcp.server.app import INSTRUCTIONS, NAME, build, lowlevel
from tests.server.helpers import ERAS, TOOLS, VERSIONS, answer, client, complaint

pytestmark = pytest.mark.anyio

PREFIX = f"mcp__{NAME}__"
CHARACTERS_PER_TOKEN = 3  # English has about 4.5; the rest is the margin
MOST_TOKENS = 1_500


def walk(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a JSON value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from walk(each)


@pytest.mark.parametrize("era", ERAS)
async def test_the_four_tools_are_there_in_both_eras(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        assert connected.protocol_version == VERSIONS[era]
        assert connected.server_info is not None
        assert (connected.server_info.name, connected.server_info.version) == (NAME, __version__)
        assert connected.instructions == INSTRUCTIONS
        tools = (await connected.list_tools()).tools
    assert tuple(tool.name for tool in tools) == TOOLS
    assert all(len(PREFIX + tool.name) < 64 for tool in tools)


async def test_schemas_are_flat_and_optional_inputs_are_empty_texts(workbench: Workbench) -> None:
    async with client(workbench) as connected:
        tools = (await connected.list_tools()).tools
    for tool in tools:
        for schema in (tool.input_schema, tool.output_schema):
            if schema is None:
                continue
            assert schema["type"] == "object"
            for each in walk(schema):
                assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf"} & each.keys()
                assert each.get("type") != "null"
        for name, argument in tool.input_schema["properties"].items():
            assert argument["type"] == "string"
            assert argument["description"]
            required = name in tool.input_schema.get("required", ())
            assert required or argument["default"] == ("replace" if name == "mode" else "")
            assert "" not in argument.get("enum", [])


async def test_all_four_annotations_are_set(workbench: Workbench) -> None:
    async with client(workbench) as connected:
        tools = (await connected.list_tools()).tools
    for tool in tools:
        assert tool.annotations is not None
        hints = tool.annotations.model_dump(exclude={"title"})
        assert len(hints) == 4
        assert None not in hints.values()
        assert hints["read_only_hint"] is (tool.name in {"handoff_status", "read_handoff"})
        assert hints["open_world_hint"] is False


async def test_all_that_a_model_reads_about_the_server_is_short(workbench: Workbench) -> None:
    async with client(workbench) as connected:
        listed = [
            (await connected.list_tools()).model_dump(by_alias=True),
            (await connected.list_prompts()).model_dump(by_alias=True),
            (await connected.list_resources()).model_dump(by_alias=True),
            (await connected.list_resource_templates()).model_dump(by_alias=True),
        ]
    descriptions = [
        each["description"] for value in listed for each in walk(value) if isinstance(each.get("description"), str)
    ]
    assert len(descriptions) > 20
    assert sum(map(len, [INSTRUCTIONS, *descriptions])) / CHARACTERS_PER_TOKEN < MOST_TOKENS
    assert len(INSTRUCTIONS) < 4_096  # where Claude Code cuts


async def test_the_tool_list_never_changes(workbench: Workbench) -> None:
    async with client(workbench) as connected:
        before = (await connected.list_tools()).model_dump_json()
        await answer(connected, "write_handoff", doing="a", next="b", step="one")
        await answer(connected, "write_handoff", doing="a", next="b", step="two")
        await complaint(connected, "read_handoff")
        assert (await connected.list_tools()).model_dump_json() == before


@pytest.mark.parametrize("era", ERAS)
async def test_without_a_workspace_every_tool_says_what_to_set_until_there_is_one(
    workbench: Workbench, era: str
) -> None:
    problem: list[Usage] = [Usage("This server does not know where to work.", next="Set FLOWER_WORKSPACE.")]

    def open_workbench() -> Workbench:
        if problem:
            raise problem[0]
        return workbench

    async with Client(build(open_workbench), mode=era) as connected:
        for tool, given in (
            ("handoff_status", {}),
            ("write_handoff", {"doing": "a", "next": "b"}),
            ("read_handoff", {}),
            ("edit_section", {"section": "next", "text": "x"}),
        ):
            assert "Set FLOWER_WORKSPACE." in await complaint(connected, tool, **given)
        assert len((await connected.list_resources()).resources) == 1
        problem.clear()
        await answer(connected, "handoff_status")


async def test_the_low_level_object_serves_the_same_tools(workbench: Workbench) -> None:
    server = lowlevel(workbench, step="port")
    assert isinstance(server, Server)
    async with Client(server) as connected:
        assert tuple(tool.name for tool in (await connected.list_tools()).tools) == TOOLS
        await answer(connected, "write_handoff", doing="a", next="b")
    assert workbench.documents.path("port").exists()


def test_the_private_names_that_we_use_are_there(workbench: Workbench) -> None:
    server = build(workbench)
    assert isinstance(server._lowlevel_server, Server)
    entry = server._lowlevel_server.get_request_handler("subscriptions/listen")
    assert entry is not None
    assert isinstance(entry.handler, ListenHandler)
    assert "_connection" in ServerSession.__init__.__code__.co_names


def test_making_a_server_leaves_the_host_s_logging_alone(workbench: Workbench) -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    for handler in before[1]:
        root.removeHandler(handler)
    try:
        build(workbench)
        assert (root.level, root.handlers) == (before[0], [])
    finally:
        for handler in before[1]:
            root.addHandler(handler)


def test_the_sdk_would_not(workbench: Workbench) -> None:
    """The reason for what the test before this one holds: if this fails, the precaution may go."""
    code = "import logging, mcp.server; mcp.server.MCPServer('x'); assert logging.getLogger().handlers"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert issubclass(type(build(workbench)), MCPServer)


def test_importing_the_command_imports_no_mcp() -> None:
    code = (
        "import sys, flower_mcp.server.main as m; m._parser(); assert not {'mcp', 'pydantic', 'anyio'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
