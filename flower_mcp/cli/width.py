"""How wide a text may be: as wide as the terminal, which COLUMNS may say otherwise.

As shutil has it, which brings three compressors along: a `--help` cannot wait for them.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from flower_mcp.cli.stream import USUAL_SIZE

HELP = (50, 100)  # columns: the least and the most of a help text, as click counts them


def terminal_width() -> int:
    """Columns of the terminal at stdout; the usual ones when there is none."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given) > 0:
        return int(given)
    columns = 0
    with suppress(AttributeError, OSError, ValueError):  # no stdout, a closed one, or one that is no terminal
        columns = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    return columns or USUAL_SIZE[0]


def help_width() -> int:
    """Columns of a help text, two less than there are."""
    least, most = HELP
    return max(min(terminal_width(), most) - 2, least)
