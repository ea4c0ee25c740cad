"""Calls the person: a bell at the terminal, or a command of the person's own, when something waits or is over.

It must not know how a run works, and must not disturb it: a command that fails, hangs or reads nothing costs one
sentence. The command comes from the command line, this process's environment or the person's own config file; no file
in a workspace can name one. It is an argument list and no shell reads it. What can hurt: what it starts may outlive it,
so it runs in a session of its own, without the terminal, and is ended whole.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio
from anyio.abc import Process, TaskGroup

from flower_mcp.cli.output import Output
from flower_mcp.cli.words import Words
from flower_mcp.core.events import Event, Kind, Phase

LIMIT = 10.0  # seconds that a command may take


def calls(event: Event) -> bool:
    """Whether the person is to be called: held, asked for a permission, or the run is over."""
    if event.kind == Kind.PERMISSION:
        return bool(event.payload.get("asked"))
    return event.kind == Kind.RESULT or (event.kind == Kind.EDIT and event.payload.get("phase") == Phase.HELD)


class Notifier:
    """Calls the person by `command`, or by the bell without one. Commands run in the task group."""

    def __init__(self, command: Sequence[str] | None, output: Output, words: Words, tasks: TaskGroup) -> None:
        self._command = command
        self._output = output
        self._words = words
        self._tasks = tasks
        self._running = 0
        self._idle = anyio.Event()
        self._has_complained = False

    def take(self, event: Event, line: Mapping[str, Any]) -> None:
        """Call the person if the event is one to call for; `line` is what the command gets on its stdin."""
        if not calls(event):
            return
        if self._command is None:
            self._output.bell()
            return
        self._running += 1
        self._tasks.start_soon(self._call, self._command, (json.dumps(line, default=str) + "\n").encode())

    async def finish(self) -> None:
        """Wait for the commands that run, which their limit ends."""
        while self._running:
            self._idle = anyio.Event()
            await self._idle.wait()

    async def _call(self, command: Sequence[str], data: bytes) -> None:
        try:
            why = await self._why_not(command, data)
        finally:
            self._running -= 1
            self._idle.set()
        if why and not self._has_complained:
            self._has_complained = True
            self._output.line(self._words("not notified", command=command[0], why=why))

    async def _why_not(self, command: Sequence[str], data: bytes) -> str:
        """Run the command; what went wrong, "" for nothing."""
        try:
            process = await anyio.open_process(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
        except (OSError, ValueError) as error:
            return str(getattr(error, "strerror", None) or error)
        try:
            with anyio.move_on_after(LIMIT) as limit:
                await _give(process, data)
                await process.wait()
            if limit.cancelled_caught:
                return self._words("too long", seconds=f"{LIMIT:g}")
            return self._words("exit code", code=process.returncode) if process.returncode else ""
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)


async def _give(process: Process, data: bytes) -> None:
    """Write to the command's stdin and close it; one that does not read has no need to."""
    if process.stdin is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await process.stdin.send(data)
        with suppress(OSError):
            await process.stdin.aclose()


async def _end(process: Process) -> None:
    """End the command and what it started, if it still runs."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    await process.aclose()
