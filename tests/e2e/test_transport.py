"""The SDK's pipe with a sieve in it, between the real CLI and the SDK's own client."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, PermissionResultAllow, ResultMessage, StreamEvent

from flower_mcp.demo.model import ScriptedModel, Story, text, tool
from flower_mcp.runtime.transport import READ, quiet
from tests.e2e.harness import MODEL

pytestmark = pytest.mark.anyio


async def test_parts_of_an_answer_that_nobody_reads_are_signs_of_life_and_nothing_more(
    model: ScriptedModel, workspace: Path
) -> None:
    story = [tool("Bash", command="touch asked", description="a step"), text("word " * 200).but(chunk=10).at(20_000)]
    model.script = Story(story)
    heard, asked = [], []

    async def allow(name: str, given: dict[str, Any], context: object) -> PermissionResultAllow:
        asked.append(name)
        return PermissionResultAllow()

    options = ClaudeAgentOptions(
        cwd=workspace, model=MODEL, can_use_tool=allow, include_partial_messages=True, setting_sources=[]
    )
    transport = quiet(options, lambda: heard.append(1))
    assert transport is not None
    with anyio.fail_after(60):
        async with ClaudeSDKClient(options, transport) as client:
            await client.query("Go on.")
            messages = [message async for message in client.receive_response()]
    events = [message.event["type"] for message in messages if isinstance(message, StreamEvent)]
    assert set(events) == READ
    assert events.count("message_stop") == 2
    assert len(heard) >= 100, "each part is heard"
    assert asked == ["Bash"], "the CLI asks for permission over the same pipe"
    assert isinstance(messages[-1], ResultMessage)
    assert messages[-1].result == "word " * 200


def test_an_sdk_that_is_made_in_another_way_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "claude_agent_sdk._internal.transport.subprocess_cli", None)
    assert quiet(ClaudeAgentOptions(), lambda: None) is None
