"""A model that counts: what it says is what was sent and answered."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from benchmarks.metered import Meter, output_of
from flower_mcp.demo.cache import MINIMUM
from flower_mcp.demo.model import Answer, Reply, Request, Text, ToolUse, failure, text, tool


def sent(*messages: dict[str, Any]) -> Request:
    marked = {"type": "text", "text": "s" * 4 * MINIMUM, "cache_control": {"type": "ephemeral"}}
    body = {"model": "m", "system": [marked], "messages": list(messages)}
    return Request(1, "", {}, body, json.dumps(body).encode(), 0.0)


def said(words: str) -> dict[str, Any]:
    return {"role": "user", "content": words}


def told(meter: Meter, request: Request) -> Reply:
    answer: Answer = anyio.run(meter, request)
    assert isinstance(answer, Reply)
    return answer


def test_a_reply_tells_what_its_own_request_would_cost() -> None:
    meter = Meter("Yes, that is done.")
    first, second = told(meter, sent(said("Go."))), told(meter, sent(said("Go on.")))
    assert (first.usage.cache_creation, second.usage.cache_read) == (
        second.usage.cache_read,
        first.usage.cache_creation,
    )
    assert second.usage.cache_creation == 0
    assert 0 < second.usage.input < 30
    assert [(each.usage, each.output) for each in meter.paid] == [(each.usage, each.output) for each in (first, second)]


@pytest.mark.parametrize(
    ("reply", "tokens"),
    [
        (text("x" * 400), 100),
        (Reply(blocks=(Text("x" * 40), Text("y" * 40))), 20),
        (tool("Bash", command="x" * 380), 99),
        (Reply(blocks=(ToolUse("Read", {"file_path": "/x"}),)), 5),
        (text(""), 1),
    ],
    ids=["text", "two blocks", "tool", "short tool", "nothing"],
)
def test_output_is_what_was_answered(reply: Reply, tokens: int) -> None:
    assert output_of(reply) == tokens


def test_a_failure_costs_nothing_and_caches_nothing() -> None:
    meter = Meter(failure(529, "overloaded_error", "Overloaded"))
    assert told(meter, sent(said("Go."))).status == 529
    assert meter.paid == []


def test_a_script_that_waits_is_counted_too() -> None:
    async def slow(request: Request) -> Reply:
        await anyio.sleep(0)
        return text("x" * 40)

    assert told(Meter(slow), sent(said("Go."))).output == 10
