"""stdin as the protocol's lines: every request can be parsed, and the end of stdin is the end of the process.

It knows lines of JSON, not what they ask. What can hurt: a client cuts a text between the two halves of a character,
and its JSON then holds half of one (`\\ud83c`). The SDK drops such a line without a word, and the caller waits for
ever; so the half becomes U+FFFD. And a client that has closed stdin may have stopped reading, too: the answer that is
under way then never leaves, so the process is given a moment and ended. Writes are whole at every instant.
"""

from __future__ import annotations

import os
import re
import threading
from typing import IO

GRACE = 1.0  # seconds after the end of stdin; an orderly end takes 0.2
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF = r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"{_PAIR}|(?P<half>{_HALF})|\\.", re.DOTALL)


def mended(line: str) -> str:
    """The line of JSON with U+FFFD for every escaped half of a character."""
    if "\\ud" not in line and "\\uD" not in line:
        return line
    return _ESCAPE.sub(lambda match: "\\ufffd" if match["half"] else match[0], line)


class Lines:
    """stdin's lines, mended. The process ends `GRACE` seconds after the last one, whatever is still under way."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def readline(self) -> str:
        """The next line, "" at the end."""
        line = self._file.readline()
        if not line:
            last = threading.Timer(GRACE, os._exit, (0,))
            last.daemon = True
            last.start()
        return mended(line)
