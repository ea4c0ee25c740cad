"""What two requests begin with, both."""

from __future__ import annotations

from typing import Any

from flower_mcp.demo.prefix import common_prefix_share
from flower_mcp.demo.request import Request

Message = dict[str, Any]


def sent(*messages: Message, system: str = "s", tools: tuple[Message, ...] = ()) -> Request:
    return Request(1, "", {}, {"system": system, "tools": list(tools), "messages": list(messages)}, b"", 0.0)


def said(*words: str, role: str = "user") -> Message:
    return {"role": role, "content": [{"type": "text", "text": each} for each in words]}


def test_marks_and_the_form_of_a_text_make_no_difference() -> None:
    block = {"type": "text", "text": "Go.", "cache_control": {"type": "ephemeral"}}
    first = sent({"role": "user", "content": "Go."}, said("a", role="assistant"))
    second = sent({"role": "user", "content": [block]}, said("b", role="assistant"))
    common = common_prefix_share(first, second)
    assert (common.system, common.messages, common.total) == (True, 1, 2)
    assert 0.4 < common.share < 0.9


def test_a_message_that_begins_alike_counts_up_to_where_it_differs() -> None:
    common = common_prefix_share(sent(said("x" * 1000, "y" * 1000)), sent(said("x" * 1000, "z")))
    assert common.messages == 0
    assert 0.5 < common.share < 0.6
    assert common.new < 50


def test_what_the_second_adds_at_the_end_of_a_message_takes_nothing_away() -> None:
    first, second = sent(said("x")), sent(said("x", "Write."))
    assert common_prefix_share(first, second).share == 1.0
    assert common_prefix_share(first, second).new > 0
    assert common_prefix_share(second, first).share < 1.0


def test_nothing_counts_behind_the_first_difference() -> None:
    messages = said("x" * 1000)
    for other in (sent(messages, tools=({"name": "Bash"},)), sent(messages, system="t"), sent(said("", "x" * 1000))):
        assert common_prefix_share(sent(messages), other).share < 0.1


def test_the_same_words_of_another_role_are_not_the_same() -> None:
    assert common_prefix_share(sent(said("x")), sent(said("x", role="system"))).messages == 0
