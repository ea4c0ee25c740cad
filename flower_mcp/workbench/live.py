"""live/: what a step is doing now, what happened, what is said to it, and its draft.

It must not know what a state leads to. The folder may be the workbench's or, without a workbench, `live` in the run
folder. What can hurt: a step whose supervisor was killed still says `working`, so a reader looks at the run lock; and a
file that cannot be read is set aside only by whoever holds that lock, since else it may be a supervisor's newest one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from flower_mcp.core.books import FORMAT, LiveStep, State
from flower_mcp.core.errors import FilesError
from flower_mcp.workbench import archive as archives
from flower_mcp.workbench import drafts, inbox, journal
from flower_mcp.workbench.book_text import text_of
from flower_mcp.workbench.drafts import Draft
from flower_mcp.workbench.files import create, entries, inside, make_folder, make_home, read_whole, write_whole
from flower_mcp.workbench.inbox import Message, Waiting
from flower_mcp.workbench.json_files import read_json_file, set_aside
from flower_mcp.workbench.locks import PATIENCE, RunLock, is_held, write_lock
from flower_mcp.workbench.names import file_name

EVENTS = "events.jsonl"


def _silent(_note: str) -> None:
    """Where nobody wants to hear."""


class Live:
    """The live state of all steps in one folder. Making the object touches nothing on disk.

    `home` is the folder of ours that gets a `.gitignore` (default: the folder itself); `archive` is where replaced
    drafts are kept (default: they are not); `say` gets sentences about files that could not be read;
    `patience`: seconds to wait for a write lock.
    """

    def __init__(
        self,
        folder: Path,
        *,
        home: Path | None = None,
        archive: Path | None = None,
        say: Callable[[str], None] = _silent,
        patience: float = PATIENCE,
    ) -> None:
        self.folder = folder
        self.patience = patience
        self.home = home or folder
        self.archive = archive
        self.say = say

    def read(self, step: str, *, owner: bool = False) -> LiveStep | None:
        """What the step is doing; state `lost` when it has not ended and nobody holds its run lock.

        `owner`: the caller holds that lock, and gets the state as it was written. None when nothing is known; a file
        that cannot be read is set aside, one of a newer flower-mcp is left alone, and `say` is told. Raises FilesError.
        """
        data = self._owned_data(step) if owner else self._data(step)
        live = None if data is None else self._parsed(step, data, owner=owner)
        if live is None or owner or not _can_be_lost(live) or is_held(self.run_lock(step).path):
            return live
        again = self._data(step)  # it may have ended between the two looks
        if again is not None and again != data:
            return self.read(step)
        return replace(live, state=State.LOST)

    def is_newer(self, step: str) -> bool:
        """Whether the step's file was written by a newer flower-mcp, and so must be left alone. Raises FilesError."""
        data = self._data(step)
        return data is not None and _format(data) > FORMAT

    def write(self, live: LiveStep, *, durable: bool = False) -> None:
        """Replace what is known of the step; `durable` when it must survive a loss of power. Raises FilesError."""
        data = text_of(live) + "\n"
        write_whole(self._ready(self._path(live.step, ".json")), data.encode(), durable=durable)

    def begin(self, live: LiveStep) -> bool:
        """Write down a step of which nothing was known; False, and nothing is written, when something is there."""
        data = text_of(live) + "\n"
        return create(self._ready(self._path(live.step, ".json")), data.encode())

    def steps(self) -> tuple[str, ...]:
        """The true names of all steps of which something is known, the last to change first. Raises FilesError."""
        found: list[tuple[float, str]] = []
        for entry in entries(self.folder):
            if entry.name.endswith(".json") and entry.is_file(follow_symlinks=False):
                with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                    step = json.loads(Path(entry.path).read_bytes())["step"]
                    if isinstance(step, str) and entry.name == f"{file_name(step)}.json":
                        found.append((entry.stat().st_mtime, step))
        return tuple(step for _, step in sorted(found, key=lambda one: one[0], reverse=True))

    def path(self, step: str) -> Path:
        """Where the step's state lies. For its name alone: whoever reads or writes looks for links first."""
        return self.folder / f"{file_name(step)}.json"

    @property
    def events_path(self) -> Path:
        """Where the events of all steps lie; for its name alone."""
        return self.folder / EVENTS

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Append lines to events.jsonl (core/events.py makes them). Raises FilesError."""
        journal.append(self._ready(inside(self.home, self.folder / EVENTS)), lines)

    def tail(self, number: int) -> tuple[dict[str, Any], ...]:
        """The last `number` events of all steps, oldest first."""
        return journal.tail(inside(self.home, self.folder / EVENTS), number)

    def write_draft(self, step: str, text: str) -> Draft:
        """Keep a handoff that a session wrote by tool while its step runs. Raises FilesError, LockTimeout."""
        path = self._ready(self._path(step, ".draft.md"))
        if self.archive is not None:
            make_folder(inside(self.home, self.archive))
        with self.write_lock(step):
            names = None if self.archive is None else archives.names(self.archive, file_name(step))
            return drafts.write(path, text, names)

    def read_draft(self, step: str) -> Draft | None:
        """The step's draft, None when there is none. Raises FilesError."""
        return drafts.read(self._path(step, ".draft.md"))

    def remove_draft(self, step: str, revision: str | None = None) -> bool:
        """Remove the draft once it is frozen; with a revision, only if it is still that one. Whether it was removed."""
        path = self._path(step, ".draft.md")
        if not path.exists():
            return False
        with self.write_lock(step):
            draft = drafts.read(path)
            if draft is None or revision not in (None, draft.revision):
                return False
            path.unlink()
            return True

    def put(self, step: str, message: Message) -> Path:
        """Leave a message in the step's inbox. Raises FilesError."""
        return inbox.put(self._ready(self._path(step, ".inbox")), message)

    def take(self, step: str, record: Callable[[Message], None] | None = None) -> tuple[Message, ...]:
        """The step's messages in order, each removed after `record` has returned. Raises FilesError."""
        return inbox.take(self._path(step, ".inbox"), record, self.say)

    def waiting(self, step: str) -> tuple[Waiting, ...]:
        """The step's messages in order; they stay until they are removed. Raises FilesError."""
        if not os.path.lexists(f"{self.folder}{os.sep}{file_name(step)}.inbox"):  # mostly, four times a second
            return ()
        return inbox.waiting(self._path(step, ".inbox"), self.say)

    def put_away_draft(self, step: str) -> Path | None:
        """Move the step's draft to the archive, for a step that begins anew; where it went. Raises FilesError."""
        path = self._path(step, ".draft.md")
        if self.archive is None or not path.exists():
            return None
        make_folder(inside(self.home, self.archive))
        with self.write_lock(step):
            return drafts.put_away(path, archives.names(self.archive, file_name(step)))

    def run_lock(self, step: str) -> RunLock:
        """The lock to hold as long as the step runs; acquiring it makes the folder."""
        return RunLock(self._path(step, ".lock"), self.prepare)

    def write_lock(self, step: str) -> AbstractContextManager[None]:
        """A context manager that holds the lock for one freeze or edit. Raises LockTimeout."""
        return write_lock(self._ready(self.write_lock_path(step)), self.patience)

    def write_lock_path(self, step: str) -> Path:
        """Where the write lock lies. Raises FilesError."""
        return self._path(step, ".write")

    def prepare(self) -> None:
        """Make the folder. Raises FilesError."""
        make_home(self.home)
        make_folder(self.folder)

    def _path(self, step: str, extension: str) -> Path:
        return inside(self.home, self.folder / f"{file_name(step)}{extension}")

    def _ready(self, path: Path) -> Path:
        """The path, its folder made."""
        if not os.path.isdir(self.folder) or not os.path.lexists(f"{self.home}{os.sep}.gitignore"):  # noqa: PTH112
            self.prepare()
        return path

    def _data(self, step: str) -> bytes | None:
        return read_whole(self._path(step, ".json"))

    def _owned_data(self, step: str) -> bytes | None:
        """The file's bytes for the holder of the run lock: what is no such file is set aside, and stops nobody."""
        path = self._path(step, ".json")
        try:
            return read_json_file(path)
        except ValueError as error:
            with self._telling(path, str(error)):
                set_aside(path)
            return None

    def _parsed(self, step: str, data: bytes, *, owner: bool) -> LiveStep | None:
        """The value, or None and a sentence about what was done with the file."""
        try:
            return _checked(data)
        except ValueError as error:
            path = self._path(step, ".json")
            if _format(data) > FORMAT:
                self.say(f"{path} was written by a newer flower-mcp and is left alone.")
            else:
                with self._telling(path, str(error).splitlines()[0]):
                    self._set_aside(step, data, owner=owner)
            return None

    @contextmanager
    def _telling(self, path: Path, why: str) -> Iterator[None]:
        """Say that a file counts for nothing, also where it cannot be set aside."""
        try:
            yield
            more = ""
        except FilesError as error:
            more = f" It could not be set aside: {error}"
        self.say(f"{path} could not be read and counts for nothing ({why}).{more}")

    def _set_aside(self, step: str, data: bytes, *, owner: bool) -> None:
        """Set the step's file aside, unless somebody else runs the step or has written a new one."""
        lock = self.run_lock(step)
        if owner or lock.acquire():
            try:
                if self._data(step) == data:
                    set_aside(self._path(step, ".json"))
            finally:
                lock.release()


def fault_of(data: bytes) -> str:
    """Why these bytes are no live state, in a few words; "" when they are one, or a newer flower-mcp's."""
    try:
        _checked(data)
    except ValueError as error:
        return "" if _format(data) > FORMAT else str(error).splitlines()[0]
    return ""


def _can_be_lost(live: LiveStep) -> bool:
    """Whether somebody ought to be running the step."""
    return not live.state.ended and live.state is not State.IDLE


def _checked(data: bytes) -> LiveStep:
    """Raises ValueError."""
    value: LiveStep = _adapter().validate_json(data)
    return value


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(LiveStep)


def _format(data: bytes) -> int:
    """The file's format; 0 when it does not say."""
    with suppress(ValueError, RecursionError):
        value = json.loads(data)
        if isinstance(value, dict) and type(value.get("v")) is int:
            return int(value["v"])
    return 0
