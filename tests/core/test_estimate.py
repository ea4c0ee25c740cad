"""How many tokens a text is, from its characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.estimate import REQUEST_FLOOR, Characters


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        pytest.param("", 0, 0, id="nothing"),
        pytest.param("x" * 30_000, 7_500, 10_000, id="prose at three to four characters a token"),
        pytest.param("接手的人读的东西,随便改。" * 2_308, 20_000, 31_000, id="30,000 Chinese characters"),
        pytest.param("それでは引き継ぎを書きます" * 100, 1_000, 1_400, id="Japanese"),
        pytest.param("인수인계 문서를 쓰십시오" * 100, 1_000, 1_400, id="Korean"),
        pytest.param("𠮷" * 900, 900, 900, id="characters beyond the first plane"),
        pytest.param("🌸" * 900, 900, 900, id="pictures"),
        pytest.param("Привет, мир! " * 100, 400, 1_000, id="an alphabet that is not Latin"),
        pytest.param("错误: connection refused at 10.0.0.1:80\n" * 100, 1_100, 1_800, id="a mix"),
    ],
)
def test_an_estimate_is_near_what_a_tokenizer_gives(text: str, least: int, most: int) -> None:
    assert least <= Characters.of(text).tokens <= most


def test_what_no_message_shows_is_as_much_as_the_cli_sends_at_first() -> None:
    assert 77_000 / 4 < REQUEST_FLOOR < 77_000 / 3 + 1  # bytes of system prompt and tools


@given(st.text(), st.text())
def test_a_text_in_two_parts_has_as_many_characters(one: str, other: str) -> None:
    whole, parts = Characters.of(one + other), Characters.of(one) + Characters.of(other)
    assert whole == parts
    assert whole.narrow + whole.wide == len(one + other)
    assert 0 <= whole.tokens <= len(one + other)
