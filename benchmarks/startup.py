"""How long a command takes to start, as a multiple of `python -c pass`.

    python -m benchmarks.startup

Measured from outside, as wall time of whole processes, in turns; the first round is thrown away (it fills caches). What
is printed is looked at in every round: a program that fails at once is fast.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Line, Samples, Size, check, run


def seconds(command: list[str], expected: str = "") -> float:
    """Wall time of one process; void when it fails or does not print `expected`."""
    began = time.perf_counter()
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    check(not done.returncode and expected in done.stdout, f"{command} ended {done.returncode}: {done.stderr}")
    return took


def measure(size: Size) -> Iterator[Line]:
    """All in turns."""
    python, flower = sys.executable, str(Path(sys.executable).with_name("flower"))
    samples = Samples()
    for _ in range(size.of(16, 2)):
        samples.add("bare", seconds([python, "-c", "pass"]))
        samples.add("help", seconds([flower, "--help"], expected="Usage"))
    yield samples.ratio("flower --help", "help", "bare", most=7)


if __name__ == "__main__":
    run("Start-up, beside python -c pass", measure)
