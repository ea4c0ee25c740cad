"""Draws docs/handoff.svg: what `flower demo` shows on a terminal while it hands off. `make picture`.

It runs the demo at a pseudo-terminal, gives what it prints to a terminal in memory (pyte), and has rich draw the screen
as it was a moment after the first successor began. It knows no event, and no text of ours but those that say when that
is. The picture loads nothing and names no folder of the machine that it was made on: the demo's home is shown as `~`.
What can hurt: a demo that never comes to that moment; that is an error, and the picture that there was stays.
"""

from __future__ import annotations

import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fcntl import ioctl
from itertools import groupby
from pathlib import Path
from termios import TIOCSWINSZ

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

PICTURE = Path(__file__).with_name("handoff.svg")
COLUMNS, ROWS = 100, 36
UNTIL = (
    "a new session takes over",
    "I take over",
    "· Read",
)  # as soon as the screen has these, in this order, it is drawn
_CHUNK = 65536  # bytes
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # rich would have it loaded from a server
_NAMES = {"brown": "yellow"}  # what pyte calls otherwise than rich


def recorded(command: list[str], environment: Mapping[str, str], folder: Path) -> list[bytes]:
    """Run a command in `folder` at a terminal of its own; what it printed, in the pieces in which that came.

    Raises CalledProcessError when it fails.
    """
    here, there = pty.openpty()
    ioctl(there, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    pieces: list[bytes] = []
    with subprocess.Popen(
        command, stdin=there, stdout=there, stderr=there, cwd=folder, env=dict(environment), start_new_session=True
    ) as process:
        os.close(there)
        with suppress(OSError):  # EIO: nobody has the other side open any more
            while piece := os.read(here, _CHUNK):
                pieces.append(piece)
        os.close(here)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, b"".join(pieces))
    return pieces


def screen_of(pieces: Iterable[bytes], until: Sequence[str], columns: int = COLUMNS, rows: int = ROWS) -> list[Text]:
    """The rows of a terminal as soon as all of `until` stand on it, in this order; empty ones at the end left out.

    Raises ValueError when that never happens.
    """
    screen = pyte.Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    awaited = re.compile(".*".join(map(re.escape, until)), re.DOTALL)
    for piece in pieces:
        stream.feed(piece)
        if awaited.search("\n".join(screen.display)):
            drawn = [_row(screen.buffer[number], columns) for number in range(rows)]
            while drawn and not drawn[-1].plain:
                drawn.pop()
            return drawn
    raise ValueError(f"the recording never shows, in this order: {', '.join(until)}")


def picture(rows: list[Text], columns: int = COLUMNS) -> str:
    """The rows as an SVG."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for row in rows:
        console.print(row, no_wrap=True, overflow="crop", highlight=False)
    return _FONT.sub("", console.export_svg(title="flower demo", unique_id="handoff"))


def _row(cells: Mapping[int, pyte.screens.Char], columns: int) -> Text:
    """A row of the terminal, its styles in rich's words."""
    text = Text()
    for style, same in groupby((cells[column] for column in range(columns)), key=_style):
        text.append("".join(cell.data for cell in same), style)  # the second cell of a wide character holds ""
    text.rstrip()
    return text


def _style(cell: pyte.screens.Char) -> Style:
    names = [name for name in ("bold", "italics", "underscore", "reverse") if getattr(cell, name)]
    words = {"italics": "italic", "underscore": "underline"}
    return Style.parse(" ".join(words.get(name, name) for name in names)) + Style(
        color=_colour(cell.fg), bgcolor=_colour(cell.bg)
    )


def _colour(name: str) -> str | None:
    """rich's name for a colour of pyte's, which are names, or six hex digits; None for the terminal's own."""
    if name == "default":
        return None
    if re.fullmatch("[0-9a-f]{6}", name):
        return f"#{name}"
    name = _NAMES.get(name, name)
    return f"bright_{_NAMES.get(name[6:], name[6:])}" if name.startswith("bright") else name


def main() -> None:
    """Record the demo and write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "HOME": folder,
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "FLOWER_LANG": "en",
            "TERM": "xterm-256color",
        }
        environment.pop("NO_COLOR", None)
        command = [sys.executable, "-m", "flower_mcp.cli.main", "demo", "--keep", str(Path(folder) / "demo")]
        pieces = [piece.replace(os.fsencode(folder), b"~") for piece in recorded(command, environment, Path(folder))]
    drawn = picture(screen_of(pieces, UNTIL))
    PICTURE.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
