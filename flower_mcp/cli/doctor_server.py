"""Start an MCP server on stdio as a client does, ask for its tools, and end it. The wire is a few lines of JSON.

It must not know whose server it is. What can hurt: a server that never answers, or that leaves processes behind, so
everything has a limit and the whole group is ended.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from flower_mcp import __version__

LIMIT = 15.0  # seconds for all of it; a client gives a server 30 or 60, and ours takes one
_LEAVE = 2.0  # seconds that a server has to end by itself, once its input is closed
_GREETING: Mapping[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "flower-doctor", "version": __version__},
}


def tools_of(command: Sequence[str], cwd: Path, variables: Mapping[str, str], limit: float = LIMIT) -> tuple[int, str]:
    """How many tools the server has, and "", or 0 and why it has none. Never raises."""
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return 0, getattr(error, "strerror", None) or str(error)
    try:
        return _asked(process, time.monotonic() + limit, limit)
    finally:
        _end(process)


def _asked(process: subprocess.Popen[bytes], end: float, limit: float) -> tuple[int, str]:
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read, args=(process, lines), daemon=True).start()
    try:
        _send(process, {"id": 1, "method": "initialize", "params": _GREETING})
        _answer(lines, 1, end)
        _send(process, {"method": "notifications/initialized"})
        _send(process, {"id": 2, "method": "tools/list", "params": {}})
        tools = _answer(lines, 2, end).get("tools")
    except queue.Empty:
        return 0, f"no answer within {limit:g} seconds"
    except (OSError, EOFError):
        with suppress(subprocess.TimeoutExpired):
            return 0, f"it ended with exit code {process.wait(_LEAVE)}"
        return 0, "it closed its output"
    return (len(tools), "") if isinstance(tools, list) and tools else (0, "it has no tools")


def _read(process: subprocess.Popen[bytes], lines: queue.Queue[bytes]) -> None:
    with suppress(OSError, ValueError):
        for line in process.stdout or ():
            lines.put(line)
    lines.put(b"")


def _send(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    if process.stdin is not None:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()


def _answer(lines: queue.Queue[bytes], id: int, end: float) -> Mapping[str, Any]:
    """The result with this id. Raises queue.Empty when the time is over, EOFError when nothing more will come."""
    while True:
        line = lines.get(timeout=max(0.01, end - time.monotonic()))
        if not line:
            raise EOFError
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, dict) and value.get("id") == id:
                result = value.get("result")
                return result if isinstance(result, dict) else {}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, wait a little, then end it and all below it."""
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_LEAVE)
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    with suppress(OSError):
        if process.stdout is not None:
            process.stdout.close()
