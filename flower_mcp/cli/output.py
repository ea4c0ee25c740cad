"""Where lines go: text for people and JSON for programs, each on its stream. The only place that writes to a stream.

Whatever is written must not hurt the reader: a model's control characters never reach a terminal, a character that the
locale does not have becomes `?`, and a stream that was closed (`| head`) is given up without ending the run. JSON is
pure ASCII, so it is right in every locale.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO

SHORT = 200  # characters of a tool's line
_ERASE = "\r\x1b[K"

_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # colours and cursor moves go as a whole, not only their ESC
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all of C0 but newline and tab, DEL, all of C1


def clean(text: str) -> str:
    """The text without escape sequences and control characters; newlines and tabs stay."""
    return _CONTROL.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n")))


def shorten(text: str, longest: int = SHORT) -> str:
    """The text on one line, cut to `longest` characters with `…` at the end."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


class Stream:
    """A stream that may be missing or closed at any time; then what is written is dropped."""

    def __init__(self, file: TextIO | None) -> None:
        self._file = file
        if isinstance(file, io.TextIOWrapper):
            file.reconfigure(errors="replace", line_buffering=True)

    @property
    def is_terminal(self) -> bool:
        """Whether a person's terminal is at the other end."""
        try:
            return self._file is not None and self._file.isatty()
        except (OSError, ValueError):
            return False

    def takes(self, text: str) -> bool:
        """Whether the stream's encoding has all characters of the text."""
        try:
            text.encode(getattr(self._file, "encoding", None) or "ascii")
        except (LookupError, UnicodeEncodeError):
            return False
        return True

    def write(self, line: str, *, end: str = "\n") -> None:
        """Write a line at once."""
        if self._file is None:
            return
        try:
            self._file.write(line + end)
            self._file.flush()
        except (OSError, ValueError):  # ValueError: closed in this process
            self._file = None


class Output:
    """The two streams of a command. With `as_json`, text for people goes to stderr and JSON to stdout.

    `plain`, or the variable NO_COLOR: lines alone, without control codes, on a terminal too.

    On a terminal the last line may be a status, which the next line writes over.
    """

    def __init__(self, *, as_json: bool = False, plain: bool = False) -> None:
        self.as_json = as_json
        self._plain = plain or bool(os.environ.get("NO_COLOR"))
        self._programs = Stream(sys.stdout)
        self._people = Stream(sys.stderr if as_json else sys.stdout)
        self._status = ""  # what is shown of it
        self._line_is_open = False  # it ended without a line end: a question
        self._kept: list[str] | None = None  # what waits while the screen is somebody else's

    @property
    def is_terminal(self) -> bool:
        """Whether text for people goes to a terminal."""
        return self._people.is_terminal

    @property
    def is_live(self) -> bool:
        """Whether it goes to a terminal on which a line can be written over."""
        return self.is_terminal and not self._plain and os.environ.get("TERM", "dumb") != "dumb"

    def takes(self, text: str) -> bool:
        """Whether text for people can be shown as it is, in this locale."""
        return self._people.takes(text)

    def line(self, text: str, *, end: str = "\n", colour: str = "") -> None:
        """Write text for people, cleaned. `colour`: the numbers of an SGR sequence, for a terminal that wants any."""
        shown = clean(text)
        if colour and self.is_live:
            shown = f"\x1b[{colour}m{shown}\x1b[0m"
        self._put(shown + end)

    def status(self, text: str) -> None:
        """Show a short line that the next one writes over; "" takes it away. Nothing where that cannot be done."""
        if self._kept is not None or self._line_is_open or text == self._status or not self.is_live:
            return
        self._people.write(_ERASE + " ".join(clean(text).split("\n")), end="")
        self._status = text

    def bell(self) -> None:
        """Ring a terminal's bell."""
        if self.is_terminal:
            self._people.write("\a", end="")

    @contextmanager
    def kept(self) -> Iterator[None]:
        """While entered, lines for people wait: the screen is an editor's."""
        self.status("")
        self._kept = []
        try:
            yield
        finally:
            lines, self._kept = self._kept, None
            for line in lines:
                self._put(line)

    def _put(self, text: str) -> None:
        if self._kept is not None:
            self._kept.append(text)
            return
        erase, self._status = _ERASE if self._status else "", ""
        self._people.write(erase + text, end="")
        self._line_is_open = not text.endswith("\n")

    def lines(self, lines: list[str]) -> None:
        """Write several lines for people."""
        for line in lines:
            self.line(line)

    def json(self, value: Mapping[str, Any]) -> None:
        """Write one JSON object on a line, if JSON was asked for."""
        if self.as_json:
            self._programs.write(json.dumps(value, default=str))


def complain(sentence: str) -> None:
    """Say on stderr why the command ends, on one line."""
    Stream(sys.stderr).write(f"flower: {shorten(clean(sentence), 2000)}")


def give_up_closed() -> None:
    """Flush both streams; put the null device in the place of one whose reader is gone, so that the exit is silent."""
    for file in (sys.stdout, sys.stderr):
        if file is None:
            continue
        try:
            file.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, file.fileno())
                os.close(null)
