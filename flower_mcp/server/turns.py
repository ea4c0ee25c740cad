"""Worker threads for the tools: as many as there are for reading, and one at a time for writing.

It knows neither the workbench nor MCP. What can hurt: a thousand calls may come at once while a stopped program holds a
lock that writers wait for. Writers wait their turn without a thread, so that reading goes on; and when one of them has
waited for that lock in vain, those who stood behind him are told so at once, since each would wait as long again. The
threads for reading are not those in which the wire is read and written; one writer at a time takes one of those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from flower_mcp.core.errors import LockTimeout

THREADS = 32
_Result = TypeVar("_Result")


class Turns:
    """The threads of one server's tools."""

    def __init__(self) -> None:
        self._threads = anyio.CapacityLimiter(THREADS)
        self._writer = anyio.Lock()
        self._came = 0  # writers so far
        self._refused: tuple[int, LockTimeout] | None = None  # how many had come when one had waited in vain

    async def read(self, work: Callable[[], _Result]) -> _Result:
        """Run work that writes nothing."""
        return await anyio.to_thread.run_sync(work, limiter=self._threads)

    async def write(self, work: Callable[[], _Result]) -> _Result:
        """Run work that writes, after the work of those who came before. Raises LockTimeout, and what `work` raises."""
        self._came += 1
        number = self._came
        async with self._writer:
            if self._refused is not None and number <= self._refused[0]:
                raise self._refused[1]
            try:
                return await anyio.to_thread.run_sync(work)
            except LockTimeout as error:
                self._refused = (self._came, error)
                raise
