"""What is kept of interactive sessions, in the user's state folder: that a notice was given, and what they may hold.

A file each, named after the session's id. It must not know what a notice says, nor which window is right. What can
hurt: ids come from outside, so only those that are plain names are kept; the files would pile up, so old ones go. The
standard library alone: `flower hook` cannot wait for more.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flower_mcp.core.errors import FlowerError
from flower_mcp.workbench.files import SAFE, make_folder, read_whole, write_whole
from flower_mcp.workbench.windows import state_folder

SESSIONS, SAID, NOTED = "sessions", ".said", ".json"
LASTS = 30 * 86_400.0  # seconds that a session which is not heard of any more is remembered
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True, slots=True)
class Noted:
    """What the status line was told of a session, in tokens: its window and its context; 0 where it was not told."""

    window: int = 0
    context: int = 0


class Sessions:
    """The sessions of a user. Making the object touches nothing on disk. Nothing here raises.

    `folder` is the user's state folder, by default the one that the environment says.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = (state_folder() if folder is None else folder) / SESSIONS

    def is_said(self, session_id: str) -> bool:
        """Whether the session was given its notice; also where that can never be kept."""
        path = self._path(session_id, SAID)
        return path is None or os.path.lexists(path)

    def say(self, session_id: str) -> bool:
        """The session is given its notice now. False: it was given before, or it cannot be kept that it is."""
        path = self._path(session_id, SAID)
        if path is not None:
            with suppress(OSError, FlowerError):
                make_folder(self._folder)
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFE, 0o600))
                return True
        return False

    def note(self, session_id: str, noted: Noted) -> None:
        """Keep what the status line was told."""
        path = self._path(session_id, NOTED)
        if path is None or self.noted(session_id) == noted:
            return
        with suppress(FlowerError):
            make_folder(self._folder)
            value = {"window": noted.window, "context": noted.context}
            write_whole(path, (json.dumps(value) + "\n").encode(), durable=False)

    def noted(self, session_id: str) -> Noted:
        """What the status line was told last; zeros when it never was."""
        path, value = self._path(session_id, NOTED), None
        with suppress(FlowerError, ValueError, RecursionError):
            value = json.loads((read_whole(path) if path else None) or b"{}")
        fields = value if isinstance(value, dict) else {}
        window, context = (each if type(each := fields.get(key)) is int else 0 for key in ("window", "context"))
        return Noted(window, context)

    def clean(self) -> None:
        """Remove what is kept of sessions that were not heard of for thirty days."""
        before = time.time() - LASTS
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.name.endswith((SAID, NOTED)) and entry.stat(follow_symlinks=False).st_mtime < before:
                        os.unlink(entry.path)  # noqa: PTH108  # a path made for it takes as long again

    def _path(self, session_id: str, extension: str) -> Path | None:
        return self._folder / f"{session_id}{extension}" if _ID.fullmatch(session_id) else None
