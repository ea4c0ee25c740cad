"""Numbers and yes or no, as people type them and as flower prints them."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.amounts import is_yes, tokens
from flower_mcp.core.texts import used_text, window_text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("200000", 200_000),
        ("200_000", 200_000),
        ("200,000", 200_000),
        (" 200K ", 200_000),
        ("200k", 200_000),
        ("150.0K", 150_000),
        ("0.2M", 200_000),
        ("1.05m", 1_050_000),
        ("0", 0),
    ],
)
def test_a_number_of_tokens_is_read_as_people_write_it(text: str, number: int) -> None:
    assert tokens(text) == number


@pytest.mark.parametrize(
    "text",
    ["", "K", ".5K", "5.K", "1.5", "-1", "1e5", "nan", "½K", "٣", "9" * 5_000, "²", "1,5M", "12,34", "1.0001K", "1 K"],
    ids=lambda text: text[:20],
)
def test_what_is_none_is_none(text: str) -> None:
    assert tokens(text) is None


@given(st.integers(0, 99_999_999))
def test_what_flower_prints_can_be_typed(context: int) -> None:
    used, window = tokens(used_text(context)), tokens(window_text(context))
    assert used is not None
    assert window is not None
    assert abs(used - context) <= 50
    assert abs(window - context) <= 500


@pytest.mark.parametrize("text", ["1", "true", "T", "yes", "y", "ON", "0", "False", "f", "no", "n", "off", " 1 ", ""])
def test_yes_and_no_are_read_as_the_command_line_reads_a_variable(text: str) -> None:
    assert is_yes(text) is (click.BOOL.convert(text, None, None) if text else False)


def test_what_is_neither_counts_for_yes() -> None:
    assert is_yes("maybe"), "whoever set it wanted something"
