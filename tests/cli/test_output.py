"""Streams: what a model writes cannot hurt a terminal, and a stream that is gone hurts nobody."""

from __future__ import annotations

import io
import json
import sys

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


class Screen(io.StringIO):
    """A terminal that keeps what it was given, and an output that goes to it."""

    output: Output

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A live terminal."""
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)  # pytest puts its own back before the test
    screen.output = Output()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return screen


def test_a_status_is_written_over_by_the_next_line(screen: Screen) -> None:
    output = screen.output
    output.status("   5 s")
    output.status("   5 s")
    output.status("   4\x1b[2J s")
    output.line("a line")
    output.line("another")

    assert screen.getvalue() == "\r\x1b[K   5 s\r\x1b[K   4 s\r\x1b[Ka line\nanother\n"


def test_a_status_can_be_taken_away_and_is_taken_away_once(screen: Screen) -> None:
    output = screen.output
    output.status("   5 s")
    output.status("")
    output.status("")

    assert screen.getvalue() == "\r\x1b[K   5 s\r\x1b[K"


def test_a_status_does_not_write_over_an_open_question(screen: Screen) -> None:
    output = screen.output
    output.line("allow it? ", end="")
    output.status("   5 s")

    assert screen.getvalue() == "allow it? "


@pytest.mark.parametrize("kind", ["dumb", ""])
def test_a_terminal_that_cannot_write_over_a_line_gets_no_status(
    kind: str, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", kind) if kind else monkeypatch.delenv("TERM")

    screen.output.status("   5 s")

    assert screen.getvalue() == ""


def test_lines_wait_while_the_screen_is_an_editors(screen: Screen) -> None:
    output = screen.output
    output.status("   5 s")
    with output.kept():
        shown = screen.getvalue()
        output.line("one")
        output.status("   4 s")
        output.line("two", colour="31")
        assert screen.getvalue() == shown

    assert screen.getvalue() == shown + "one\n\x1b[31mtwo\x1b[0m\n"


def test_a_pipe_gets_no_status_no_bell_and_no_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    output = Output()
    output.status("   5 s")
    output.bell()
    output.line("plain", colour="31")

    assert capsys.readouterr().out == "plain\n"


def test_a_terminal_has_a_bell(screen: Screen) -> None:
    screen.output.bell()

    assert screen.getvalue() == "\x07"
