"""Ctrl-C at the run's own terminal: first it offers to say something to the session, and the work goes on meanwhile.

A line typed is said, an empty one lets the work go on; Ctrl-C again, q, or nothing typed for a while stops in order.
It reads the terminal in its usual mode, so that a line can be mended as everywhere. What can hurt: a person who still
types must not be cut off, and in the usual mode a line that is not finished cannot be seen; so before the time is over
the mode is changed for an instant, which hands over what was typed so far.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

import anyio
from anyio.abc import TaskGroup

from flower_mcp.cli.controls import mode_kept
from flower_mcp.cli.keys import Keys, drop_typed, is_in_front
from flower_mcp.cli.output import Output
from flower_mcp.cli.words import Words
from flower_mcp.core.errors import FlowerError

PATIENCE = 20.0  # seconds without anything typed; whoever pressed Ctrl-C and left wanted to stop
QUIT = "q"
_CHUNK = 4096  # bytes


class Offer:
    """Offers it once at a time. `say` and `stop` do what was chosen."""

    def __init__(
        self,
        output: Output,
        words: Words,
        keys: Keys,
        descriptor: int,
        *,
        say: Callable[[str], object],
        stop: Callable[[], object],
    ) -> None:
        self._output = output
        self._words = words
        self._keys = keys
        self._descriptor = descriptor
        self._say = say
        self._stop = stop
        self._open: anyio.CancelScope | None = None
        self._closed = anyio.Event()

    def begin(self, tasks: TaskGroup) -> bool:
        """Offer it. False when it is offered already, or somebody else reads the terminal: then Ctrl-C stops."""
        if self._open is not None or not self._keys.is_free:
            return False
        self._open, self._closed = anyio.CancelScope(), anyio.Event()
        tasks.start_soon(self._run, self._open)
        return True

    def close(self) -> None:
        """Take the offer back."""
        if self._open is not None:
            self._open.cancel()

    async def leave(self) -> None:
        """Take it back, and wait until the terminal is free."""
        if self._open is not None:
            self._open.cancel()
            await self._closed.wait()

    async def _run(self, scope: anyio.CancelScope) -> None:
        typed: str | None = ""
        try:
            with scope:
                async with self._keys.lent():
                    drop_typed(self._descriptor)
                    self._output.line(self._words("offer"), end="")
                    with self._output.kept():
                        typed = await self._line()
        finally:
            self._open = None
            self._closed.set()
        if not scope.cancelled_caught:
            self._act(typed)
        else:
            self._output.line("")

    def _act(self, typed: str | None) -> None:
        """Do what was chosen. None: nobody typed."""
        if typed is None:
            self._output.line("")
        if typed is None or typed.strip().lower() == QUIT:
            self._stop()
        elif typed.strip():
            try:
                self._say(typed.strip())
                self._output.line(self._words("offer said"))
            except (FlowerError, OSError) as error:
                self._output.line(f"! {error}")
        else:
            self._output.line(self._words("offer goes on"))

    async def _line(self) -> str | None:
        """The line; None when nothing was typed for a while."""
        typed = b""
        while not typed.endswith(b"\n"):
            with anyio.move_on_after(PATIENCE) as waiting:
                await anyio.wait_readable(self._descriptor)
            piece = self._typed_so_far() if waiting.cancelled_caught else self._read()
            if not piece:
                return None if waiting.cancelled_caught else typed.decode("utf-8", "replace")
            typed += piece
        return typed.decode("utf-8", "replace")

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK)
        except OSError:  # the terminal has gone
            return b""

    def _typed_so_far(self) -> bytes:
        """What stands in the line that is not finished; it can be mended no more from here on."""
        import termios

        if not is_in_front(self._descriptor):
            return b""
        with suppress(termios.error), mode_kept(self._descriptor):
            mode = termios.tcgetattr(self._descriptor)
            mode[3] &= ~termios.ICANON
            mode[6][termios.VMIN], mode[6][termios.VTIME] = 0, 0
            termios.tcsetattr(self._descriptor, termios.TCSANOW, mode)
            return self._read()
        return b""
