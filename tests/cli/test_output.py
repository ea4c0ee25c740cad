"""Streams: what a model writes cannot hurt a terminal, and a stream that is gone hurts nobody."""

from __future__ import annotations

import io
import json
import sys
import threading

import pytest

from flower_mcp.cli.output import Output, clean, shorten
from flower_mcp.cli.stream import Stream


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


@pytest.mark.parametrize(
    ("encoding", "expected"), [("ascii", b"?? 5K -- so... - ok\n"), ("iso-8859-1", b"?? 5K -- so... \xb7 ok\n")]
)
def test_a_character_that_the_locale_lacks_becomes_one_like_it_or_a_question_mark(
    encoding: str, expected: bytes
) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    Stream(file).write("交接 5K —— so… · ok")

    assert raw.getvalue() == expected


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


CUT = "\x1b[?7l"  # a row that is too wide must not wrap
TOP = "\x1b[?7h\r"
TWO_UP = "\x1b[?7h\x1b[1A\r"
ERASE = "\r\x1b[J"


def test_the_area_stays_below_what_is_written(screen: Screen) -> None:
    output = screen.output
    output.area(["one", "two"])
    output.area(["one", "two"])
    output.line("a line")
    output.area(["three"])

    drawn = f"{CUT}one\ntwo{TWO_UP}"
    assert screen.getvalue() == f"{drawn}{ERASE}a line\n{drawn}{ERASE}{CUT}three{TOP}"


def test_the_area_can_be_taken_away_and_is_taken_away_once(screen: Screen) -> None:
    output = screen.output
    output.area(["one"])
    output.area(())
    output.area(())
    output.line("a line")

    assert screen.getvalue() == f"{CUT}one{TOP}{ERASE}a line\n"


def test_the_area_is_not_drawn_beside_an_open_question_and_comes_back_once_it_is_answered(screen: Screen) -> None:
    output = screen.output
    output.area(["one"])
    output.line("allow it? ", end="")
    output.area(["two"])
    assert screen.getvalue() == f"{CUT}one{TOP}{ERASE}allow it? "

    output.answered()
    output.area(["two"])

    assert screen.getvalue() == f"{CUT}one{TOP}{ERASE}allow it? {CUT}two{TOP}"


def test_the_area_of_another_size_of_the_terminal_is_taken_away_and_not_drawn(screen: Screen) -> None:
    output = screen.output
    output.area(["one"], (80, 24))
    output.area(["far too wide now"], (120, 24))
    output.line("a line")

    assert screen.getvalue() == f"{CUT}one{TOP}{ERASE}a line\n"


@pytest.mark.parametrize("kind", ["dumb", ""])
def test_a_terminal_that_cannot_write_over_a_line_gets_no_area(
    kind: str, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", kind) if kind else monkeypatch.delenv("TERM")

    screen.output.area(["one"])

    assert screen.getvalue() == ""


@pytest.mark.parametrize("plain", [True, False])
def test_who_wants_plain_lines_gets_no_area_no_colour_and_no_bell(
    plain: bool, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not plain:
        monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", screen)
    output = Output(plain=plain)
    output.area(["one"])
    output.bell()
    output.line("a line", colour="31")

    assert screen.getvalue() == "a line\n"


def test_lines_wait_while_the_screen_is_an_editors(screen: Screen) -> None:
    output = screen.output
    output.area(["one"])
    with output.kept():
        shown = screen.getvalue()
        output.line("one")
        output.area(["two"])
        output.line("two", colour="31")
        assert screen.getvalue() == shown

    assert screen.getvalue() == shown + "one\n\x1b[31mtwo\x1b[0m\n"


def test_a_terminal_that_takes_nothing_slows_nobody_and_gets_every_line_in_order_but_no_area(screen: Screen) -> None:
    output, may_write = screen.output, threading.Event()
    written = screen.write

    def stopped(text: str) -> int:
        may_write.wait(2)
        return written(text)

    screen.write = stopped  # type: ignore[method-assign]
    with output.live():
        output.line("first")
        output.area(["one"])
        for number in range(5):
            output.line(str(number))
        assert screen.getvalue() == ""
        may_write.set()

    assert screen.getvalue() == "first\n" + "".join(f"{number}\n" for number in range(5))


def test_a_pipe_gets_no_area_no_bell_and_no_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    output = Output()
    output.area(["one"])
    output.bell()
    output.line("plain", colour="31")

    assert capsys.readouterr().out == "plain\n"


def test_a_terminal_has_a_bell(screen: Screen) -> None:
    screen.output.bell()

    assert screen.getvalue() == "\x07"
