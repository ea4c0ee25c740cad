"""Which Claude Code session calls: found by the tool use's id, in transcripts as the CLI writes them."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from flower_mcp import Workbench
from flower_mcp.core.books import State, iso
from flower_mcp.core.texts import window_text
from flower_mcp.server.app import build
from flower_mcp.server.caller import PATIENCE, TOOL_USE, find_caller, tool_use_id
from flower_mcp.workbench.sessions import Noted, Sessions
from flower_mcp.workbench.transcripts import project_key
from flower_mcp.workbench.windows import ANTHROPIC
from tests.server.helpers import ERAS, live_step, text_of, value_of

pytestmark = pytest.mark.anyio

USE = "toolu_01ABC"


def line(use: str, context: int, model: str = "claude-sonnet-4-5") -> str:
    """An assistant's line with a tool use."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": context - 5, "output_tokens": 9}
    content = [{"type": "tool_use", "id": use, "name": "mcp__flower__handoff_status", "input": {}}]
    message = {"role": "assistant", "model": model, "content": content, "usage": usage}
    return json.dumps({"type": "assistant", "isSidechain": False, "message": message}) + "\n"


@pytest.fixture
def project(tmp_path: Path, workspace: Path) -> Path:
    """Where the transcripts of sessions in the workspace lie."""
    folder = tmp_path / "claude" / "projects" / project_key(workspace)
    folder.mkdir(parents=True)
    return folder


async def status(workbench: Workbench, era: str, meta: dict[str, Any], **arguments: str) -> tuple[dict[str, Any], str]:
    """The answer of handoff_status to a call with this `_meta`."""
    async with Client(build(workbench, watch=False), mode=era) as connected:
        result = await connected.call_tool("handoff_status", arguments, meta=meta)  # type: ignore[arg-type]
    assert not result.is_error, text_of(result)
    return dict(value_of(result)), text_of(result)


@pytest.mark.parametrize("era", ERAS)
async def test_the_caller_is_the_session_whose_transcript_holds_the_call(
    workbench: Workbench, project: Path, era: str
) -> None:
    (project / "before-clear.jsonl").write_text(line("toolu_other", 190_000))
    (project / "after-clear.jsonl").write_text(line("toolu_earlier", 60_000) + line(USE, 81_000))
    value, text = await status(workbench, era, {TOOL_USE: USE})
    assert value["caller"] == {
        "session_id": "after-clear",
        "agent_id": None,
        "context_estimated": False,
        "context": 81_000,
        "window": 1_000_000,
        "window_source": "guessed",
    }
    assert "you: session after-clear, context 81.0K/1000K (guessed)" in text


async def test_the_context_is_an_estimate_where_the_endpoint_reports_nothing(
    workbench: Workbench, project: Path
) -> None:
    silent = line(USE, 0).replace('"input_tokens": 5', '"input_tokens": 0')
    said = {"type": "user", "message": {"content": "字" * 30_000}}
    (project / "one.jsonl").write_text(f"{json.dumps(said)}\n{silent}")
    value, text = await status(workbench, "auto", {TOOL_USE: USE})
    assert value["caller"]["context_estimated"]
    assert value["caller"]["context"] >= 50_000
    assert "context ~5" in text


@pytest.mark.parametrize("era", ERAS)
async def test_nobody_is_the_caller_without_a_tool_use(workbench: Workbench, project: Path, era: str) -> None:
    (project / "one.jsonl").write_text(line(USE, 81_000))
    value, text = await status(workbench, era, {})
    assert value["caller"] is None
    assert "you:" not in text


async def test_a_supervised_caller_has_the_window_of_its_row(workbench: Workbench, project: Path) -> None:
    (project / "one.jsonl").write_text(line(USE, 81_000))
    workbench.lives.write(live_step("work", State.WORKING, session_id="one", window=131_072, window_source="learned"))
    with workbench.run_lock("work"):
        value, _ = await status(workbench, "auto", {TOOL_USE: USE}, step="work")
    assert (value["caller"]["window"], value["caller"]["window_source"]) == (131_072, "learned")


async def test_the_window_of_a_caller_is_the_one_that_the_hook_believes(
    workbench: Workbench, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set by the person, else told to the status line, else learned, else guessed from the name; each with its source.

    The endpoint is Anthropic's own, the model the transcript's.
    """
    (project / "one.jsonl").write_text(line(USE, 81_000))

    async def believed() -> tuple[int, str]:
        value, text = await status(workbench, "auto", {TOOL_USE: USE})
        assert window_text(value["caller"]["window"]) in text
        return value["caller"]["window"], value["caller"]["window_source"]

    assert await believed() == (1_000_000, "guessed")
    learned = {f"{ANTHROPIC} claude-sonnet-4-5": {"window": 180_000, "at": iso(time.time()), "from": "too long"}}
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / "windows.json").write_text(json.dumps(learned))
    assert await believed() == (180_000, "learned")
    Sessions().note("one", Noted(200_000, 81_000))
    assert await believed() == (200_000, "reported")
    monkeypatch.setenv("FLOWER_WINDOW", "150K")
    assert await believed() == (150_000, "set")


def test_a_line_that_comes_late_is_waited_for(workspace: Path, project: Path) -> None:
    transcript = project / "late.jsonl"
    transcript.write_text(line("toolu_earlier", 10_000))

    def write_late() -> None:
        time.sleep(0.3)  # what the CLI was seen to take; the code under test looks again meanwhile
        with transcript.open("a") as file:
            file.write(line(USE, 20_000))

    writer = threading.Thread(target=write_late)
    writer.start()
    found = find_caller(USE, [workspace], {"CLAUDE_CONFIG_DIR": str(project.parent.parent)}, 5.0)
    writer.join()
    assert PATIENCE > 0.5
    assert found is not None
    assert (found.session_id, found.context) == ("late", 20_000)


def test_a_call_that_is_in_no_transcript_is_given_up(workspace: Path, project: Path) -> None:
    (project / "one.jsonl").write_text(line("toolu_01ABCD", 10_000))
    start = time.monotonic()
    assert find_caller(USE, [workspace], {"CLAUDE_CONFIG_DIR": str(project.parent.parent)}, 0.1) is None
    assert time.monotonic() - start < 2


def test_an_agent_s_call_is_its_session_s(workspace: Path, project: Path) -> None:
    (project / "one.jsonl").write_text(line("toolu_earlier", 70_000))
    agents = project / "one" / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-a1.jsonl").write_text(line(USE, 9_000))
    found = find_caller(USE, [workspace], {"CLAUDE_CONFIG_DIR": str(project.parent.parent)}, 0.1)
    assert found is not None
    assert (found.session_id, found.agent_id, found.context) == ("one", "a1", 70_000)


def test_the_variable_of_the_model_is_believed(workspace: Path, project: Path) -> None:
    (project / "one.jsonl").write_text(line(USE, 70_000))
    environ = {"CLAUDE_CONFIG_DIR": str(project.parent.parent), "ANTHROPIC_MODEL": "claude-haiku-4-5"}
    found = find_caller(USE, [workspace], environ, 0.1)
    assert found is not None
    assert found.window == 200_000


@pytest.mark.parametrize("meta", [None, {}, {TOOL_USE: 3}, {TOOL_USE: ""}, {TOOL_USE: "x" * 500}])
def test_what_is_no_tool_use_is_none(meta: dict[str, Any] | None) -> None:
    assert tool_use_id(meta) == ""
