"""What a person says about the next launch, on disk: hold it, let it go, launch it as it stands, I have it open.

Any process may say it and any process may read it: `flower hold` in another terminal, the run's own keys, `flower
edit`. It must not know windows or sessions. What can hurt: whoever holds may be gone for days, which is meant to hold;
whoever has the document open may be killed, so a lease is a lock of the kernel's and is free when its owner is dead.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from flower_mcp.core.books import State, iso
from flower_mcp.core.errors import FlowerError
from flower_mcp.workbench.files import inside, read_with_time, telling, write_whole
from flower_mcp.workbench.json_files import dump
from flower_mcp.workbench.live import Live
from flower_mcp.workbench.locks import RunLock, is_held
from flower_mcp.workbench.names import file_name

_WAITING = (State.EDITING, State.HELD)


@dataclass(frozen=True, slots=True)
class Hold:
    """A held launch: since when (ISO 8601) and by whom, in words for people."""

    since: str
    by: str


@dataclass(frozen=True, slots=True)
class Said:
    """What lies in `<step>.hold`. `held`: wait. `as_is`: launch what stands there; `revision` is what stood there."""

    since: str
    by: str
    held: bool = True
    as_is: bool = False
    revision: str | None = None


class Holds:
    """The holds and leases of the steps whose live state lies in `lives`. Making the object touches nothing on disk."""

    def __init__(self, lives: Live) -> None:
        self._lives = lives

    def hold(self, step: str, by: str) -> None:
        """Keep the step's successor from starting until `release`. Held already: nothing changes. Raises FilesError."""
        if self.state(step) is None:
            self._write(step, Said(iso(time.time()), by))

    def release(self, step: str, *, as_is: bool = False, by: str = "release") -> bool:
        """Let the successor start. Whether anything was held or, with `as_is`, waiting.

        `as_is`: what stands in the document now is launched, whatever is wrong with it; it takes effect only while the
        step's supervisor waits at its window. Raises FilesError.
        """
        was_held = self.state(step) is not None
        waiting = as_is and self._is_waiting(step)
        if waiting:
            self._write(step, Said(iso(time.time()), by, held=False, as_is=True, revision=self._revision(step)))
        else:
            self.clear(step)
        return was_held or waiting

    def state(self, step: str) -> Hold | None:
        """Since when and by whom the step is held; None when it is not."""
        said = self.read(step)
        return Hold(said.since, said.by) if said is not None and said.held else None

    def read(self, step: str) -> Said | None:
        """What was said and not cleared yet; None when nothing was, or when it cannot be read."""
        try:
            found = read_with_time(self._path(step))
        except FlowerError:
            return None
        if found is None:
            return None
        value: object = None
        with suppress(ValueError, RecursionError):
            value = json.loads(found[0])
        said = value if isinstance(value, dict) else {}  # a file that says nothing legible still says: wait
        return Said(
            str(said.get("since") or iso(found[1])),
            str(said.get("by") or "somebody"),
            held=bool(said.get("held", True)),
            as_is=said.get("as_is") is True,
            revision=said["revision"] if isinstance(said.get("revision"), str) else None,
        )

    def clear(self, step: str) -> None:
        """Take away whatever was said. Raises FilesError."""
        path = self._path(step)
        with telling(path, "removed"):
            path.unlink(missing_ok=True)

    @contextmanager
    def lease(self, step: str) -> Iterator[None]:
        """While entered, the document counts as open with unsaved changes. Raises FilesError."""
        path = self._path(step, f".lease-{os.getpid()}")
        lock = RunLock(path, self._lives.prepare)
        mine = lock.acquire()  # False: this process has it open already
        try:
            yield
        finally:
            if mine:
                path.unlink(missing_ok=True)
                lock.release()

    def is_leased(self, step: str) -> bool:
        """Whether a living process has the document open by `lease`. What dead ones left is removed."""
        found = False
        pattern = re.compile(re.escape(file_name(step)) + r"\.lease-\d+$")
        with suppress(OSError), os.scandir(self._lives.folder) as entries:
            for entry in entries:
                if ".lease-" in entry.name and pattern.match(entry.name):
                    found = self._is_living(Path(entry.path)) or found
        return found

    def _is_living(self, path: Path) -> bool:
        try:
            held = is_held(path)
        except FlowerError:
            return False
        if not held:
            with suppress(OSError):
                path.unlink()
        return held

    def _is_waiting(self, step: str) -> bool:
        live = self._lives.read(step)
        return live is not None and live.state in _WAITING

    def _revision(self, step: str) -> str | None:
        live = self._lives.read(step)
        return live.document.revision if live is not None and live.document is not None else None

    def _write(self, step: str, said: Said) -> None:
        self._lives.prepare()
        write_whole(self._path(step), (dump(asdict(said)) + "\n").encode())

    def _path(self, step: str, extension: str = ".hold") -> Path:
        return inside(self._lives.home, self._lives.folder / f"{file_name(step)}{extension}")
