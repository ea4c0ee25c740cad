"""The watchdog over one session: a CLI that says nothing while it ought to is interrupted, and given up if that fails.

Whatever the CLI sends is a sign of life, its own notes on retries among them. It need say nothing while a tool or an
agent runs, while a person is asked for permission, and when no turn is under way. It decides on nothing else: the turn
that it ended, or the process that it gave up, is told to the step like any other, as one that was silent.

What can hurt: the CLI itself gives up a request without an answer after 360 s, and a stream that stands still after
300 s (seen with 2.1.332), so a limit below these would cut off what it is about to mend.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio

from flower_mcp.core.failures import Outcome
from flower_mcp.runtime.reader import Reader

ANSWER_LIMIT = 10.0  # seconds for an interrupted turn to give its result; it takes 0.02 s


class Watchdog:
    """Watches one session's reader. `stall`: seconds of silence (0: it never bites); `asks`: a person is asked now."""

    def __init__(self, reader: Reader, stall: float, asks: Callable[[], bool] = lambda: False) -> None:
        self._reader = reader
        self._stall = stall
        self._asks = asks

    async def run(self, interrupt: Callable[[], Awaitable[None]]) -> Outcome:
        """Watch until the CLI is to be given up; how it ended then. A turn that can be interrupted does not end it."""
        while True:
            await self._until_silent()
            ended = self._reader.blame_silence(self.words)
            await interrupt()
            with anyio.move_on_after(ANSWER_LIMIT) as scope:
                await ended.wait()
            if scope.cancelled_caught:
                return Outcome(
                    is_error=True, exited=True, silent=True, text=f"{self.words}, and no answer to an interrupt"
                )

    @property
    def words(self) -> str:
        """What is said of it."""
        return f"no sign of life for {self._stall:g} s"

    async def _until_silent(self) -> None:
        """Come back once it has been silent for too long."""
        if self._stall <= 0:
            await anyio.sleep_forever()
        busy = time.monotonic()
        while True:
            now = time.monotonic()
            if self._reader.may_be_silent or self._asks():
                busy = now
            silent = now - max(self._reader.last, busy)
            if silent >= self._stall:
                return
            await anyio.sleep(min(self._stall - silent, self._stall / 8))
