"""Signals: the first one asks the step to stop at its next message boundary, the second ends it now.

The third is the system's, and kills. It must not know what a step does; it is given two things to call. What can hurt:
`nohup` and a shell's `&` have signals ignored on purpose, and these stay ignored.
"""

from __future__ import annotations

import signal
from collections.abc import Callable

import anyio
from anyio.abc import TaskStatus

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # SIGHUP: the terminal was closed


class Stopping:
    """Waits for signals while a step runs. `received` is the first one, None when none came."""

    def __init__(self, drain: Callable[[], None], end: Callable[[], None]) -> None:
        self.received: signal.Signals | None = None
        self._drain = drain
        self._end = end

    @property
    def exit_code(self) -> int | None:
        """128 and the signal's number, None when none came."""
        return None if self.received is None else 128 + self.received

    async def watch(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Wait for two signals; cancel it when the step has ended."""
        heeded = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
        with anyio.open_signal_receiver(*heeded) as signals:
            task_status.started()
            async for received in signals:
                if self.received is not None:
                    break
                self.received = received
                self._drain()
        for each in heeded:
            signal.signal(each, signal.SIG_DFL)
        self._end()
