"""The cache that stands in for a provider's: what is served, what is written, what is paid for afresh."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.demo.cache import LOOKBACK, MINIMUM, PromptCache

Body = dict[str, Any]
MARK = {"cache_control": {"type": "ephemeral"}}
LONG = "x" * 4 * MINIMUM


def block(words: str, *, marked: bool = False) -> Body:
    return {"type": "text", "text": words, **(MARK if marked else {})}


def body(*blocks: Body, system: str = LONG, **more: Any) -> Body:
    """A request with one user message; its system prompt is long enough to be cached, and marked."""
    messages = [{"role": "user", "content": list(blocks)}]
    return {"model": "m", "system": [block(system, marked=True)], "messages": messages, **more}


def test_the_first_request_writes_up_to_its_last_mark_and_pays_for_the_rest_afresh() -> None:
    usage = PromptCache().take(body(block(LONG, marked=True), block(LONG)))
    assert usage.cache_read == 0
    assert usage.cache_creation > 2 * MINIMUM
    assert MINIMUM < usage.input < MINIMUM + 20


def test_a_request_that_goes_on_reads_what_the_one_before_wrote_and_writes_what_is_new() -> None:
    cache = PromptCache()
    first = cache.take(body(block("a" * 4_000, marked=True)))
    second = cache.take(body(block("a" * 4_000), block("b" * 4_000, marked=True), block("c" * 400)))
    assert second.cache_read == first.context
    assert 1_000 < second.cache_creation < 1_020
    assert 100 < second.input < 120


def test_nothing_is_written_between_two_marks() -> None:
    cache = PromptCache()
    cache.take(body(block("a" * 4_000), block("b" * 4_000, marked=True)))
    system = cache.take(body(system=LONG)).context
    assert cache.take(body(block("a" * 4_000, marked=True))).cache_read == system


@pytest.mark.parametrize(("between", "found"), [(LOOKBACK - 2, True), (LOOKBACK - 1, False)])
def test_an_entry_is_found_so_many_blocks_back_and_no_more(between: int, found: bool) -> None:
    cache = PromptCache()
    first = cache.take({"model": "m", "messages": body(block(LONG, marked=True))["messages"]})
    new = [*(block(f"new {number}") for number in range(between)), block("end", marked=True)]
    later = {"model": "m", "messages": body(block(LONG), *new)["messages"]}
    assert cache.take(later).cache_read == (first.context if found else 0)


@pytest.mark.parametrize(
    "change",
    [{"model": "other"}, {"tools": [{"name": "Bash"}]}, {"system": [block("other" + LONG, marked=True)]}],
    ids=["model", "tools", "system"],
)
def test_what_comes_first_must_be_the_same(change: Body) -> None:
    cache = PromptCache()
    cache.take(body(block("a", marked=True)))
    assert cache.take({**body(block("a", marked=True)), **change}).cache_read == 0


@pytest.mark.parametrize("change", [{"thinking": {"type": "disabled"}}, {"tool_choice": {"type": "none"}}])
def test_another_way_to_answer_keeps_the_system_prompt_and_loses_the_messages(change: Body) -> None:
    cache = PromptCache()
    cache.take(body(block(LONG, marked=True)))
    usage = cache.take(body(block(LONG, marked=True), **change))
    assert 0 < usage.cache_read < usage.context // 2 + 20


def test_a_short_prefix_is_neither_written_nor_found() -> None:
    cache = PromptCache()
    short = body(block("a" * 400, marked=True), system="s" * 3_400)
    for _ in range(2):
        usage = cache.take(short)
        assert (usage.cache_read, usage.cache_creation) == (0, 0)
        assert 900 < usage.input < MINIMUM


def test_marks_and_the_form_of_a_text_are_no_part_of_what_is_cached() -> None:
    cache = PromptCache()
    first = cache.take(body(block("Go.", marked=True)))
    message = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [block("Yes.", marked=True)]}]
    assert cache.take({**body(), "messages": message}).cache_read == first.context


def test_an_empty_request_costs_nothing() -> None:
    assert PromptCache().take({}).context == 0


@given(st.lists(st.tuples(st.text(max_size=3), st.booleans()), max_size=30), st.integers(0, 60))
def test_the_kinds_add_up_to_the_request_whatever_is_marked(sent: list[tuple[str, bool]], minimum: int) -> None:
    cache = PromptCache(minimum)
    request = body(*(block(words, marked=marked) for words, marked in sent), system="s")
    first, second = cache.take(request), cache.take(request)
    assert first.context == second.context
    assert second.cache_creation == 0
    assert second.cache_read == first.cache_creation
    assert min(first.input, second.input, second.cache_read) >= 0
