"""Servers as processes: the wire without any SDK, and waiting without sleeping."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SERVER = (sys.executable, "-m", "flower_mcp.server.main")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
START = 30.0  # seconds; importing the SDK on a loaded machine


def environment(**more: str) -> dict[str, str]:
    """This process's variables without those that hide a fault or name a workspace."""
    hidden = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, **more}


class Process:
    """A server on stdio. Every line of its stdout is kept as it came; requests are of the newer era.

    `reads` False: nobody reads its stdout.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None, *, reads: bool = True
    ) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(**(environ or {})),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: list[bytes] = []
        self.errors: list[bytes] = []
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._number = 0
        reading = (self._read, self._read_errors) if reads else (self._read_errors,)
        self._readers = [threading.Thread(target=each, daemon=True) for each in reading]
        for reader in self._readers:
            reader.start()

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a request."""
        self.send(method, **params)
        return self.answer_to(self._number)

    def answer_to(self, number: int) -> dict[str, Any]:
        """The answer to the request of this number."""
        while True:
            found = self._answers.get(timeout=START)
            if found.get("id") == number:
                return found

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool's result."""
        result: dict[str, Any] = self.request("tools/call", name=tool, arguments=arguments)["result"]
        return result

    def send(self, method: str, **params: Any) -> None:
        """Send a request and wait for nothing."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": {**params, "_meta": META}}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """End stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def ended_within(self, seconds: float) -> float:
        """How long the process took to end, from now. Raises TimeoutExpired."""
        start = time.monotonic()
        self.process.wait(seconds)
        for reader in self._readers:
            reader.join(START)
        return time.monotonic() - start

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            try:
                self._answers.put(json.loads(line))
            except ValueError:
                continue

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)


@contextmanager
def started(
    folder: Path,
    *arguments: str,
    command: Sequence[str] = SERVER,
    environ: Mapping[str, str] | None = None,
    reads: bool = True,
) -> Iterator[Process]:
    """A server on stdio that is gone afterwards."""
    server = Process([*command, *arguments], folder, environ, reads=reads)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        with suppress(OSError):  # its reader may be gone
            server.close()
        server.ended_within(START)
        for pipe in (server.process.stdout, server.process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def serving(folder: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> Iterator[tuple[str, Any]]:
    """A server over HTTP on a free port: its address and its process."""
    process = subprocess.Popen(
        [*SERVER, "--http", "0", *arguments],
        cwd=folder,
        env=environment(**(environ or {})),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "http://127.0.0.1:" in line, line
        yield line.split()[-1], process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(START)
        assert process.stderr is not None
        process.stderr.close()
