"""How long a command takes to start, as a multiple of `python -c pass`.

    python -m benchmarks.startup

Measured from outside, as wall time of whole processes, in turns. What is printed is looked at in every round: a program
that fails at once is fast. benchmarks/hook.py has the hooks.

`--help` costs click and the definition of every option. `status` is taken in a workspace of three steps, each with a
document; it reads what lies there and imports nothing of the supervisor's. `flower-mcp --help` is there because a
client's settings are tried with it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import Line, Samples, Size, check, run
from flower_mcp import Handoff, Workbench
from flower_mcp.core.books import LiveStep, State, StepResult

STEPS = ("docs", "import", "work")
PYTHON = sys.executable
FLOWER = str(Path(PYTHON).with_name("flower"))
SERVER = (PYTHON, "-m", "flower_mcp.server.main")


def seconds(command: Sequence[str], expected: str = "", stdin: str = "") -> float:
    """Wall time of one process; void when it fails or does not print `expected`."""
    began = time.perf_counter()
    done = subprocess.run(command, env=dict(os.environ), input=stdin, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    check(
        not done.returncode and expected in done.stdout, f"{' '.join(command)} ended {done.returncode}: {done.stderr}"
    )
    return took


def processor_seconds(command: Sequence[str], expected: str = "") -> float:
    """Processor time of one process, which a loaded machine changes little; void as in `seconds`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds(command, expected)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bare() -> float:
    """What all is compared with."""
    return seconds([PYTHON, "-c", "pass"])


def fill(bench: Workbench) -> None:
    """A few steps that are done, each with its document."""
    for step in STEPS:
        bench.lives.write(LiveStep(step, State.DONE, StepResult(run=step, step=step, ok=True, state=State.DONE)))
        bench.freeze(step, Handoff(doing="Porting the importer.\n" * 20, next="Port the rest."))


def measure(size: Size) -> Iterator[Line]:
    """All in turns."""
    samples = Samples()
    with tempfile.TemporaryDirectory(prefix="flower-benchmark-") as folder:
        fill(Workbench(folder))
        for _ in range(size.of(16, 2)):
            samples.add("bare", bare())
            samples.add("help", seconds([FLOWER, "--help"], expected="Usage"))
            samples.add("status", seconds([FLOWER, "status", "-w", folder], expected=STEPS[0]))
            samples.add("list", seconds([FLOWER, "list", "-w", folder], expected=STEPS[0]))
            samples.add("server", seconds([*SERVER, "--help"], expected="usage"))
    yield samples.ratio("flower --help", "help", "bare", most=7)
    yield samples.ratio(f"flower status, {len(STEPS)} steps", "status", "bare", most=28)
    yield samples.ratio(f"flower list, {len(STEPS)} steps", "list", "bare", most=14)
    yield samples.ratio("flower-mcp --help", "server", "bare", most=5)


if __name__ == "__main__":
    run("Start-up, beside python -c pass", measure)
