"""What the keys at the run's own terminal do: hold, edit, launch now, stop.

It puts the runtime, the editor and the screen together for one run. What can hurt: an editor that was opened from here
shares the terminal with the run, so until it ends nothing is printed and no signal from the keyboard counts; and a disk
that refuses must not end the run.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anyio
from anyio.abc import Process

from flower_mcp.cli.editor import editor_command, keep_before
from flower_mcp.cli.keys import Key
from flower_mcp.cli.output import Output
from flower_mcp.cli.stopping import Stopping
from flower_mcp.cli.words import Words
from flower_mcp.core.errors import FlowerError, NothingThere
from flower_mcp.runtime.runtime import Runtime
from flower_mcp.workbench.workbench import Workbench

PATIENCE = 2.0  # seconds for an editor to save what it has when the run is ended from outside


class Controls:
    """Acts for one step of a runtime. `descriptor` is the terminal's."""

    def __init__(
        self, runtime: Runtime, step: str, stopping: Stopping, output: Output, words: Words, *, descriptor: int
    ) -> None:
        self._runtime = runtime
        self._step = step
        self._stopping = stopping
        self._output = output
        self._words = words
        self._descriptor = descriptor

    async def act(self, key: Key) -> None:
        """Do what a key asks for. Says what cannot be done, and raises nothing for it."""
        acts: dict[Key, Callable[[], object]] = {
            Key.HOLD: lambda: self._runtime.hold(self._step),
            Key.LAUNCH: lambda: self._runtime.launch_now(self._step),
            Key.STOP: self._stopping.stop,
        }
        try:
            if key is Key.EDIT:
                await self._edit()
            else:
                acts[key]()
        except (FlowerError, OSError) as error:
            self._output.line(f"! {error}")

    async def _edit(self) -> None:
        command = editor_command(os.environ)
        workbench = Workbench(self._runtime.workspace)
        document = workbench.read(self._step)
        if document is None:
            raise NothingThere(
                self._words("no document", step=self._step), next="There is one after the first handoff: flower handoff"
            )
        keep_before(workbench, document)
        with (
            workbench.holds.lease(self._step),
            self._output.kept(),
            self._stopping.deaf(),
            mode_kept(self._descriptor),
        ):
            code = await _run_editor([*command, str(document.path)])
        if code:
            self._output.line(f"! {self._words('editor failed', command=command[0], code=code)}")


async def _run_editor(command: list[str]) -> int:
    """Run the editor at this terminal to its end; its exit code. One that is cancelled may save what it has."""
    process = await anyio.open_process(command, stdin=None, stdout=None, stderr=None)
    try:
        return await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _end(process: Process) -> None:
    for number in (signal.SIGHUP, signal.SIGKILL):
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(number)
            with anyio.move_on_after(PATIENCE):
                await process.wait()


@contextmanager
def mode_kept(descriptor: int) -> Iterator[None]:
    """Afterwards the terminal's mode is what it was, whatever an editor that died left."""
    import termios

    mode: list[Any] | None = None
    with suppress(termios.error):
        mode = termios.tcgetattr(descriptor)
    try:
        yield
    finally:
        if mode is not None:
            with suppress(termios.error):
                termios.tcsetattr(descriptor, termios.TCSANOW, mode)
