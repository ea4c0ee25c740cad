"""Signals: the first one asks the step to stop at its next message boundary, the second ends it now.

At a terminal a Ctrl-C is first an offer to say something, where one can be made. The third signal is the system's, and
kills. It must not know what a step does; it is given things to call. What can hurt: `nohup` and a shell's `&` have
signals ignored on purpose, and these stay ignored; and Ctrl-C in an editor that was opened from here reaches this
process too.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import anyio
from anyio.abc import TaskStatus

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # SIGHUP: the terminal was closed


class Stopping:
    """Waits for signals while a step runs. `received` is the first one, None when none came."""

    def __init__(
        self, drain: Callable[[], None], end: Callable[[], None], offer: Callable[[], bool] = lambda: False
    ) -> None:
        self.received: signal.Signals | None = None
        self._drain = drain
        self._end = end
        self._offer = offer
        self._is_deaf = False

    @property
    def exit_code(self) -> int | None:
        """128 and the signal's number, None when none came."""
        return None if self.received is None else 128 + self.received

    def stop(self) -> None:
        """Do what the first Ctrl-C does; once one has come, nothing."""
        if self.received is None:
            self.received = signal.SIGINT
            self._drain()

    @contextmanager
    def deaf(self) -> Iterator[None]:
        """While entered, what is typed in another program's screen is no signal for this one."""
        self._is_deaf = True
        with undisturbed():
            try:
                yield
            finally:
                self._is_deaf = False

    async def watch(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Wait for two signals; cancel it when the step has ended."""
        heeded = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
        with anyio.open_signal_receiver(*heeded) as signals:
            task_status.started()
            async for received in signals:
                if self._is_deaf and received is signal.SIGINT:
                    continue
                if self.received is not None:
                    break
                if received is signal.SIGINT and self._offer():
                    continue
                self.received = received
                self._drain()
        for each in heeded:
            signal.signal(each, signal.SIG_DFL)
        self._end()


@contextmanager
def undisturbed() -> Iterator[None]:
    """While entered, Ctrl-C and Ctrl-backslash do not end this process, but the program that it has started."""
    numbers = [signal.SIGQUIT] if hasattr(signal, "SIGQUIT") else []
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, _nothing)  # a function: what is ignored would be ignored by the program as well
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """The signal is meant for somebody else."""
