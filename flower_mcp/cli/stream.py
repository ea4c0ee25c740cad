"""A stream of this process: a file, a pipe or a terminal, which may lack characters, be slow, or go away.

It must not know what is written. What can hurt: an encoding without a character would raise in the middle of a line, so
a likeness or `?` takes its place; and a stream that was closed (`| head`) is given up without ending the run.
"""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from flower_mcp.cli.behind import Behind

SETTLE = 2.0  # seconds for a terminal to take what waits before somebody else gets its screen
USUAL_SIZE = (80, 24)  # columns and rows of a terminal that tells none

# What our own texts have beyond ASCII, for locales without it.
_LIKE = {
    **dict.fromkeys("\u2014\u2013\u2500\u00b7", "-"), "\u2026": "...", "\u2502": "|", "\u2588": "#", "\u2591": "-",
    **dict.fromkeys("\u2018\u2019", "'"), **dict.fromkeys("\u201c\u201d", '"'), "\u2192": "->", "\u00d7": "x",
}  # fmt: skip
_ERRORS = "flower-likeness"


def _likeness(error: UnicodeError) -> tuple[str, int]:
    """An error handler for encodings: characters that look alike, else `?`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_LIKE.get(char, "?") for char in lacking), error.end


codecs.register_error(_ERRORS, _likeness)


class Stream:
    """A stream that may be missing or closed at any time; then what is written is dropped."""

    def __init__(self, file: TextIO | None) -> None:
        self._file = file
        self._behind: Behind | None = None
        if isinstance(file, io.TextIOWrapper):
            file.reconfigure(errors=_ERRORS, line_buffering=True)

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

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal at the other end."""
        try:
            columns, rows = os.get_terminal_size(self._file.fileno()) if self._file is not None else USUAL_SIZE
        except (OSError, ValueError):
            return USUAL_SIZE
        return columns or USUAL_SIZE[0], rows or USUAL_SIZE[1]

    @property
    def is_in_front(self) -> bool:
        """Whether this process has the terminal; in the background its screen is the shell's."""
        try:
            return self._file is not None and os.tcgetpgrp(self._file.fileno()) == os.getpgrp()
        except (OSError, ValueError):  # not our controlling terminal
            return self.is_terminal

    @property
    def is_busy(self) -> bool:
        """Whether it is still being written to."""
        return self._behind is not None and self._behind.is_busy

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        """While entered, nobody waits for what is written, which comes in order. At the end all of it is waited for."""
        self._behind = Behind(self._write)
        try:
            yield
        finally:
            behind, self._behind = self._behind, None
            behind.end()

    def settle(self) -> None:
        """Wait a little for what was written to be there."""
        if self._behind is not None:
            self._behind.settle(SETTLE)

    def write(self, line: str, *, end: str = "\n") -> None:
        """Write a line, at once or as soon as the terminal takes it."""
        if self._behind is not None:
            self._behind.put(line + end)
        else:
            self._write(line + end)

    def _write(self, text: str) -> None:
        if self._file is None:
            return
        try:
            self._file.write(text)
            self._file.flush()
        except (OSError, ValueError):  # ValueError: closed in this process
            self._file = None
