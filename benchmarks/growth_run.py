"""Starts a step's runs up to where the first session would be opened, and says what that took. For growth.py.

    python -m benchmarks.growth_run WORKSPACE RUN_DIR STEP TIMES

The budget is smaller than what the step has cost already, so each run reads all that the runs before have left, decides
to launch from the document that waits, writes its books and ends before it starts a process. Prints a line of JSON for
each: seconds of processor time, bytes read; then the most memory that was held, in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import anyio

from flower_mcp import AgentSpec, Runtime, StepResult
from flower_mcp.core.books import State


async def start(workspace: str, run_dir: str, step: str) -> StepResult:
    """One run."""
    async with Runtime(workspace=workspace, run_dir=run_dir) as runtime:
        return await runtime.run(AgentSpec(max_budget_usd=0.01), step=step)


def bytes_read() -> int:
    """Bytes that this process has asked for. Linux alone says so."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("rchar:"))


def main(workspace: str, run_dir: str, step: str, times: str) -> None:
    """All of them."""
    for _ in range(int(times)):
        read, began = bytes_read(), time.process_time()
        row = anyio.run(start, workspace, run_dir, step)
        print(json.dumps({"seconds": time.process_time() - began, "read": bytes_read() - read}))
        if row.generations or not row.resumed or row.state is not State.STOPPED:
            sys.exit(f"a session was opened, or nothing was found: {row}")
    print(json.dumps({"held": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main(*sys.argv[1:])
