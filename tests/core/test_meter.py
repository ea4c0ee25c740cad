"""The context of the main thread and its watermarks, from streams of usage as the SDK and gateways report them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.estimate import Characters
from flower_mcp.core.meter import Meter, Usage, Watermark
from flower_mcp.core.policy import HandoffPolicy

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"])
COUNTS = st.integers(0, 1_000_000)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS)


def api(input: int = 0, creation: int = 0, read: int = 0, output: int = 0, **more: Any) -> dict[str, Any]:
    """A usage object of the API."""
    return {
        "input_tokens": input,
        "cache_creation_input_tokens": creation,
        "cache_read_input_tokens": read,
        "output_tokens": output,
        **more,
    }


def fed(*messages: tuple[str | None, dict[str, Any]]) -> Meter:
    """A meter that took in these messages, by id and usage."""
    meter = Meter()
    for message_id, usage in messages:
        meter = meter.message(message_id, Usage.read(usage))
    return meter


@pytest.mark.parametrize(
    ("messages", "context", "watermark"),
    [
        pytest.param([], 0, Watermark.BELOW, id="nothing yet"),
        pytest.param([("m1", api(3, 900, 161_000, 700))], 161_903, Watermark.DUE, id="nearly all of it from the cache"),
        pytest.param([("m1", api(3, 0, 300_000, total_tokens=12_000))], 300_003, Watermark.DUE, id="a total that lies"),
        pytest.param(
            [(f"m{n}", api(1, 0, 50_000, 10)) for n in range(10)], 50_001, Watermark.BELOW, id="ten cache reads, no sum"
        ),
        pytest.param(
            [("m1", api(7, 1_000, 30_000, output)) for output in (1, 40, 350)],
            31_007,
            Watermark.BELOW,
            id="one message in three parts",
        ),
        pytest.param(
            [("m1", api()), ("m1", api(51_000, output=3))], 51_000, Watermark.BELOW, id="figures in message_delta alone"
        ),
        pytest.param(
            [("m1", api(100_000)), ("m2", api())], 100_000, Watermark.BELOW, id="a message that reported nothing yet"
        ),
        pytest.param([("m1", api(140_000)), ("m2", api(20_000))], 20_000, Watermark.BELOW, id="a context that shrank"),
        pytest.param([("m1", api(129_999))], 129_999, Watermark.BELOW, id="just below the warning"),
        pytest.param([("m1", api(130_000))], 130_000, Watermark.NEAR, id="at the warning"),
        pytest.param([("m1", api(149_999))], 149_999, Watermark.NEAR, id="just below the line"),
        pytest.param([("m1", api(150_000))], 150_000, Watermark.DUE, id="at the line"),
        pytest.param([("m1", api(671_000))], 671_000, Watermark.DUE, id="above the window"),
    ],
)
def test_the_context_is_what_the_last_request_carried(
    messages: list[tuple[str | None, dict[str, Any]]], context: int, watermark: Watermark
) -> None:
    meter = fed(*messages)
    assert meter.context == context
    assert meter.watermark(HandoffPolicy(window=200_000)) is watermark


def test_on_a_window_of_a_million_17_percent_is_no_reason_to_hand_off() -> None:
    policy = HandoffPolicy(window=1_000_000, headroom=400_000)
    assert fed(("m1", api(read=170_000))).watermark(policy) is Watermark.BELOW
    assert fed(("m1", api(read=600_000))).watermark(policy) is Watermark.DUE


@pytest.mark.parametrize(
    ("context", "output", "characters", "watermark"),
    [
        (140_000, 40_000, 0, Watermark.NEAR),
        (140_000, 40_001, 0, Watermark.DUE),
        (100_000, 0, 240_002, Watermark.BELOW),
        (100_000, 0, 240_003, Watermark.DUE),
        (100_000, 70_000, 30_002, Watermark.BELOW),
        (100_000, 70_000, 30_003, Watermark.DUE),
    ],
)
def test_a_next_request_that_would_not_fit_is_a_reason_although_this_one_did(
    context: int, output: int, characters: int, watermark: Watermark
) -> None:
    meter = fed(("m1", api(context, output=output))).more(Characters(characters))
    assert meter.next_request == context + output + characters // 3
    assert meter.watermark(HandoffPolicy(window=200_000)) is watermark


def test_what_tools_added_counts_until_the_next_message_and_over_parts_of_one() -> None:
    meter = fed(("m1", api(100_000))).more(Characters(300)).more(Characters(600))
    assert meter.next_request == 100_300
    assert meter.message("m1", Usage(output=50)).next_request == 100_350
    assert meter.message("m2", Usage(input=100_300)).next_request == 100_300


def test_a_prompt_before_the_first_message_is_no_reason_to_hand_off() -> None:
    assert (Meter().context, Meter().next_request) == (0, 0)
    assert Meter().more(Characters(10_000_000)).watermark(HandoffPolicy(window=200_000)) is Watermark.BELOW


def test_the_floor_is_the_context_of_the_sessions_first_message() -> None:
    assert Meter().floor is None
    meter = fed(("m1", api()), ("m1", api(34_000)), ("m2", api(60_000)), ("m2", api(61_000)), ("m3", api(9_000)))
    assert meter.floor == 34_000
    assert meter.messages == 3


def test_messages_without_an_id_are_messages_of_their_own() -> None:
    meter = fed((None, api(50_000, output=9)), (None, api(40_000)))
    assert (meter.messages, meter.context, meter.usage.output) == (2, 40_000, 0)


def test_a_new_session_starts_with_nothing_of_the_old_one() -> None:
    old = fed(("m1", api(199_000, output=500))).more(Characters(9_000))
    new = Meter().message("m2", Usage.read(api(20_000)))
    assert old.watermark(HandoffPolicy(window=200_000)) is Watermark.DUE
    assert new.watermark(HandoffPolicy(window=200_000)) is Watermark.BELOW


def test_a_summed_usage_has_no_way_into_the_meter() -> None:
    assert {field.name for field in dataclasses.fields(Usage)} == {"input", "cache_creation", "cache_read", "output"}
    assert fed(("m1", api(90_000, modelUsage={"opus": {"inputTokens": 14_800_000}}, iterations=[1]))).context == 90_000


@pytest.mark.parametrize("value", ["7", True, None, -1, float("nan"), float("inf"), [7], {"n": 7}, 10**400 * -1])
def test_a_count_that_is_none_counts_as_nothing(value: object) -> None:
    usage = Usage.read({"input_tokens": value, "cache_read_input_tokens": 5, "output_tokens": value})
    assert usage == Usage(cache_read=5)


@given(
    JUNK | st.dictionaries(KEYS, JUNK),
    st.none() | st.text(max_size=2),
    st.builds(Characters, st.integers(0), st.integers(0)),
)
def test_junk_is_never_an_error_and_never_a_negative_count(
    usage: object, message_id: str | None, more: Characters
) -> None:
    meter = Meter().message(message_id, Usage.read(usage)).message(message_id, Usage.read(usage)).more(more)
    assert meter.context >= 0
    assert meter.next_request >= meter.context
    assert meter.watermark(HandoffPolicy(window=200_000)) in Watermark


@given(USAGES, USAGES, USAGES)
def test_parts_of_a_message_give_the_same_in_any_order_and_number(a: Usage, b: Usage, c: Usage) -> None:
    assert a.merged(b) == b.merged(a)
    assert a.merged(b).merged(c) == a.merged(b.merged(c))
    assert a.merged(a) == a
    meter = Meter().message("m", a).message("m", b)
    assert meter.message("m", b).message("m", a) == meter
    assert meter.messages == 1


@given(st.lists(st.tuples(st.sampled_from("abc"), USAGES), min_size=1, max_size=8))
def test_the_context_is_never_more_than_the_greatest_of_one_message_nor_a_sum_over_several(
    stream: list[tuple[str, Usage]],
) -> None:
    meter = Meter()
    for message_id, usage in stream:
        meter = meter.message(message_id, usage)
    assert meter.is_estimated or meter.context <= sum(
        max(getattr(usage, name) for _, usage in stream) for name in ("input", "cache_creation", "cache_read")
    )
    runs = sum(1 for n, (message_id, _) in enumerate(stream) if n == 0 or stream[n - 1][0] != message_id)
    assert meter.messages == runs
