"""Streams: what a model writes cannot hurt a terminal, and a stream that is gone hurts nobody."""

from __future__ import annotations

import io
import json

import pytest

from flower_mcp.cli.output import Output, Stream, clean, shorten


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("plain\ttext\nline", "plain\ttext\nline"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07rest", "]0;titlerest"),
        ("a\x00b\x08c\x7fd\x9be", "abcde"),
        ("line\r\nnext\rover", "line\nnextover"),
        ("\x1b\x1b[2J[31m", "[31m"),
        ("交接 ✓", "交接 ✓"),
    ],
)
def test_control_characters_are_taken_out(raw: str, expected: str) -> None:
    assert clean(raw) == expected


def test_a_long_line_is_cut_and_says_so() -> None:
    assert shorten("a  b\nc") == "a b c"
    assert shorten("x" * 200) == "x" * 200
    assert shorten("x" * 201) == "x" * 199 + "…"


def test_a_character_that_the_locale_lacks_becomes_a_question_mark() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    Stream(file).write("交接 ok")

    assert raw.getvalue() == b"?? ok\n"


def test_a_closed_stream_is_given_up() -> None:
    file = io.StringIO()
    stream = Stream(file)
    stream.write("one")
    file.close()
    stream.write("two")
    stream.write("three")


def test_a_missing_stream_takes_everything() -> None:
    Stream(None).write("nothing")


def test_json_goes_to_stdout_in_ascii_and_text_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(as_json=True)
    output.json({"text": "交接\x1b[31m"})
    output.line("for people\x1b[31m")

    captured = capsys.readouterr()
    assert captured.out.isascii()
    assert json.loads(captured.out) == {"text": "交接\x1b[31m"}
    assert captured.err == "for people\n"


def test_without_json_no_json_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.json({"a": 1})
    output.lines(["one", "two"])

    assert capsys.readouterr().out == "one\ntwo\n"
