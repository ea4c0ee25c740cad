"""events.jsonl: what happened, one JSON object a line, only ever appended to.

It must not know what an event means. What can hurt: several supervisors append to one file, so lines go out whole in
one write; a kill or a full disk may leave a torn line, which the next writer ends and readers pass over.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from flower_mcp.workbench.files import SAFE, restrict, telling, write_all
from flower_mcp.workbench.json_files import dump_masked
from flower_mcp.workbench.transcripts import lines_backwards

MOST = 16 * 2**20  # bytes in which the last events are looked for: a power cut may leave a long hole behind them


def append(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Append the objects, secrets masked, in one write. The folder must exist. Raises FilesError."""
    data = "".join(dump_masked(line) + "\n" for line in lines).encode()
    if not data:
        return
    with telling(path, "written"):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | SAFE, 0o600)
        try:
            restrict(descriptor)
            if _torn(descriptor):
                data = b"\n" + data
            write_all(descriptor, data)  # one write; more only when the system takes less than it was given
        finally:
            os.close(descriptor)


def tail(path: Path, number: int) -> tuple[dict[str, Any], ...]:
    """The last `number` events, oldest first. Only the end of the file is read, MOST bytes of it at most."""
    return tuple(islice(lines_backwards(path, most=MOST), number))[::-1]


def _torn(descriptor: int) -> bool:
    """Whether the file ends within a line."""
    size = os.fstat(descriptor).st_size
    if not size:
        return False
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1) != b"\n"
