"""Pays what is owed to the disk while a step has nothing else to write: it may wait for hours, and a kill may come.

It knows a clock and workbench/owed.py, and nothing of steps. Whoever starts it must end it.
"""

from __future__ import annotations

import anyio

from flower_mcp.workbench.owed import Owed

TICK = 2.0  # seconds between two looks; how often the disk is asked is the ledger's own business


class Paying:
    """A task that pays until it is told to end."""

    def __init__(self, owed: Owed, tick: float = TICK) -> None:
        self._owed = owed
        self._tick = tick
        self._scope: anyio.CancelScope | None = None  # made where there is a loop
        self._is_over = False

    async def run(self) -> None:
        """Pay now and then."""
        with anyio.CancelScope() as self._scope:
            while not self._is_over:
                await anyio.sleep(self._tick)
                self._owed.pay()

    def end(self) -> None:
        """Stop paying, also before it has begun."""
        self._is_over = True
        if self._scope is not None:
            self._scope.cancel()
