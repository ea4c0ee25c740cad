"""Dollars from usage."""

from __future__ import annotations

import pytest

from benchmarks.prices import MILLION, SONNET_5
from flower_mcp.demo.reply import Usage


@pytest.mark.parametrize(
    ("usage", "output", "dollars"),
    [
        (Usage(MILLION, 0, 0), 0, 2.0),
        (Usage(0, MILLION, 0), 0, 2.5),
        (Usage(0, 0, MILLION), 0, 0.2),
        (Usage(0, 0, 0), MILLION, 10.0),
        (Usage(1_000, 2_000, 30_000), 400, 0.002 + 0.005 + 0.006 + 0.004),
    ],
    ids=["fresh", "written", "read", "output", "all"],
)
def test_each_kind_of_token_has_its_own_price(usage: Usage, output: int, dollars: float) -> None:
    assert SONNET_5.of(usage, output) == pytest.approx(dollars)


def test_writing_and_reading_the_cache_are_priced_by_the_published_multiples_of_fresh_input() -> None:
    assert SONNET_5.write == 1.25 * SONNET_5.fresh
    assert SONNET_5.read == pytest.approx(0.1 * SONNET_5.fresh)


def test_the_prices_say_where_and_when_they_were_found() -> None:
    for words in ("claude-sonnet-5", "$2 fresh", "$0.2 read", "platform.claude.com", "2026-11-30"):
        assert words in SONNET_5.told
