"""Scripts that go by the size of a request's body."""

from __future__ import annotations

import json

import anyio

from flower_mcp.demo.model import Reply, Request, measured, text, with_limit


def sent(characters: int) -> Request:
    """A request whose body is so long."""
    empty = len(json.dumps({"messages": ""}))
    raw = json.dumps({"messages": "x" * (characters - empty)}).encode()
    return Request(1, "/v1/messages", {}, {}, raw, 0.0)


def answered(script: object, characters: int) -> Reply:
    """What a script that may have to be awaited answers to a body so long."""

    async def ask() -> Reply:
        assert callable(script)
        answer = script(sent(characters))
        reply = answer if isinstance(answer, Reply) else await answer
        assert isinstance(reply, Reply)
        return reply

    return anyio.run(ask)


def test_a_measured_reply_says_the_context_of_its_body() -> None:
    async def later(_request: Request) -> str:
        return "Later."

    assert answered(measured(text("Done.").at(7)), 4000).usage.context == 1000
    assert answered(measured("Done.", characters_per_token=2), 4000).usage.context == 2000
    assert answered(measured(later), 4000).usage.context == 1000


def test_a_limit_refuses_what_the_same_count_says_is_above_it() -> None:
    script = with_limit(measured("Done."), 1000)

    assert answered(script, 4003).usage.context == 1000
    assert answered(script, 4004).error[1] == "prompt is too long: 1001 tokens > 1000 maximum"
