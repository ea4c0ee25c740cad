"""A supervisor in a process of its own that hands off many times, and measures itself at each handoff.

python -m tests.e2e.many WORKSPACE HANDOFFS [FAKE]

FAKE is a program to start in place of the real CLI. Each measure is a line of JSON on stdout: seconds since the last
one, processor seconds of this process since its start, memory (bytes), open files, threads, tasks. The last line says
how the run ended.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio

from flower_mcp import Event, RetryPolicy, Runtime
from flower_mcp.runtime import starting
from tests.e2e.steps import policy, spec

PAGE = os.sysconf("SC_PAGE_SIZE")


def measure(since: float) -> dict[str, float]:
    """What this process holds now."""
    gc.collect()
    return {
        "seconds": time.monotonic() - since,
        "cpu": time.process_time(),
        "memory": int(Path("/proc/self/statm").read_text().split()[1]) * PAGE,
        "files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "threads": threading.active_count(),
        "tasks": len(anyio.get_running_tasks()),
    }


def tell(what: dict[str, Any]) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run the step."""
    workspace, handoffs = Path(sys.argv[1]), int(sys.argv[2])
    if len(sys.argv) > 3:
        setattr(starting, "bundled_cli", lambda: Path(sys.argv[3]))  # noqa: B010
    last = time.monotonic()

    def take(event: Event) -> None:
        nonlocal last
        if event.kind == "handoff" and event.payload.get("phase") == "done":
            tell(measure(last))
            last = time.monotonic()

    async def run() -> None:
        async with Runtime(
            workspace=workspace,
            run_dir=workspace.parent / "runs",
            handoff=policy(max_generations=handoffs + 1),
            retry=RetryPolicy(base=0.05, cap=0.2),
        ) as runtime:
            result = await runtime.run(spec(), "Port the test suite to pytest.", on_event=take)
            tell({"ok": result.ok, "retired": len(result.retired), "error": result.error})

    anyio.run(run)


if __name__ == "__main__":
    main()
