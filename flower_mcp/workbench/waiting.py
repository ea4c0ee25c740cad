"""The documents of a workspace as a hook finds them at the start of a session: what lies there, and who works on it.

It looks and changes nothing. It must not know what follows (core/waiting.py decides), and needs the standard library
alone, since it runs at every start of an interactive session and behind every status line. What can hurt: there may be
a thousand steps, so only the newest are opened; a file that cannot be read is passed over, never set aside; and a link
that leads out of the workspace is not followed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from flower_mcp.core.errors import FlowerError
from flower_mcp.core.waiting import Lying
from flower_mcp.workbench.files import inside, read_whole, read_with_time, revision
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.locks import is_held
from flower_mcp.workbench.names import DOCUMENT, LONGEST, MARKDOWN, TASK, file_name
from flower_mcp.workbench.taken import Taken

FOLDER, NOTES, LIVE = ".flower", "notes", "live"
STATE, LOCK = ".json", ".lock"
LOOKED_AT = 50  # steps, the ones that changed last
_MARKED = re.compile(r"-[0-9a-f]{6}$")  # how the files of a step end whose name is no file's name


@dataclass(frozen=True, slots=True)
class Found:
    """A step as it lies there. `path` and `data` are its document's; b"" where there is none."""

    lying: Lying
    path: Path
    data: bytes = b""


class Waiting:
    """The steps of one workspace. `home` is its workbench, None when there is none. Making the object only looks."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace.resolve()
        self.home = _home(self.workspace)
        self._known = Known()

    def found(self) -> tuple[Found, ...]:
        """The steps that changed last, those with a document and those that somebody runs."""
        if self.home is None:
            return ()
        changed = [*_entries(self.home / NOTES, DOCUMENT, MARKDOWN), *_entries(self.home / LIVE, "", LOCK)]
        newest = dict.fromkeys(name for name, _ in sorted(changed, key=lambda one: one[1], reverse=True))
        steps = (self._step(self.home, name) for name in islice(newest, LOOKED_AT))
        return tuple(step for step in steps if step is not None)

    def taken(self) -> Taken:
        """What was given of the documents here; only where there is a workbench."""
        home = self.home or self.workspace / FOLDER
        return Taken(home, home / LIVE)

    def words(self, found: Found) -> str:
        """All that the person said to the step; "" when nothing was, or when it was not written here."""
        path = found.path.with_name(found.path.name.replace(DOCUMENT, TASK, 1))
        data = None
        with suppress(FlowerError):
            data = read_whole(inside(self.home or self.workspace, path))
        if data is None:
            return ""
        is_ours = self._known.step(self.workspace, found.lying.step) or self._known.revision(revision(data))
        return text_of(data) if is_ours else ""

    def _step(self, home: Path, name: str) -> Found | None:
        """One step by its files' name; None when nothing of it is to be told, or when it cannot be read."""
        path = home / NOTES / f"{DOCUMENT}{name}{MARKDOWN}"
        with suppress(FlowerError, OSError):
            lock = inside(home, home / LIVE / f"{name}{LOCK}")
            document = read_with_time(inside(home, path))
            data, written_at = document if document is not None else (b"", 0.0)
            held = is_held(lock)
            if not held and not data.strip():
                return None
            live = _live(home, name)
            step = _true_name(name, live)
            now = revision(data) if data.strip() else ""
            lying = Lying(
                step=step,
                revision=now,
                written_at=written_at,
                taken=self._taken(step) if file_name(step) == name else "",
                launched=_launched(live),
                is_held=held,
                is_known=self._known.document(self.workspace, step, now),
                state=str(live.get("state") or ""),
            )
            return Found(lying, path, data)
        return None

    def _taken(self, step: str) -> str:
        """What was given of it; "" also where that cannot be read: twice is better than never."""
        with suppress(FlowerError):
            return self.taken().read(step)
        return ""


def text_of(data: bytes) -> str:
    """What a file's bytes say, in whatever encoding a person saved them."""
    from flower_mcp.core.decode import decode

    return decode(data).text


def _home(workspace: Path) -> Path | None:
    """The workbench's folder, when there is one and no link leads out of the workspace."""
    with suppress(OSError, RuntimeError):
        home = (workspace / FOLDER).resolve()
        if workspace in home.parents and home.is_dir():
            return home
    return None


def _entries(folder: Path, prefix: str, suffix: str) -> Iterator[tuple[str, float]]:
    """The files of that kind: the step's part of their names, and when they changed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(suffix):
                name = entry.name[len(prefix) : -len(suffix)]
                with suppress(OSError):
                    if _is_ours(name):
                        yield name, entry.stat(follow_symlinks=False).st_mtime


def _is_ours(name: str) -> bool:
    """Whether a step's files can have this name; any other is somebody else's, and may be words for a model."""
    is_short = len(name.encode("utf-8", "surrogateescape")) <= LONGEST
    return is_short and (file_name(name) == name or _MARKED.search(name) is not None)


def _live(home: Path, name: str) -> dict[str, Any]:
    """The step's live state as plain JSON; empty when there is none, or none that can be read."""
    value: object = None
    with suppress(FlowerError, ValueError, RecursionError):
        value = json.loads(read_whole(inside(home, home / LIVE / f"{name}{STATE}")) or b"")
    return value if isinstance(value, dict) else {}


def _true_name(name: str, live: dict[str, Any]) -> str:
    """The step's name, which only the live state knows when the files' name is not the name itself."""
    step = live.get("step")
    return step if isinstance(step, str) and file_name(step) == name else name


def _launched(live: dict[str, Any]) -> frozenset[str]:
    """The revisions that the live state says were launched."""
    row = live.get("row")
    generations = row.get("generations") if isinstance(row, dict) else None
    found = generations if isinstance(generations, list) else []
    launched = (one.get("launched") for one in found if isinstance(one, dict))
    return frozenset(each for each in launched if isinstance(each, str))
