"""Figures that cannot be right, or are not there: each a named condition, none an error; and the estimate then."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.estimate import REQUEST_FLOOR, Characters
from flower_mcp.core.figures import Context
from flower_mcp.core.meter import Condition, Left, Meter, Usage, Watermark
from flower_mcp.core.policy import HandoffPolicy

POLICY = HandoffPolicy(window=200_000)
NONE = Characters()


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the meter sees it: its figures, its own characters, and those that came after it."""

    context: int = 0
    answer: int = 0
    result: int = 0
    chinese: int = 0  # characters of the result

    def feed(self, meter: Meter, number: int) -> Meter:
        meter = meter.message(f"m{number}", Usage(cache_read=self.context))
        return meter.answer(Characters(self.answer)).more(Characters(self.result, self.chinese))


def fed(*messages: Message, prompt: int = 0, left: Left | None = None) -> Meter:
    """A meter after these messages, the first of which answers a prompt of so many characters."""
    meter = Meter.resumed(left).more(Characters(prompt))
    for number, message in enumerate(messages):
        meter = message.feed(meter, number)
    return meter


SILENT = Message(0, 300, 3_000)  # 1,100 tokens by its characters
STEADY = [Message(30_000 + 1_000 * n, 300, 2_700) for n in range(20)]

STREAMS: list[tuple[str, list[Message], set[Condition]]] = [
    ("nothing yet", [], set()),
    ("figures that grow as the characters do", STEADY, set()),
    ("two messages without figures", [SILENT] * 2, set()),
    ("three messages without figures", [SILENT] * 3, {Condition.UNKNOWN}),
    ("figures, then three messages without", [*STEADY[:4], *[SILENT] * 3], {Condition.UNKNOWN}),
    ("figures that come back", [*[SILENT] * 5, Message(40_000)], set()),
    ("two messages without figures, again and again", [SILENT, SILENT, Message(30_000)] * 4 + [SILENT] * 2, set()),
    ("a tenth of what the characters say", [Message(n * 1_000, 0, 30_000) for n in range(1, 9)], {Condition.TOO_LOW}),
    ("Chinese, a quarter of a token a character", [Message(3_000, 0, 0, 9_000)] * 9, {Condition.TOO_LOW}),
    ("few characters prove nothing", [Message(500, 0, 9_000)] * 6, set()),
    ("a first message that no prompt explains", [Message(110_000)], {Condition.TOO_HIGH}),
    ("ten times as fast as the characters", [Message(9_000 * n, 0, 2_700) for n in range(3, 17)], {Condition.TOO_HIGH}),
    ("one jump, as an image makes it", [*STEADY, Message(149_000), Message(149_500)], set()),
    ("above the window", [Message(30_000), Message(210_000)], {Condition.ABOVE_WINDOW}),
    ("at the window", [Message(30_000), Message(200_000)], set()),
    ("fell to less than half", [Message(90_000), Message(30_000), Message(31_000)], {Condition.FELL}),
    ("fell by the thinking of the turn before", [Message(90_000), Message(60_000), Message(61_000)], set()),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "conditions"), [row[1:] for row in STREAMS], ids=[row[0] for row in STREAMS])
def test_odd_figures_have_a_name(messages: list[Message], conditions: set[Condition]) -> None:
    assert set(fed(*messages, prompt=600).conditions(POLICY)) == conditions


def test_every_condition_has_a_stream() -> None:
    assert set().union(*(conditions for _, _, conditions in STREAMS)) == set(Condition)


def test_an_unknown_context_is_estimated_from_all_that_the_requests_carried() -> None:
    meter = fed(SILENT, SILENT, prompt=3_000)
    assert (meter.context, meter.floor, meter.is_estimated) == (0, 0, False)
    meter = SILENT.feed(meter, 3)
    assert meter.is_estimated
    assert meter.floor == REQUEST_FLOOR + 1_000
    assert meter.context == REQUEST_FLOOR + 1_000 + 2 * 1_100
    assert meter.next_request == meter.context + 1_100
    assert meter.watermark(POLICY) is Watermark.BELOW


def test_an_estimate_goes_on_from_the_last_figure() -> None:
    meter = fed(Message(40_000, 0, 3_000), Message(90_000, 300, 2_700), *[Message(0, 300, 5_700)] * 3)
    assert meter.context == 90_000 + 1_000 + 2 * 2_000
    assert meter.floor == 40_000


def test_a_figure_ends_the_estimate() -> None:
    meter = fed(*[SILENT] * 5, Message(61_000))
    assert (meter.context, meter.is_estimated) == (61_000, False)


def test_figures_that_are_too_low_are_not_believed_until_they_are_right() -> None:
    meter = fed(*[Message(1_000, 0, 60_000)] * 6)
    assert meter.is_estimated
    assert meter.context == REQUEST_FLOOR + 5 * 20_000
    assert meter.next_request == meter.context + 20_000
    assert not fed(*[Message(1_000, 0, 60_000)] * 6, Message(130_000), Message(131_000)).is_estimated


def test_a_message_is_doubted_only_when_it_is_whole() -> None:
    """Some gateways report a few tokens first, and the rest with the message's end."""
    meter = fed(*[Message(25_000 + 20_000 * n, 0, 60_000) for n in range(5)])
    early = meter.message("next", Usage(input=9))
    assert early.conditions(POLICY) == ()
    assert early.message("next", Usage(cache_read=130_000)).message("more", Usage()).conditions(POLICY) == ()


@pytest.mark.parametrize("figures", [0, 400])
def test_the_watermark_works_on_the_estimate(figures: int) -> None:
    steps = [Message(figures * n, 300, 0, 20_000) for n in range(1, 9)]
    due = [fed(*steps[: n + 1]).watermark(POLICY) is Watermark.DUE for n in range(8)]
    assert due == [False] * 7 + [True]  # 25,000 and 20,100 a message; the line is at 150,000


def test_a_chinese_tool_result_is_a_token_a_character_also_beside_good_figures() -> None:
    assert fed(Message(140_000, 0, 0, 40_000)).watermark(POLICY) is Watermark.NEAR
    assert fed(Message(140_000, 0, 0, 40_001)).watermark(POLICY) is Watermark.DUE
    assert fed(Message(140_000, 0, 40_001)).watermark(POLICY) is Watermark.NEAR


def test_a_resumed_session_starts_from_what_it_had_carried() -> None:
    meter = fed(*[SILENT] * 3, left=Left(Context(120_000), estimated=True))
    assert meter.floor == 120_000
    assert meter.context == 120_000 + 2 * 1_100
    assert fed(SILENT, left=Left(Context(120_000), estimated=True)).context == 120_000
    assert fed(SILENT, left=Left(Context(120_000))).is_estimated is False
    assert fed(Message(121_000), left=Left(Context(120_000))).conditions(POLICY) == ()


def test_after_a_compaction_less_is_no_fall_and_the_estimate_starts_anew() -> None:
    full = fed(Message(100_000), *[Message(0, 0, 30_000)] * 3)
    assert full.context > 100_000
    meter = full.compacted(Context(12_000))
    assert meter.context == 12_000
    assert set(Message(20_000).feed(Message(13_000).feed(meter, 8), 9).conditions(POLICY)) == set()
    silent = SILENT.feed(SILENT.feed(SILENT.feed(meter, 7), 8), 9)
    assert silent.context == 12_000 + 2 * 1_100


MESSAGES = st.builds(
    Message, st.just(0) | st.integers(0, 400_000), st.integers(0, 90_000), st.integers(0, 90_000), st.integers(0, 9_000)
)


@given(st.lists(MESSAGES, max_size=20), st.none() | st.builds(Left, st.integers(1, 300_000).map(Context)))
def test_no_stream_is_an_error_and_no_figure_negative(messages: list[Message], left: Left | None) -> None:
    meter = fed(*messages, left=left)
    assert meter.context >= 0
    assert meter.next_request >= meter.context
    assert (meter.floor is None) == (not messages)
    assert set(meter.conditions(POLICY)) <= set(Condition)
    if len(messages) > 3 and not any(message.context for message in messages):
        assert meter.context >= (left.context if left else REQUEST_FLOOR)
