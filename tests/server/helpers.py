"""What the server's tests share: clients of both eras, answers as text, steps as a supervisor would leave them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.types import CallToolResult, TextContent

from flower_mcp import Handoff, Workbench
from flower_mcp.core.books import Generation, LiveStep, State, StepResult
from flower_mcp.server.app import build

ERAS = ("auto", "legacy")
VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
TOOLS = ("handoff_status", "write_handoff", "read_handoff", "edit_section")
HANDOFF = Handoff(
    doing="Porting the tests, 3 of 7 done.", decided="Fixtures.", next="Port test_resume.", scene="tests/"
)


@asynccontextmanager
async def client(workbench: Workbench, era: str = "auto", **options: Any) -> AsyncIterator[Client]:
    """A client in process, without a watcher."""
    async with Client(build(workbench, watch=False, **options), mode=era) as connected:
        yield connected


async def answer(connected: Client, tool: str, **arguments: Any) -> CallToolResult:
    """The answer of a tool that succeeds."""
    result = await connected.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return result


async def complaint(connected: Client, tool: str, **arguments: Any) -> str:
    """The text of a tool's error."""
    result = await connected.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    assert result.structured_content is None
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    """All the text of an answer."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def value_of(result: CallToolResult) -> Mapping[str, Any]:
    """The structured answer."""
    assert result.structured_content is not None
    value: Mapping[str, Any] = result.structured_content
    return value


def body_of(result: CallToolResult) -> str:
    """The page of a read_handoff, without its header."""
    block = result.content[-1]
    assert isinstance(block, TextContent)
    return block.text


def live_step(step: str = "work", state: State = State.DONE, *generations: Generation, **row: Any) -> LiveStep:
    """A step as its supervisor left it."""
    return LiveStep(step, state, StepResult(run="r1", step=step, state=state, generations=generations, **row))


def snapshot(folder: Path) -> dict[str, bytes]:
    """All files of a folder with their bytes, lock files aside."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in files if path.suffix not in {".write", ".lock"}
    }


def plain(value: object) -> object:
    """A value as it comes out of JSON."""
    return json.loads(json.dumps(value, default=str))
