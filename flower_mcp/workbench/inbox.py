"""A step's inbox: what people and programs say to a step while it runs, a file each, taken in order.

It must not know what a message leads to. What can hurt: the words in it are a person's, so a message is removed only
after its taker has recorded it, and one that cannot be read is set aside, not removed.
"""

from __future__ import annotations

import json
import string
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from flower_mcp.core.books import iso, seconds
from flower_mcp.workbench.files import create, entries, make_folder, read_whole, telling
from flower_mcp.workbench.json_files import dump, set_aside
from flower_mcp.workbench.names import TIMESTAMP, timestamp, timestamp_seconds

_SUFFIX = ".json"
_TICK = 1e-6  # seconds: the resolution of a timestamp


class Asks(StrEnum):
    """What a message asks for."""

    SAY = "say"
    HANDOFF = "handoff"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `at` is ISO 8601, `by` says who sent it, `text` is word for word."""

    at: str
    by: str
    kind: Asks
    text: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits in its file. `stamp` is the file's name without its end: never that of another one."""

    path: Path
    stamp: str
    message: Message

    @property
    def at(self) -> str:
        """When it was said, ISO 8601: as the sender says, or else as the file's name does."""
        with suppress(ValueError):
            if not set(self.message.at) & set(string.whitespace):
                seconds(self.message.at)
                return self.message.at
        return iso(timestamp_seconds(self.stamp))

    def remove(self) -> None:
        """Take it out of the inbox, once nothing more is to be done for it. Raises FilesError."""
        with telling(self.path, "removed"):
            self.path.unlink(missing_ok=True)


def put(folder: Path, message: Message) -> Path:
    """Leave a message: the file's name is a time later than that of every message that waits. Raises FilesError."""
    make_folder(folder)
    waiting = _stamps(folder)
    moment = max(time.time(), timestamp_seconds(waiting[-1]) + _TICK if waiting else 0.0)
    data = (dump(asdict(message)) + "\n").encode()
    while not create(path := folder / f"{timestamp(moment)}{_SUFFIX}", data):
        moment += _TICK
    return path


def waiting(folder: Path, say: Callable[[str], None] | None = None) -> tuple[Waiting, ...]:
    """All messages that wait, oldest first; they stay. What cannot be read is set aside and told to `say`.

    Raises FilesError.
    """
    found = []
    for stamp in _stamps(folder):
        path = folder / f"{stamp}{_SUFFIX}"
        data = read_whole(path)
        if data is None:
            continue
        try:
            found.append(Waiting(path, stamp, _message(data)))
        except (ValueError, TypeError, RecursionError) as error:
            aside = set_aside(path)
            if say is not None:
                say(f"A message to a step could not be read ({error}); it is kept as {aside}.")
    return tuple(found)


def take(
    folder: Path, record: Callable[[Message], None] | None = None, say: Callable[[str], None] | None = None
) -> tuple[Message, ...]:
    """All messages that wait, oldest first; each is given to `record` and then removed.

    So a kill in between delivers a message twice rather than never.
    """
    taken = []
    for one in waiting(folder, say):
        if record is not None:
            record(one.message)
        one.remove()
        taken.append(one.message)
    return tuple(taken)


def _stamps(folder: Path) -> list[str]:
    """The timestamps of the waiting messages, oldest first; files with other names are not ours. Raises FilesError."""
    names = (entry.name.removesuffix(_SUFFIX) for entry in entries(folder) if entry.name.endswith(_SUFFIX))
    return sorted(name for name in names if TIMESTAMP.fullmatch(name) and _has_next(name))


def _has_next(stamp: str) -> bool:
    """Whether it names a moment, and one that a later message's name can follow."""
    try:
        return timestamp(timestamp_seconds(stamp) + _TICK) > stamp
    except (ValueError, OverflowError):
        return False


def _message(data: bytes) -> Message:
    """Raises ValueError, TypeError."""
    value = json.loads(data)
    fields = {key: value[key] for key in ("at", "by", "kind", "text") if key in value}
    if not all(isinstance(text, str) for text in fields.values()):
        raise ValueError("its fields are not texts")
    return Message(**{**fields, "kind": Asks(fields.get("kind", ""))})
