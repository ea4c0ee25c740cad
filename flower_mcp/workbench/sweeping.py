"""Temporary files that killed writers left: looked for at a step's start, and removed.

They are told by their name alone, `.<file>.<8 hex digits>.tmp`, which `files.py` gives and nobody else does. What can
hurt: a living writer's file has the same kind of name for a few milliseconds, and a text that was never told as
written is in no other place than that. So a young one stays, and a document, a draft or a version never goes.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

OLD = 60.0  # seconds; a write takes milliseconds, on a slow disk seconds
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp\Z", re.DOTALL)


def sweep(folder: Path, *, now: float, below: bool = True) -> tuple[Path, ...]:
    """Remove old temporary files of ours in `folder`, and `below` it; which these were. No link is followed.

    `now` in seconds since the epoch. What cannot be removed stays, and is no error: it is in nobody's way.
    """
    gone: list[Path] = []
    for place, folders, names in os.walk(folder):
        if not below:
            folders.clear()
        for path in (Path(place) / name for name in names if _TEMPORARY.match(name)):
            with suppress(OSError):
                facts = path.lstat()
                if stat.S_ISREG(facts.st_mode) and _is_mine(facts) and now - facts.st_mtime > OLD:
                    path.unlink()
                    gone.append(path)
    return tuple(gone)


def _is_mine(facts: os.stat_result) -> bool:
    """Whether this user wrote it; where nobody can tell, the folder is the user's own."""
    return not hasattr(os, "getuid") or facts.st_uid == os.getuid()
