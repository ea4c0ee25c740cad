"""The world's failures, each through the real CLI: what it makes of them, what is tried again, waited for and stopped.

One CLI takes every answer that an API or a gateway gives in place of a message, turn after turn, and the table of
failures names each end. Whole runs then meet one failure after the other.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeSDKError, ProcessError, ResultMessage

from flower_mcp import Event, RetryPolicy, Runtime
from flower_mcp.core.books import seconds
from flower_mcp.core.failures import RULES, Failure, Outcome, failure_of
from flower_mcp.demo.model import Reply, Request, ScriptedModel, Sender, Story, each_session, failure, overflow, text
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.signals import TurnEnded
from tests.e2e.harness import claude, turn
from tests.e2e.steps import CUT_OFF, DOCUMENT, bash, document_path, is_asked, run_step, successor

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]
RETRIED = "The last request to the model failed"  # how prompts/retry.md begins
REJECTED = {"anthropic-ratelimit-unified-status": "rejected", "x-should-retry": "false"}
GARBAGE = ("data: {not json\n\n", "event: nothing\ndata: 7\n\n")


def answers(status: int, body: str, kind: str = "text/html") -> Reply:
    """A whole answer that is none of the API's."""
    return Reply(status=status, body=body, content_type=kind)


# What the endpoint answers, again and again, and what that is.
SHAPES: dict[str, tuple[Reply, Failure]] = {
    "400 in new words": (failure(400, "invalid_request_error", "some brand new words 0x17"), Failure.UNKNOWN),
    "400, no credit": (failure(400, "invalid_request_error", "Your credit balance is too low"), Failure.BILLING),
    "400, too long": (overflow(210_000, 200_000), Failure.OVERFLOW),
    "400, open tool calls": (
        failure(400, "invalid_request_error", "messages.2: `tool_use` ids were found without `tool_result` blocks"),
        Failure.POISONED,
    ),
    "401": (failure(401, "authentication_error", "invalid x-api-key"), Failure.CREDENTIALS),
    "402": (failure(402, "billing_error", "pay first"), Failure.BILLING),
    "403": (failure(403, "permission_error", "not in this region"), Failure.PERMISSION),
    "404": (failure(404, "not_found_error", "model: nope"), Failure.MODEL),
    "413": (failure(413, "request_too_large", "Request exceeds the maximum size"), Failure.POISONED),
    "429": (failure(429, "rate_limit_error", "slow down").but(headers={"retry-after": "1"}), Failure.RATE),
    "429 for long": (failure(429, "rate_limit_error", "slow").but(headers={"retry-after": "400"}), Failure.RATE),
    "429, a limit": (
        failure(429, "rate_limit_error", "Your limit will reset at 3pm (UTC)").but(headers=REJECTED),
        Failure.LIMITED,
    ),
    "429, a spend limit": (
        failure(429, "billing_error", "spend limit reached · resets Aug 8").but(headers=REJECTED),
        Failure.BILLING,
    ),
    "429, the plan": (
        failure(429, "rate_limit_error", "Extra usage is required for long context requests."), Failure.PLAN,
    ),
    "500": (failure(500, "api_error", "Internal server error"), Failure.SERVER),
    "502, a page": (answers(502, "<html>Bad gateway</html>"), Failure.SERVER),
    "503": (failure(503, "api_error", "no connection upstream"), Failure.SERVER),
    "504, empty": (answers(504, ""), Failure.SERVER),
    "529": (failure(529, "overloaded_error", "Overloaded"), Failure.SERVER),
    "closed without an answer": (Reply(close=True), Failure.NETWORK),
    "reset without an answer": (Reply(reset=True), Failure.NETWORK),
    "200, a page": (answers(200, "<html>Log in to the network</html>"), Failure.MALFORMED),
    "200, empty": (answers(200, ""), Failure.MALFORMED),
    "200, other JSON": (Reply(status=200, json={"hello": 1}), Failure.MALFORMED),
    "refused by the model": (text("No.").but(stop_reason="refusal"), Failure.REFUSAL),
    "cut at the output limit": (text("words").but(stop_reason="max_tokens"), Failure.OUTPUT_LIMIT),
    "cut by the window": (text("words").but(stop_reason="model_context_window_exceeded"), Failure.OVERFLOW),
    # What the CLI mends by itself, asking once more without a stream.
    "dropped in the answer": (text("half of this").but(drop_after=3), Failure.NONE),
    "a stream of garbage": (text("Done.").but(raw_events=GARBAGE), Failure.NONE),
}  # fmt: skip


async def test_each_answer_of_a_broken_world_is_told_by_the_real_cli_as_the_table_knows_it(
    model: ScriptedModel, workspace: Path
) -> None:
    found: dict[str, Failure] = {}
    reader = Reader()
    quick = {"CLAUDE_CODE_MAX_RETRIES": "0", "DISABLE_AUTO_COMPACT": "1"}
    async with claude(workspace, env=quick, include_partial_messages=True) as client:
        for name, (reply, _) in SHAPES.items():
            model.script = Story([], then=reply)
            messages = (await turn(client, f"go on: {name}")).messages
            signals = [signal for message in messages for signal in reader.take(message)]
            assert isinstance(messages[-1], ResultMessage)
            [ended] = [signal for signal in signals if isinstance(signal, TurnEnded)]
            found[name] = failure_of(ended.outcome)
    assert found == {name: kind for name, (_, kind) in SHAPES.items()}


STARTS: dict[str, tuple[dict[str, Any], Failure]] = {
    "an id that is taken": ({"session_id": "TAKEN"}, Failure.ID_IN_USE),
    "an id that nobody knows": ({"resume": str(uuid.uuid4())}, Failure.NO_CONVERSATION),
    "an option that there is not": ({"extra_args": {"nonsense": None}}, Failure.REFUSED_START),
}

# Rows that other tests provoke, in tests/e2e unless the name says otherwise.
ELSEWHERE = {
    Failure.OUR_BREAK: "test_hostile_states: work that a hook of the workspace stops; every handoff",
    Failure.ABORTED: "test_inbox: a stop of a running tool; test_ends: refused credentials",
    Failure.BUDGET: "test_ends: a budget counts over generations",
    Failure.TURNS: "test_ends: turns count over generations",
    Failure.NO_ROOM: "test_rewind_shapes: an overflow that blames max_tokens",
    Failure.CLI_DIED: "test_hostile: a CLI that dies at each attempt",
}
IN_RUNS = {Failure.SILENT, Failure.UNREACHABLE}


async def test_a_cli_that_refuses_to_start_says_why_and_every_row_of_the_table_is_provoked_somewhere(
    model: ScriptedModel, workspace: Path
) -> None:
    taken = str(uuid.uuid4())
    async with claude(workspace, session_id=taken) as client:
        await turn(client, "hi")
    found: dict[str, Failure] = {}
    for name, (options, _) in STARTS.items():
        lines: list[str] = []
        given = {**options, "stderr": lines.append} | ({"session_id": taken} if "session_id" in options else {})
        with pytest.raises(ClaudeSDKError) as caught:
            async with claude(workspace, **given) as client:
                await turn(client, "hi")
        code = caught.value.exit_code if isinstance(caught.value, ProcessError) else None
        found[name] = failure_of(
            Outcome(is_error=True, exited=True, exit_code=code, text=str(caught.value), stderr="\n".join(lines))
        )
    assert found == {name: kind for name, (_, kind) in STARTS.items()}
    here = {kind for _, kind in SHAPES.values()} | {kind for _, kind in STARTS.values()} | IN_RUNS
    assert here | set(ELSEWHERE) == set(RULES)


FAULTS = [  # one a turn, in this order: those that are tried twice at most come first
    (SHAPES["400 in new words"][0], Failure.UNKNOWN),
    (SHAPES["200, a page"][0], Failure.MALFORMED),
    (Reply(hang=60), Failure.SILENT),
    (SHAPES["529"][0], Failure.SERVER),
    (SHAPES["reset without an answer"][0], Failure.NETWORK),
    (SHAPES["429"][0], Failure.RATE),
]
WORDS_OF_ERRORS = (
    "API Error",
    "brand new words",
    "Log in to the network",
    "Overloaded",
    "slow down",
    "no sign of life",
)


def turn_of(request: Request) -> int:
    """How many turns of the session have failed so far."""
    said = request.all_text()
    return said.count(RETRIED) + said.count(CUT_OFF)


def one_after_the_other(request: Request) -> Reply:
    """Fails each turn in another way; then the network goes; then the session reaches its line, and writes prose."""
    failed = turn_of(request)
    if is_asked(request):
        return text("I would rather not.").at(156_000)
    if len(request.messages) == 1:
        return bash("echo one").at(30_000)
    if failed < len(FAULTS):
        return FAULTS[failed][0]
    if failed == len(FAULTS):
        return bash("echo offline").at(31_000)
    return bash("echo full").at(155_000)


def live_state(workspace: Path) -> str:
    return str(json.loads((workspace / ".flower" / "live" / "work.json").read_text())["state"])


async def test_a_session_goes_on_through_every_passing_failure_and_its_errors_are_in_no_document(
    model: ScriptedModel, workspace: Path
) -> None:
    states: list[str] = []

    def during(_runtime: Runtime, event: Event) -> None:
        if event.kind == "tool" and "offline" in event.text:
            model.refuse()
        if event.kind == "wait" and event.payload["phase"] == "open":
            states.append(live_state(workspace))
            model.accept()

    script = Story([], then=one_after_the_other)
    model.script = lambda request: text("Done.").at(20_000) if request.asks("You are taking over") else script(request)
    retry = RetryPolicy(max_attempts=20, base=0.05, cap=0.2, stall=12.0)  # a loaded machine is silent for seconds
    run = await run_step(workspace, during=during, retry=retry, limit=200)
    assert run.result.ok, run.result.error
    assert [event.payload["failure"] for event in run.of("error")] == [str(kind) for _, kind in FAULTS]
    assert run.result.attempts == 1 + len(FAULTS)  # the wait was none
    assert len(run.result.generations) == 2
    ours = [event for event in run.of("retry") if event.payload.get("by") != "cli"]
    assert len(ours) == len(FAULTS)
    assert all(event.payload["seconds"] <= 0.25 for event in ours)

    [opened, closed] = run.of("wait")
    assert states == ["waiting"]
    assert opened.payload["address"] == model.url.removeprefix("http://")
    assert seconds(opened.payload["until"]) - seconds(opened.payload["since"]) == pytest.approx(3600)
    assert closed.payload["phase"] == "closed"

    [asked] = [each for each in model.requests if is_asked(each) and each.asks("Write the handoff")][:1]
    written = document_path(workspace).read_text()
    assert "[降级" in written
    said = [event.text for event in run.of("text")]
    for words in WORDS_OF_ERRORS:
        assert words not in written
        assert words not in asked.last_text()
        assert not [each for each in said if words in each]


def limited(seconds_from_now: float) -> Reply:
    """What a subscription is told whose hours are used up."""
    headers = {
        **REJECTED,
        "anthropic-ratelimit-unified-reset": str(int(time.time() + seconds_from_now)),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    return failure(429, "rate_limit_error", "This request would exceed your account's rate limit.").but(headers=headers)


async def test_a_usage_limit_is_waited_out_also_in_the_handoff_turn_and_a_person_can_stop_the_wait(
    model: ScriptedModel, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-test")
    model.script = Story([bash("echo one").at(30_000)], then=lambda _: limited(3 * 3600))

    def stop(runtime: Runtime, event: Event) -> None:
        if event.kind == "wait":
            runtime.stop()

    began = time.time()
    evening = await run_step(workspace, during=stop)
    assert evening.result.state == "stopped"
    [told] = evening.of("wait")
    assert seconds(told.payload["until"]) - began > 2.9 * 3600
    assert "You've hit your 5-hour limit" in told.text

    refused_at: list[float] = []

    def once(reply: Reply) -> Callable[[Request], Reply]:
        """Refuse the first time, for two seconds; then the reply."""
        asked: list[Request] = []

        def answer(request: Request) -> Reply:
            asked.append(request)
            if len(asked) > 1:
                return reply
            refused_at.append(request.at)
            return limited(2.5)

        return answer

    writer = once(text(DOCUMENT).at(156_000))
    work = once(bash("echo two").at(155_000))
    first = Story([], branches=[(is_asked, writer)], then=work)
    model.script = each_session(first, successor())
    before = len(model.requests)
    run = await run_step(workspace, "")
    assert run.result.ok, run.result.error
    assert run.result.attempts == 1
    assert [event.payload["phase"] for event in run.of("wait")] == ["open", "closed"] * 2
    assert [generation.written_by for generation in run.result.generations] == ["session", None]
    times = [each.at for each in model.requests[before:] if each.sender is Sender.MAIN]
    for at in refused_at:
        assert min(time for time in times if time > at) - at > 1.4  # headers tell whole seconds
    assert len(refused_at) == 2


async def test_what_no_trying_mends_stops_at_the_first_answer_and_says_what_to_do(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = SHAPES["403"][0]
    run = await run_step(workspace)
    assert run.result.state == "failed"
    assert len([each for each in model.requests if each.sender is Sender.MAIN]) == 1
    assert run.result.attempts == 1
    assert RULES[Failure.PERMISSION].next in (run.result.error or "")
    assert "not in this region" in (run.result.error or "")
