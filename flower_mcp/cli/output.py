"""Where lines go: text for people and JSON for programs, each on its stream. The only place that writes to a stream.

Whatever is written must not hurt the reader: a model's control characters never reach a terminal, a character that the
locale does not have becomes a likeness or `?`, and a stream that was closed (`| head`) is given up without ending the
run. JSON is pure ASCII, so it is right in every locale.

On a live terminal a few rows may stand below all lines: the area. The cursor rests at the area's first cell, so taking
it away is erasing from there on, however a resized terminal has broken its rows; and it is never hidden. What can hurt:
rows that are too wide would wrap and be miscounted, and a terminal may be narrower for a moment before it says so (tmux
takes a quarter of a second); so it is told to cut them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flower_mcp.cli.stream import USUAL_SIZE, Stream

SHORT = 200  # characters of a tool's line
_ERASE = "\r\x1b[J"  # from the cursor's row to the end of the screen; rich has no word for it, nor for these:
_CUT, _WRAP = "\x1b[?7l", "\x1b[?7h"  # what comes is cut at the right edge, or goes on in the next row

_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # colours and cursor moves go as a whole, not only their ESC
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all of C0 but newline and tab, DEL, all of C1


def clean(text: str) -> str:
    """The text without escape sequences and control characters; newlines and tabs stay."""
    return _CONTROL.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n")))


def shorten(text: str, longest: int = SHORT) -> str:
    """The text on one line, cut to `longest` characters with `…` at the end."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


class Output:
    """The two streams of a command. With `as_json`, text for people goes to stderr and JSON to stdout.

    `plain`, or the variable NO_COLOR: lines alone, without control codes, on a terminal too.

    On a live terminal an area of a few rows may stand below all lines.
    """

    def __init__(self, *, as_json: bool = False, plain: bool = False) -> None:
        self.as_json = as_json
        self._plain = plain or bool(os.environ.get("NO_COLOR"))
        self._programs = Stream(sys.stdout)
        self._people = Stream(sys.stderr if as_json else sys.stdout)
        self._area: tuple[str, ...] = ()  # its rows, as they are to be drawn
        self._area_size = USUAL_SIZE  # the terminal's, when they were made
        self._area_is_shown = False
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

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal that text for people goes to."""
        return self._people.size

    @contextmanager
    def live(self) -> Iterator[None]:
        """While entered, an area may be shown, and a slow terminal is not waited for."""
        with self._people.unhurried():
            try:
                yield
            finally:
                self.area(())

    def area(self, rows: Sequence[str], size: tuple[int, int] = USUAL_SIZE) -> None:
        """Show rows below everything else until they are replaced; none: take them away.

        Each is shown as it is, so it must be clean and narrower than the terminal, whose size was `size` when they were
        made. Nothing is drawn where that cannot be done, nor while the terminal has not taken what came before.
        """
        is_new = tuple(rows) != self._area or not self._area_is_shown
        self._area, self._area_size = tuple(rows), size
        if not self.is_live or not is_new or (rows and (self._people.is_busy or not self._area_fits)):
            return
        if drawn := self._taken_away() + self._drawn():
            self._people.write(drawn, end="")

    def hide(self) -> None:
        """Take the area away for now, and wait until it is gone: the screen is about to be somebody else's."""
        if taken := self._taken_away():
            self._people.write(taken, end="")
        self._people.settle()

    def answered(self) -> None:
        """The open line was ended by the person, with Enter."""
        self._line_is_open = False

    def bell(self) -> None:
        """Ring a terminal's bell, unless plain lines alone were asked for."""
        if self.is_terminal and not self._plain:
            self._people.write("\a", end="")

    @contextmanager
    def kept(self) -> Iterator[None]:
        """While entered, lines for people wait: the screen is an editor's."""
        self.hide()
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
        self._line_is_open = not text.endswith("\n")
        taken = self._taken_away()
        again = self._drawn() if taken and self._area_fits and not self._people.is_busy else ""
        self._people.write(taken + text + again, end="")

    @property
    def _area_fits(self) -> bool:
        """Whether the area may be drawn now: no question is open, and the terminal is ours and as large as it was."""
        is_free = self._kept is None and not self._line_is_open
        return is_free and self._people.size == self._area_size and self._people.is_in_front

    def _taken_away(self) -> str:
        """What takes the area away."""
        was_shown, self._area_is_shown = self._area_is_shown, False
        return _ERASE if was_shown and self._people.is_in_front else ""

    def _drawn(self) -> str:
        """What draws the area; the cursor goes back to its first cell."""
        if not self._area:
            return ""
        from rich.control import Control

        self._area_is_shown = True
        rows = "\n".join(self._area)
        return _CUT + rows + _WRAP + str(Control.move(0, 1 - len(self._area))) + "\r"

    def lines(self, lines: list[str]) -> None:
        """Write several lines for people."""
        if lines:
            self.line("\n".join(lines))

    def json(self, value: Mapping[str, Any]) -> None:
        """Write one JSON object on a line, if JSON was asked for."""
        if self.as_json:
            import json

            self._programs.write(json.dumps(value, default=str))


def complain(sentence: str) -> None:
    """Say on stderr why the command ends, on one line."""
    Stream(sys.stderr).write(f"flower: {shorten(clean(sentence), 2000)}")
