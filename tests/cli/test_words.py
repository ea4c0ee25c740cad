"""The texts: both languages say the same things, and every text that is asked for exists."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

import flower_mcp.cli.words as words_module
from flower_mcp.cli.words import TEXTS, Language, Words, language


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_both_languages_fill_the_same_placeholders(name: str) -> None:
    english, chinese = TEXTS[name]

    assert _placeholders(english) == _placeholders(chinese)


def test_every_text_that_the_code_asks_for_exists() -> None:
    folder = Path(words_module.__file__).parent
    asked = {
        name
        for path in folder.glob("*.py")
        for name in re.findall(r"words\(\s*\"([^\"]+)\"", path.read_text(encoding="utf-8"))
    }

    assert len(asked) > 20
    assert asked <= set(TEXTS)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, Language.ENGLISH),
        ({"LANG": "zh_CN.UTF-8"}, Language.CHINESE),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, Language.ENGLISH),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, Language.CHINESE),
        ({"LC_MESSAGES": "zh_TW"}, Language.CHINESE),
        ({"LANG": "en_US.UTF-8", "FLOWER_LANG": "zh"}, Language.CHINESE),
        ({"LANG": "zh_CN.UTF-8", "FLOWER_LANG": "en"}, Language.ENGLISH),
    ],
)
def test_the_language_is_flowers_own_variable_or_the_locales(environ: dict[str, str], expected: Language) -> None:
    assert language(environ) is expected


def test_a_text_is_filled() -> None:
    assert Words(Language.CHINESE)("near", context="130.0K", window="200K", left="20K") == (
        "# 上下文 130.0K/200K · 还有约 20K 到换代"
    )
