"""Writes to a terminal beside the run, in order: one that is slow, or stopped with Ctrl-S, must not slow the work.

It must not know what it writes. What can hurt: what still waits when the process ends would be lost, so whoever begins
it ends it, which waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue


class Behind:
    """Gives texts to `write`, one after the other, in a thread of its own."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._given = self._written = 0
        self._queue: SimpleQueue[str | threading.Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="terminal", daemon=True)  # a stopped terminal is left
        self._thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether a text is still to be written."""
        return self._given != self._written

    def put(self, text: str) -> None:
        """Have a text written."""
        self._given += 1
        self._queue.put(text)

    def settle(self, limit: float | None = None) -> bool:
        """Wait until all is written; False after `limit` seconds."""
        done = threading.Event()
        self._queue.put(done)
        return done.wait(limit)

    def end(self) -> None:
        """Write the rest and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
            else:
                self._write(item)
                self._written += 1
