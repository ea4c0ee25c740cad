"""Bytes to text and back."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flower_mcp.core.decode import decode, encode
from flower_mcp.core.markdown import edit_section, from_markdown
from tests.examples import examples

DOCUMENT = "## 现在在做\r\n\r\n搬家\r\n\r\n## 下一步\n\n打包\r\n\r\n## 现场\r\n\r\n见 `a\\b`\r\n"

ENCODED = {
    "utf-8": DOCUMENT.encode(),
    "utf-8 with BOM": codecs.BOM_UTF8 + DOCUMENT.encode(),
    "utf-16-le": codecs.BOM_UTF16_LE + DOCUMENT.encode("utf-16-le"),
    "utf-16-be": codecs.BOM_UTF16_BE + DOCUMENT.encode("utf-16-be"),
    "gb18030": DOCUMENT.encode("gb18030"),
}


@pytest.mark.parametrize("name", ENCODED)
def test_every_encoding_gives_the_same_text(name: str) -> None:
    decoded = decode(ENCODED[name])
    assert decoded.text == DOCUMENT
    assert decoded.exact
    assert decoded.newline == "\r\n"
    assert encode(decoded.text, decoded) == ENCODED[name]


@pytest.mark.parametrize("name", ENCODED)
def test_an_edit_of_one_section_leaves_all_other_bytes_as_they_were(name: str) -> None:
    data = ENCODED[name]
    decoded = decode(data)
    edited = encode(edit_section(decoded.text, "next", "装车\n出发"), decoded)
    place = data.index("打包".encode(decoded.encoding))
    size = len("打包".encode(decoded.encoding))
    new = "装车\n出发".encode(decoded.encoding)
    assert edited == data[:place] + new + data[place + size :]
    assert from_markdown(decode(edited).text).next == "装车\n出发"


def test_a_chinese_code_page_is_named() -> None:
    assert decode("下一步".encode("gb18030")).encoding == "gb18030"


def test_nuls_are_kept_for_editing() -> None:
    assert decode(b"a\x00b").text == "a\x00b"


def test_bytes_that_are_no_text_are_read_and_marked() -> None:
    decoded = decode(b"## Next\n\xff\xff\xfe\xff go on")
    assert not decoded.exact
    assert decoded.text.startswith("## Next\n")


def test_half_a_character_of_utf_16_is_read_and_marked() -> None:
    assert not decode(codecs.BOM_UTF16_LE + b"a\x00b").exact


@pytest.mark.parametrize(
    ("text", "newline"), [("", "\n"), ("a", "\n"), ("a\r\nb\r\nc\nd", "\r\n"), ("a\rb\rc\n", "\r"), ("a\nb", "\n")]
)
def test_the_line_end_is_the_one_most_used(text: str, newline: str) -> None:
    assert decode(text.encode()).newline == newline


@settings(max_examples=examples(150, 2_000), deadline=None, database=None)
@given(st.one_of(st.binary(), st.text().map(str.encode), st.text().map(lambda text: text.encode("utf-16"))))
def test_any_bytes_are_read_and_come_back_unless_marked(data: bytes) -> None:
    decoded = decode(data)
    assert encode(decoded.text, decoded) == data or not decoded.exact


def test_a_lone_surrogate_does_not_stop_a_save() -> None:
    assert encode("a\ud800", decode(b"a")) == b"a?"
