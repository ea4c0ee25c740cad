"""A server as a process and the wire to it, without any SDK: what is timed is the server, and not a client.

One request at a time, in the protocol of 2026-07-28. What can hurt: a pipe that nobody reads fills up, so stderr goes
to the null device, and every line of stdout is read by whoever waits for an answer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import Void

OURS = (sys.executable, "-m", "flower_mcp.server.main")
BARE = (sys.executable, str(Path(__file__).with_name("mcp_bare.py")))
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Wire:
    """A server that was just started. Raises Void when it goes away or answers with an error."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "CLAUDE_CONFIG_DIR": str(folder / "claude")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0

    def send(self, method: str, **params: Any) -> None:
        """Send a request and wait for nothing."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": {**params, "_meta": META}}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def next(self) -> dict[str, Any]:
        """The next message of the server."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise Void(f"the server ended {self.process.wait()}")
        message: dict[str, Any] = json.loads(line)
        return message

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request."""
        self.send(method, **params)
        while (message := self.next()).get("id") != self._number:
            pass
        if "result" not in message:
            raise Void(f"{method}: {message}")
        result: dict[str, Any] = message["result"]
        return result

    def call(self, tool: str, **arguments: str) -> dict[str, Any]:
        """The result of a tool that succeeds."""
        result = self.request("tools/call", name=tool, arguments=arguments)
        if result.get("isError"):
            raise Void(f"{tool}: {result['content']}")
        return result

    def resident(self) -> int:
        """Bytes of memory that the process holds. Linux alone says so."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise Void("this system does not say how much memory a process holds")


@contextmanager
def served(command: Sequence[str], folder: Path) -> Iterator[Wire]:
    """A server that is gone afterwards."""
    wire = Wire(command, folder)
    try:
        yield wire
    finally:
        wire.process.kill()
        wire.process.wait()
        for pipe in (wire.process.stdin, wire.process.stdout):
            if pipe is not None:
                pipe.close()
