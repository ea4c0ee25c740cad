"""The last thing that `flower` does: a closed output ends it without a traceback. Apart, so that help loads no more."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


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
