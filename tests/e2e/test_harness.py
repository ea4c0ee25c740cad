"""The harness against the real CLI: a session sees what the scripted model orders, and nothing leaves the machine."""

from __future__ import annotations

import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from claude_agent_sdk import AssistantMessage, ResultMessage, StreamEvent, SystemMessage, ToolResultBlock, UserMessage

from flower_mcp.demo.model import (
    Outcome,
    Reply,
    ScriptedModel,
    Sender,
    Story,
    asks,
    failure,
    overflow,
    text,
    tool,
    with_limit,
)
from flower_mcp.demo.prefix import common_prefix_share
from tests.e2e.harness import (
    Turn,
    alive,
    claude,
    claude_cli,
    descendants,
    marked,
    turn,
    wait_until_async,
)

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

ONE_RETRY = {"CLAUDE_CODE_MAX_RETRIES": "1"}
NO_COMPACTION = {"DISABLE_AUTO_COMPACT": "1"}
LONG_PROMPT = "Please read the whole test suite, say what it covers, and port it to another framework."


def tool_results(messages: Turn) -> list[str]:
    """The contents of all tool results of a turn."""
    contents = [each.content for each in messages.messages if isinstance(each, UserMessage)]
    blocks = [block for content in contents if not isinstance(content, str) for block in content]
    return [str(block.content) for block in blocks if isinstance(block, ToolResultBlock)]


@contextmanager
def proxy() -> Iterator[tuple[str, list[str]]]:
    """An HTTP proxy that refuses, and the first lines of what was sent to it."""
    asked: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline().decode("latin-1").strip())
            self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


async def test_a_text_reply_arrives(model: ScriptedModel, workspace: Path) -> None:
    model.script = "Good morning."
    async with claude(workspace) as client:
        seen = await turn(client, "Hello.")
    assert seen.result.result == "Good morning."
    assert model.requests[0].asks("Hello.")


async def test_a_bash_call_really_runs_and_its_result_comes_back(model: ScriptedModel, workspace: Path) -> None:
    model.script = Story([tool("Bash", command="echo from-the-shell | tee proof.txt"), text("Done.")])
    async with claude(workspace) as client:
        seen = await turn(client, "Go.")
    assert (workspace / "proof.txt").read_text() == "from-the-shell\n"
    assert tool_results(seen) == ["from-the-shell"]
    assert model.requests[1].last_text().startswith("from-the-shell")
    assert [each.outcome for each in model.exchanges] == [Outcome.ANSWERED] * 2


async def test_usage_of_message_start_reaches_the_assistant_message(model: ScriptedModel, workspace: Path) -> None:
    model.script = text("Done.").at(51_000)
    async with claude(workspace) as client:
        seen = await turn(client, "Go.")
    usages = [each.usage for each in seen.messages if isinstance(each, AssistantMessage)]
    assert usages[0] is not None
    assert usages[0]["input_tokens"] + usages[0]["cache_read_input_tokens"] == 51_000


async def test_usage_given_late_is_seen_in_the_stream_but_not_in_the_assistant_message(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = text("Done.").at(51_000).late()
    async with claude(workspace, include_partial_messages=True) as client:
        seen = await turn(client, "Go.")
    usages = [each.usage for each in seen.messages if isinstance(each, AssistantMessage)]
    assert usages[0] is not None
    assert usages[0]["input_tokens"] + usages[0]["cache_read_input_tokens"] == 0
    events = [each.event for each in seen.messages if isinstance(each, StreamEvent)]
    late = next(event["usage"] for event in events if event["type"] == "message_delta")
    assert late["cache_read_input_tokens"] == 50_995


async def test_an_overflow_ends_the_turn_as_prompt_too_long(model: ScriptedModel, workspace: Path) -> None:
    model.script = overflow(210_000, 200_000)
    async with claude(workspace, env=NO_COMPACTION) as client:
        seen = await turn(client, "Go.")
    assert (seen.result.is_error, seen.result.terminal_reason) == (True, "prompt_too_long")
    assert len(model.requests) == 1


async def test_a_limit_makes_a_real_session_overflow_when_it_grows(model: ScriptedModel, workspace: Path) -> None:
    fill = tool("Bash", command="head -c 24000 /dev/zero | tr '\\0' x")
    model.script = with_limit(Story([fill] * 9), 30_000)
    async with claude(workspace, env=NO_COMPACTION) as client:
        seen = await turn(client, "Go.")
    assert seen.result.terminal_reason == "prompt_too_long"
    assert 1 < len(model.requests) < 9


async def test_an_error_is_retried_and_takes_the_next_reply_of_the_story(model: ScriptedModel, workspace: Path) -> None:
    model.script = Story([failure(529, "overloaded_error", "Overloaded"), text("Better.")])
    async with claude(workspace, env=ONE_RETRY) as client:
        seen = await turn(client, "Go.")
    retries = [each.data for each in seen.messages if isinstance(each, SystemMessage) and each.subtype == "api_retry"]
    assert [each["error_status"] for each in retries] == [529]
    assert seen.result.result == "Better."


async def test_a_stream_dropped_in_text_is_retried_and_then_asked_for_whole(
    model: ScriptedModel, workspace: Path
) -> None:
    dropped = text("half of this").but(drop_after=3)
    model.script = Story([dropped, dropped, text("Whole.")])
    async with claude(workspace, env=ONE_RETRY) as client:
        seen = await turn(client, "Go.")
    assert seen.result.result == "Whole."
    assert [each.stream for each in model.requests] == [True, True, False]
    assert [each.outcome for each in model.exchanges] == [Outcome.CUT, Outcome.CUT, Outcome.ANSWERED]


async def test_a_stream_dropped_after_a_tool_call_has_run_the_tool(model: ScriptedModel, workspace: Path) -> None:
    """The call comes whole, its message does not: the connection is cut once the tool has run."""
    proof = workspace / "proof.txt"
    model.script = Story([tool("Bash", command="echo ran >> proof.txt").but(end_delay=60), text("Done.")])

    async def drop() -> None:
        await wait_until_async(proof.exists, 30)
        model.refuse()
        model.accept()

    async with claude(workspace, env=ONE_RETRY) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(drop)
        seen = await turn(client, "Go.")
    assert proof.read_text() == "ran\n"
    errors = [each.error for each in seen.messages if isinstance(each, AssistantMessage) and each.error]
    assert errors == ["server_error"]
    assert seen.result.result == "Done."


@pytest.mark.parametrize("fault", [Reply(close=True), Reply(reset=True)], ids=["closed", "reset"])
async def test_a_connection_that_ends_without_an_answer_is_an_error_after_the_retries(
    fault: Reply, model: ScriptedModel, workspace: Path
) -> None:
    model.script = fault
    async with claude(workspace, env=ONE_RETRY) as client:
        seen = await turn(client, "Go.")
        model.script = "Back."
        after = await turn(client, "Again.")
    assert seen.result.terminal_reason == "api_error"
    assert seen.result.result
    assert "ECONNRESET" in seen.result.result
    assert after.result.result == "Back."


async def test_a_refusing_model_is_seen_as_refused(model: ScriptedModel, workspace: Path) -> None:
    async with claude(workspace, env=ONE_RETRY) as client:
        model.refuse()
        seen = await turn(client, "Go.")
        model.accept()
        after = await turn(client, "Again.")
    assert seen.result.result
    assert "ECONNREFUSED" in seen.result.result
    assert after.result.result == "Done."


async def test_a_hanging_request_can_be_interrupted(model: ScriptedModel, workspace: Path) -> None:
    model.script = Reply(hang=60)
    async with claude(workspace) as client:
        await client.query("Go.")
        await model.wait_for_async(lambda request: request.number == 1)
        await client.interrupt()
        with anyio.fail_after(5):
            messages = [each async for each in client.receive_response()]
    assert isinstance(messages[-1], ResultMessage)
    assert messages[-1].terminal_reason == "aborted_streaming"
    model.wait_for_outcome(1, Outcome.GONE)


async def test_an_agents_requests_take_no_reply_from_the_story(model: ScriptedModel, workspace: Path) -> None:
    agent = tool(
        "Agent", description="Count", prompt="Count.", subagent_type="general-purpose", run_in_background=False
    )
    model.script = Story([agent, text("Done.")], agents="Counted: 7.")
    async with claude(workspace) as client:
        seen = await turn(client, "Go.")
    assert [each.sender for each in model.requests] == [Sender.MAIN, Sender.AGENT, Sender.MAIN]
    assert "Counted: 7." in model.requests[-1].last_text()
    assert seen.result.result == "Done."


async def test_a_side_request_takes_no_reply_from_the_story(
    model: ScriptedModel, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
    model.script = story = Story([text("One."), text("Two.")])
    async with claude(workspace) as client:
        first, second = await turn(client, LONG_PROMPT), await turn(client, "Go on.")
        await model.wait_for_async(lambda request: request.sender is Sender.SIDE)
    assert (first.result.result, second.result.result) == ("One.", "Two.")
    assert story.left == 0


async def test_a_branch_answers_the_prompt_it_was_made_for(model: ScriptedModel, workspace: Path) -> None:
    model.script = Story([text("One."), text("Two.")], branches=[(asks("Hand off"), "Here it is.")])
    async with claude(workspace) as client:
        results = [(await turn(client, prompt)).result.result for prompt in ("Go.", "Hand off now.", "Go on.")]
    assert results == ["One.", "Here it is.", "Two."]


async def test_nothing_but_the_model_is_reached_for(model: ScriptedModel, workspace: Path) -> None:
    with proxy() as (url, asked):
        async with claude(workspace, env={"HTTPS_PROXY": url, "HTTP_PROXY": url}) as client:
            await turn(client, LONG_PROMPT)
    assert asked == []
    assert model.requests


async def test_without_the_harness_settings_the_proxy_is_what_keeps_the_cli_from_leaving(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"):
        monkeypatch.delenv(name)
    with proxy() as (url, asked):
        async with claude(workspace, env={"HTTPS_PROXY": url, "HTTP_PROXY": url}) as client:
            await turn(client, LONG_PROMPT)
            await wait_until_async(lambda: asked)
    assert all(line.startswith("CONNECT ") for line in asked)


async def test_the_next_turn_of_a_session_keeps_the_prefix_and_other_tools_lose_it(
    model: ScriptedModel, workspace: Path
) -> None:
    async with claude(workspace) as client:
        await turn(client, "Go.")
        await turn(client, "Go on.")
    async with claude(workspace, tools=["Bash"]) as client:
        await turn(client, "Go.")
    first, second, other = model.requests
    kept = common_prefix_share(first, second)
    assert (kept.tools, kept.system, kept.messages, kept.share) == (True, True, kept.total, 1.0)
    assert common_prefix_share(second, first).messages == len(first.messages)
    lost = common_prefix_share(first, other)
    assert (lost.tools, lost.share) == (False, 0.0)


async def test_processes_of_a_session_are_found_by_their_environment_and_are_gone_at_its_end(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    marker = f"CLAUDE_CONFIG_DIR={environment['CLAUDE_CONFIG_DIR']}"
    async with claude(workspace):
        found = marked(marker)
        assert found
        assert set(found) <= set(descendants(os.getpid()))
    await wait_until_async(lambda: not marked(marker), what="the CLI ends")
    assert not any(alive(pid) for pid in found)
    assert model.requests == []


async def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    await wait_until_async(lambda: not alive(child.pid), what="the child ends")
    assert child.pid not in descendants(os.getpid())
    child.wait()


async def test_nothing_of_the_surrounding_session_is_inherited(environment: dict[str, str]) -> None:
    foreign = [
        name for name in os.environ if name.startswith(("CLAUDE", "ANTHROPIC", "FLOWER")) and name not in environment
    ]
    assert foreign == []
    assert os.environ["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
    assert claude_cli().is_file()
