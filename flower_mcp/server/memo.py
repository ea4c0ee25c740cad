"""What was made of a file, kept as long as the file stays as it was.

It knows signatures of files, not what they hold. What can hurt: a file that is written twice within a tick of its clock
has another text and the same signature, so what was made of a file that changed just now is not given by its signature;
whoever has read the file again may still ask for the last value and compare.
"""

from __future__ import annotations

import os
import time
from typing import Generic, TypeVar

Signature = tuple[int, int, int]
Stamp = tuple[Signature | None, ...]

_SETTLED = 100_000_000  # nanoseconds; ten ticks of the coarsest clock of a local file system
_Value = TypeVar("_Value")


def signature(facts: os.stat_result) -> Signature:
    """What changes whenever a file is replaced or written."""
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def is_settled(stamp: Stamp) -> bool:
    """Whether files with these signatures can be known by them from now on. None stands for no file."""
    return all(one is None or time.time_ns() - one[0] > _SETTLED for one in stamp)


class Memo(Generic[_Value]):
    """Values by name, each with the stamp of the files that it was made of; the oldest goes when there are too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[str, tuple[Stamp | None, _Value]] = {}

    def get(self, name: str, stamp: Stamp) -> _Value | None:
        """The value, if it was made of these very files."""
        found = self._values.get(name)
        return found[1] if found is not None and found[0] == stamp else None

    def last(self, name: str) -> _Value | None:
        """The value that was kept last, whatever has become of its files."""
        found = self._values.get(name)
        return None if found is None else found[1]

    def put(self, name: str, stamp: Stamp | None, value: _Value) -> None:
        """Keep a value; of files that are too young, or without a stamp, it is the last one and no more."""
        self._values.pop(name, None)
        self._values[name] = (stamp if stamp is not None and is_settled(stamp) else None, value)
        if len(self._values) > self._most:
            self._values.pop(next(iter(self._values)), None)
