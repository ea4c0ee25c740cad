"""The scripted model by itself: what it puts on the wire, how it breaks connections, and that it stops at once."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from flower_mcp.demo.model import (
    Outcome,
    Reply,
    Request,
    ScriptedModel,
    Sender,
    Source,
    Story,
    Text,
    Thinking,
    ToolUse,
    asks,
    context,
    each_session,
    failure,
    overflow,
    text,
    tool,
    with_limit,
)

TITLE_REQUEST: dict[str, object] = {"output_config": {"format": {"type": "json_schema"}}, "tools": []}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that says hello."""
    with ScriptedModel("hello").in_thread() as started:
        yield started


def connect(model: ScriptedModel) -> http.client.HTTPConnection:
    """A connection to the model."""
    place = urlsplit(model.url)
    assert place.hostname
    return http.client.HTTPConnection(place.hostname, place.port, timeout=5)


def body(prompt: str = "hi", /, **fields: object) -> bytes:
    """A request body as a client would send it."""
    whole = {"model": "m", "stream": True, "messages": [{"role": "user", "content": prompt}], **fields}
    return json.dumps(whole).encode()


@dataclass(frozen=True)
class Answered:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes


def post(model: ScriptedModel, sent: bytes, headers: Mapping[str, str] | None = None) -> Answered:
    """The answer to one POST to the messages endpoint."""
    with contextlib.closing(connect(model)) as connection:
        connection.request("POST", "/v1/messages?beta=true", sent, dict(headers or {}))
        response = connection.getresponse()
        return Answered(response.status, dict(response.headers.items()), response.read())


def parse(stream: bytes) -> list[dict[str, Any]]:
    """The data of server-sent events."""
    return [json.loads(line[6:]) for line in stream.decode().splitlines() if line.startswith("data: ")]


def request(sent: bytes, headers: Mapping[str, str] | None = None) -> Request:
    """A request that nobody sent."""
    return Request(1, "/v1/messages", dict(headers or {}), json.loads(sent), sent, 0.0)


def told(source: Source, sent: Request) -> str:
    """The text that a synchronous script answers, or the message of its error."""
    answer = source(sent) if callable(source) else source
    if isinstance(answer, str):
        return answer
    assert isinstance(answer, Reply)
    if answer.status:
        return answer.error[1]
    return "".join(block.text for block in answer.blocks if isinstance(block, Text))


def test_a_streamed_message_has_the_events_of_the_api_in_order(model: ScriptedModel) -> None:
    blocks = (Thinking("hm"), Text("I look."), ToolUse("Bash", {"command": "ls"}))
    model.script = Reply(blocks=blocks, usage=context(20_000), output=7, chunk=4)
    events = parse(post(model, body()).content)
    kinds = [event["type"].removeprefix("content_block_") for event in events]
    block = ["start", "delta", "delta", "stop"]
    assert kinds == ["message_start", *block, *block, "start", "delta", "stop", "message_delta", "message_stop"]
    start = events[0]["message"]
    assert start["usage"] == {
        "input_tokens": 5,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 19_995,
        "output_tokens": 1,
    }
    assert json.loads(events[10]["delta"]["partial_json"]) == {"command": "ls"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"] == {"output_tokens": 7}


def test_a_request_that_does_not_stream_gets_the_same_message_as_json(model: ScriptedModel) -> None:
    model.script = (text("I look.") + tool("Bash", command="ls")).at(300)
    answer = json.loads(post(model, body(stream=False)).content)
    assert [block["type"] for block in answer["content"]] == ["text", "tool_use"]
    assert answer["content"][1]["input"] == {"command": "ls"}
    assert answer["stop_reason"] == "tool_use"
    assert answer["usage"]["cache_read_input_tokens"] == 295


def test_a_late_usage_stands_in_message_delta_alone(model: ScriptedModel) -> None:
    model.script = text("x").at(51_000).late()
    events = parse(post(model, body()).content)
    assert set(events[0]["message"]["usage"].values()) == {0}
    late = events[-2]["usage"]
    assert late["input_tokens"] + late["cache_read_input_tokens"] == 51_000


def test_ids_of_tool_calls_differ_between_requests_and_between_models(model: ScriptedModel) -> None:
    def ids(of: ScriptedModel) -> set[str]:
        of.script = tool("Bash", command="ls") + tool("Bash", command="pwd")
        events = [*parse(post(of, body()).content), *parse(post(of, body()).content)]
        return {event["content_block"]["id"] for event in events if event["type"] == "content_block_start"}

    with ScriptedModel("").in_thread() as other:
        assert len(ids(model) | ids(other)) == 8


@pytest.mark.parametrize("tokens", [0, 3, 5, 6, 199_999])
def test_a_context_adds_up_to_the_tokens_asked_for(tokens: int) -> None:
    usage = context(tokens)
    assert usage.context == tokens
    assert min(usage.input, usage.cache_creation, usage.cache_read) >= 0


def test_an_error_has_the_shape_of_the_api_and_the_headers_of_the_script(model: ScriptedModel) -> None:
    model.script = failure(429, "rate_limit_error", "slow down").but(headers={"retry-after": "3"})
    response = post(model, body())
    assert (response.status, response.headers["retry-after"]) == (429, "3")
    assert json.loads(response.content) == {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "slow down"},
    }


def test_an_error_may_be_any_json_or_any_text(model: ScriptedModel) -> None:
    model.script = Reply(status=400, json={"detail": "no"})
    assert json.loads(post(model, body()).content) == {"detail": "no"}
    model.script = Reply(status=413, body="<html>", content_type="text/html")
    response = post(model, body())
    assert response.status == 413
    assert response.headers["content-type"].startswith("text/html")
    assert response.content == b"<html>"


def test_raw_events_are_sent_word_for_word(model: ScriptedModel) -> None:
    model.script = Reply(raw_events=("event: ping\n", "data: {broken\n\n"))
    assert post(model, body()).content == b"event: ping\ndata: {broken\n\n"


def test_a_drop_ends_the_stream_after_the_events_asked_for_without_its_end(model: ScriptedModel) -> None:
    model.script = text("half").but(drop_after=3)
    with pytest.raises(http.client.IncompleteRead) as caught:
        post(model, body())
    kinds = [event["type"] for event in parse(caught.value.partial)]
    assert kinds == ["message_start", "content_block_start", "content_block_delta"]
    assert model.wait_for_outcome(1, Outcome.CUT).reply


def test_a_drop_longer_than_the_message_keeps_the_last_chunk_back(model: ScriptedModel) -> None:
    model.script = text("all").but(drop_after=99)
    with pytest.raises(http.client.IncompleteRead) as caught:
        post(model, body())
    assert parse(caught.value.partial)[-1]["type"] == "message_stop"


def test_a_close_ends_the_connection_without_an_answer(model: ScriptedModel) -> None:
    model.script = Reply(close=True)
    with pytest.raises(http.client.RemoteDisconnected):
        post(model, body())


def test_a_reset_is_a_tcp_reset(model: ScriptedModel) -> None:
    model.script = Reply(reset=True)
    with pytest.raises(ConnectionResetError) as caught:
        post(model, body())
    assert not isinstance(caught.value, http.client.RemoteDisconnected)


def test_a_reset_in_the_middle_of_a_stream_is_a_tcp_reset(model: ScriptedModel) -> None:
    model.script = text("half").but(drop_after=2, reset=True, event_delay=0.05)
    with pytest.raises(ConnectionResetError):
        post(model, body())


def test_delays_hold_back_the_headers_the_blocks_and_the_end(model: ScriptedModel) -> None:
    model.script = (text("a") + text("b")).but(delay=0.1, block_delay=0.1, end_delay=0.1)
    with contextlib.closing(connect(model)) as connection:
        begun = time.monotonic()
        connection.request("POST", "/v1/messages", body())
        response = connection.getresponse()
        assert time.monotonic() - begun >= 0.1
        response.read()
        assert time.monotonic() - begun >= 0.3


def test_a_client_that_leaves_ends_a_hanging_request(model: ScriptedModel) -> None:
    model.script = Reply(hang=60)
    connection = connect(model)
    connection.request("POST", "/v1/messages", body())
    model.wait_for(lambda request: request.number == 1)
    connection.close()
    assert model.wait_for_outcome(1, Outcome.GONE, timeout=3).reply


@pytest.mark.parametrize("script", [Reply(hang=60), text("x").but(delay=60), text("x").but(event_delay=60)])
def test_a_model_with_an_open_request_stops_within_a_second(script: Reply) -> None:
    with ScriptedModel(script).in_thread() as model:
        connection = connect(model)
        connection.request("POST", "/v1/messages", body())
        model.wait_for(lambda request: request.number == 1)
        begun = time.monotonic()
    assert time.monotonic() - begun < 1
    assert not [thread for thread in threading.enumerate() if thread.name == "scripted-model"]
    connection.close()


def test_a_model_whose_script_never_answers_stops_within_a_second_in_the_callers_loop() -> None:
    async def script(_request: Request) -> str:
        await asyncio.sleep(60)
        return "never"

    async def main() -> tuple[float, int]:
        async with ScriptedModel(script) as model:
            connection = connect(model)
            await asyncio.to_thread(connection.request, "POST", "/v1/messages", body())
            await model.wait_for_async(lambda request: request.number == 1)
            begun = time.monotonic()
        connection.close()
        return time.monotonic() - begun, len(asyncio.all_tasks())

    taken, tasks = asyncio.run(main())
    assert taken < 1
    assert tasks == 1


def test_a_refusing_model_comes_back_on_the_same_port(model: ScriptedModel) -> None:
    url = model.url
    model.refuse()
    with pytest.raises(ConnectionRefusedError):
        post(model, body())
    model.accept()
    assert model.url == url
    assert post(model, body()).status == 200


def test_a_refusing_model_cuts_the_requests_that_are_open(model: ScriptedModel) -> None:
    model.script = Reply(hang=60)
    with contextlib.closing(connect(model)) as connection:
        connection.request("POST", "/v1/messages", body())
        model.wait_for(lambda request: request.number == 1)
        model.refuse()
        with pytest.raises(ConnectionError):
            connection.getresponse()
    assert model.wait_for_outcome(1, Outcome.GONE).reply


def test_a_script_may_be_replaced_while_the_model_runs(model: ScriptedModel) -> None:
    assert b"hello" in post(model, body()).content
    model.script = "goodbye"
    assert b"goodbye" in post(model, body()).content


def test_what_a_script_raises_is_told_and_kept(model: ScriptedModel) -> None:
    def script(_request: Request) -> str:
        raise LookupError("no such chapter")

    model.script = script
    response = post(model, body())
    assert response.status == 400
    assert b"no such chapter" in response.content
    assert [type(error) for error in model.errors] == [LookupError]


def test_everything_that_is_no_message_is_answered_and_recorded(model: ScriptedModel) -> None:
    def status(method: str, path: str) -> int:
        connection = connect(model)
        connection.request(method, path, b"{}" if method == "POST" else None)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status

    assert [status("HEAD", "/api/hello"), status("GET", "/x"), status("POST", "/v1/messages/count_tokens")] == [
        200,
        404,
        200,
    ]
    assert [visit.path for visit in model.others] == ["/api/hello", "/x", "/v1/messages/count_tokens"]
    assert model.requests == []


def test_a_wait_that_fails_says_what_had_come(model: ScriptedModel) -> None:
    post(model, body("a strange prompt"))
    with pytest.raises(TimeoutError, match="a strange prompt"):
        model.wait_for(lambda request: request.number == 2, timeout=0.01)


def test_a_story_gives_one_reply_to_each_request_of_the_main_thread() -> None:
    story = Story(["one", "two"], agents="agent", then="over")
    agent = request(body(), {"x-claude-code-agent-id": "a1"})
    side = request(body(**TITLE_REQUEST))
    main = request(body(tools=[{"name": "Bash"}]))
    assert (agent.sender, side.sender, main.sender) == (Sender.AGENT, Sender.SIDE, Sender.MAIN)
    assert [told(story, each) for each in (side, main, agent, main, main)] == [
        '{"title": "A scripted session"}',
        "one",
        "agent",
        "two",
        "over",
    ]
    assert (story.told, story.left) == (2, 0)


def test_a_conversation_without_tools_is_the_main_thread() -> None:
    assert request(body(tools=[], output_config={"effort": "high"})).sender is Sender.MAIN


def test_a_story_that_is_over_refuses_and_names_the_request() -> None:
    assert "nobody foresaw this" in told(Story([]), request(body("nobody foresaw this")))


def test_a_branch_takes_no_reply_from_the_story() -> None:
    story = Story(["one", "two"], branches=[(asks("Hand off"), Story(["first ask", "second ask"]))])
    prompts = ["a", "Hand off now", "b", "  Hand off again"]
    assert [told(story, request(body(prompt))) for prompt in prompts] == ["one", "first ask", "two", "second ask"]


def test_a_prompt_is_found_among_the_reminders_around_it() -> None:
    blocks = [{"type": "text", "text": "<system-reminder>"}, {"type": "text", "text": "Hand off now"}]
    messages = [{"role": "user", "content": blocks}, {"role": "system", "content": "# Environment"}]
    sent = request(body(messages=messages))
    assert sent.asks("Hand off")
    assert not sent.asks("# Environment")


def test_texts_open_tool_results_and_tool_inputs() -> None:
    call = {"type": "tool_use", "input": {"command": "列出"}}
    result = {"type": "tool_result", "content": [{"type": "text", "text": "a.txt"}]}
    sent = request(body(messages=[{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]))
    assert sent.last_text() == "a.txt"
    assert sent.all_text() == '{"command": "列出"}\na.txt'


def test_each_session_has_its_own_script_and_the_last_one_is_kept() -> None:
    script = each_session("first", "second")
    seen = [told(script, request(body(), {"x-claude-code-session-id": each})) for each in "abacb"]
    assert seen == ["first", "second", "first", "second", "second"]


def test_a_limit_refuses_by_the_length_of_the_request_in_characters() -> None:
    script = with_limit("fits", 100)
    assert told(script, request(body("x" * 200))) == "fits"
    assert told(script, request(body("x" * 500))).startswith("prompt is too long: 1")
    assert overflow(210_000, 200_000).error[1] == "prompt is too long: 210000 tokens > 200000 maximum"


def test_importing_the_model_loads_neither_starlette_nor_uvicorn(tmp_path: Path) -> None:
    code = "import sys, flower_mcp.demo.model; print([m for m in ('uvicorn', 'starlette', 'mcp') if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout.strip() == "[]"
