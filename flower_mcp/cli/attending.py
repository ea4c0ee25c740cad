"""What goes on beside a run: the keys of its terminal, the area below it, and calling the person.

It starts and ends them, and tells them of events; what each does is its own module's business. What can hurt: an editor
that was opened from here may still be open when the run is over, and a call may still run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from flower_mcp.cli.controls import Controls
from flower_mcp.cli.keys import Keys
from flower_mcp.cli.notifying import Notifier
from flower_mcp.cli.output import Output
from flower_mcp.cli.words import Words
from flower_mcp.core.events import Event, Kind, Phase

if TYPE_CHECKING:
    from flower_mcp.cli.live import LiveArea

HURRY = 1.0  # seconds for calls when the person wants to leave now


class Attending:
    """What attends one run. `keys` is None where nobody is at a terminal, `area` where it is not live.

    All tasks are in the given group.
    """

    def __init__(
        self,
        output: Output,
        words: Words,
        tasks: TaskGroup,
        *,
        keys: Keys | None,
        notify: Sequence[str] | None,
        area: LiveArea | None = None,
    ) -> None:
        self._tasks = tasks
        self._keys = keys
        self._area = area
        self._notifier = Notifier(notify, output, words, tasks)
        self._reading = anyio.CancelScope()
        self._has_read = anyio.Event()

    def start(self, controls: Controls | None) -> None:
        """Begin; `controls` do what the keys ask for."""
        if self._area is not None:
            self._tasks.start_soon(self._area.run)
        if self._keys is None or controls is None:
            self._has_read.set()
        else:
            self._tasks.start_soon(self._read, self._keys, controls)

    def take(self, event: Event, line: Mapping[str, Any]) -> None:
        """Take in an event; `line` is what programs get of it."""
        if self._keys is not None:
            phase = event.payload.get("phase")
            if event.kind == Kind.EDIT and phase == Phase.OPEN:
                self._keys.open()
            elif event.kind == Kind.RESULT or (event.kind == Kind.EDIT and phase == Phase.CLOSED):
                self._keys.close()
        if self._area is not None:
            self._area.take(event, line)
        self._notifier.take(event, line)

    async def leave_terminal(self, *, now: bool) -> None:
        """Give the terminal back. An editor that is open is waited for, or with `now` is told to end."""
        if self._area is not None:
            self._area.close()
        if self._keys is None:
            return
        self._keys.close()
        if not now:
            await self._keys.settle()
        self._reading.cancel()
        await self._has_read.wait()

    async def finish(self, *, now: bool) -> None:
        """Wait for the calls that are under way, each of which has its limit; with `now` for a moment alone."""
        with anyio.move_on_after(HURRY if now else None):
            await self._notifier.finish()

    async def _read(self, keys: Keys, controls: Controls) -> None:
        try:
            with self._reading:
                await keys.run(controls.act)
        finally:
            self._has_read.set()
