"""The keys of the run's own terminal while a document waits: h holds, e edits, Enter launches, q stops.

It changes the terminal's mode and reads single keys; what they do is not known here. The mode is changed only while a
key is waited for, and is put back whatever happens: when the window closes, when somebody else needs the terminal (a
question, an editor), on an error, before this process is stopped (Ctrl-Z) or quits (Ctrl-backslash); it is changed
again when the process goes on. What can hurt: a process in the background is stopped by the system when it reads the
terminal or sets its mode, so both are done in front alone; and what was typed before the window opened, or is pasted,
was not meant for it. Nothing can be put back by a process that is killed (KILL).
"""

from __future__ import annotations

import os
import re
import select
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from enum import StrEnum
from types import FrameType
from typing import Any

import anyio

_CHUNK = 4096  # bytes
_PASTED = 4  # characters; more at once are pasted, and were meant for somebody else
_SEQUENCE = re.compile(r"\x1b(?:[\[O][0-?]*[ -/]*[@-~]|.)")  # an arrow, or a key with Alt
_LOOK = 0.3  # seconds between two looks whether this process is in front


class Key(StrEnum):
    """What a key asks for."""

    HOLD = "h"
    EDIT = "e"
    LAUNCH = "\n"
    STOP = "q"


_KEYS = {**{each.value: each for each in Key}, "\r": Key.LAUNCH}


class Keys:
    """Reads keys of the terminal behind `descriptor` while it is open, in `run`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_open = False
        self._borrowers = 0
        self._before: dict[int, Any] = {}  # handlers of signals, while keys are read
        self._usual: list[Any] | None = None  # the mode to put back, while it is changed
        self._terminal = anyio.Lock()
        self._changed = anyio.Event()
        self._reading: anyio.CancelScope | None = None

    def open(self) -> None:
        """Read keys from now on; what was typed before is dropped."""
        if is_in_front(self._descriptor):
            drop_typed(self._descriptor)
        self._is_open = True
        self._changed.set()

    def close(self) -> None:
        """Read no more, and put the mode back at once."""
        self._is_open = False
        self._interrupt()

    async def run(self, act: Callable[[Key], Awaitable[object]]) -> None:
        """Read keys and act on them, one after the other, until cancelled."""
        while True:
            while not self._is_wanted:
                self._changed = anyio.Event()
                await self._changed.wait()
            async with self._terminal:
                key = await self._read(act)
                if key is not None:
                    await act(key)

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """While entered, the terminal is in its usual mode and nobody else reads it."""
        self._borrowers += 1
        self._interrupt()
        try:
            async with self._terminal:
                yield
        finally:
            self._borrowers -= 1
            self._changed.set()

    async def settle(self) -> None:
        """Wait until what a key began has ended: an editor."""
        async with self.lent():
            pass

    @property
    def is_free(self) -> bool:
        """Whether nobody reads the terminal, and this process may."""
        return not self._is_open and not self._borrowers and is_in_front(self._descriptor)

    @property
    def _is_wanted(self) -> bool:
        return self._is_open and not self._borrowers

    def _interrupt(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self._put_back()

    async def _read(self, act: Callable[[Key], Awaitable[object]]) -> Key | None:
        """Act on keys until the reading is over; a key that needs the terminal itself is the answer."""
        with anyio.CancelScope() as self._reading, self._key_by_key():
            while self._is_wanted:
                if not is_in_front(self._descriptor):
                    await anyio.sleep(_LOOK)  # nothing tells when it comes to the front
                    self._change()
                    continue
                with anyio.move_on_after(_LOOK) as waiting:
                    await anyio.wait_readable(self._descriptor)
                ours = not waiting.cancelled_caught and is_in_front(self._descriptor)
                if not ours or not has_typed(
                    self._descriptor
                ):  # a change of mode wakes the wait, and a read would block
                    self._change()  # a shell that brings us to the front may set its own mode just after ours
                    continue
                for key in self._typed():
                    if key is Key.EDIT:
                        return key  # what was typed behind it is dropped: it was meant for nobody
                    await act(key)
        return None

    def _typed(self) -> list[Key]:
        """What was typed, other keys and what is pasted left out. Closes at the input's end."""
        try:
            data = os.read(self._descriptor, _CHUNK)
        except OSError:
            data = b""
        if not data:
            self.close()
        typed = _SEQUENCE.sub("", data.decode("utf-8", "replace")).lower()
        return [_KEYS[each] for each in typed if each in _KEYS] if len(typed) <= _PASTED else []

    @contextmanager
    def _key_by_key(self) -> Iterator[None]:
        """While entered, the terminal gives single keys and shows none of them."""
        handlers = {signal.SIGTSTP: self._on_stop, signal.SIGCONT: self._on_continue, signal.SIGQUIT: self._on_stop}
        before: dict[int, Any] = {number: signal.getsignal(number) for number in handlers}
        self._before = before
        heeded = [number for number in handlers if before[number] != signal.SIG_IGN]
        for number in heeded:
            signal.signal(number, handlers[number])
        try:
            self._change()
            yield
        finally:
            self._put_back()
            for number in heeded:
                signal.signal(number, before[number])

    def _change(self) -> None:
        """Change the mode, unless somebody has: then it is not ours to put back."""
        import termios

        if not self._is_wanted or not is_in_front(self._descriptor):
            return
        with suppress(termios.error):
            usual = termios.tcgetattr(self._descriptor)
            if not usual[3] & termios.ICANON:
                return
            by_key = [*usual[:6], [*usual[6]]]
            by_key[3] &= ~(termios.ICANON | termios.ECHO)  # signals stay: Ctrl-C is a signal here too
            by_key[6][termios.VMIN], by_key[6][termios.VTIME] = 1, 0
            self._usual = usual
            termios.tcsetattr(self._descriptor, termios.TCSANOW, by_key)

    def _put_back(self) -> None:
        """Put the usual mode back. In the background it is the shell's again, and not touched."""
        import termios

        usual, self._usual = self._usual, None
        if usual is not None and is_in_front(self._descriptor):
            with suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSANOW, usual)

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-Z or Ctrl-backslash: leave the terminal as it was found, then do what the signal does."""
        self._put_back()
        before = self._before.get(number)
        if callable(before):
            before(number, frame)  # it does that, and something else first
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)  # a stopped process goes on behind this line
        signal.signal(number, self._on_stop)
        self._change()

    def _on_continue(self, _number: int, _frame: FrameType | None) -> None:
        self._change()


def is_in_front(descriptor: int) -> bool:
    """Whether this process may read the terminal: a job in the background would be stopped for it."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:  # not our controlling terminal, so nothing stops us
        return os.isatty(descriptor)


def has_typed(descriptor: int) -> bool:
    """Whether something can be read now, without waiting."""
    return bool(select.select([descriptor], [], [], 0)[0])


def drop_typed(descriptor: int) -> None:
    """Drop what was typed before now."""
    import termios

    with suppress(termios.error):
        termios.tcflush(descriptor, termios.TCIFLUSH)
