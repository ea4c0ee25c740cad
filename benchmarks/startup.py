"""How long `flower --help` takes, as a multiple of `python -c pass`: at most 7 (6.0 to 6.4 were measured).

    python -m benchmarks.startup [rounds]

Measured from outside, as wall time of whole processes, in turns; the first round is thrown away (it fills caches). What
`--help` prints is looked at in every round: a program that fails at once is fast. Exits 1 when the ratio is missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measure import Ratio, Row, report

ROUNDS = 15
MOST = 7.0


def seconds(command: list[str], expected: str = "") -> float:
    """Wall time of one process. Raises RuntimeError when it fails or does not print `expected`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FLOWER_")}
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode or expected not in done.stdout:
        raise RuntimeError(f"{' '.join(command)} ended {done.returncode}: {done.stderr or done.stdout}")
    return took


def measure(rounds: int = ROUNDS) -> Ratio:
    """Take both in turns, `rounds` times after one that does not count."""
    python, flower = sys.executable, str(Path(sys.executable).with_name("flower"))
    bare, helped = [], []
    for _ in range(rounds + 1):
        bare.append(seconds([python, "-c", "pass"]))
        helped.append(seconds([flower, "--help"], expected="Usage"))
    return Ratio(Row("flower --help", helped[1:]), Row("python -c pass", bare[1:]), MOST)


def main(rounds: int = ROUNDS) -> bool:
    """Measure and print; whether the promise is kept."""
    return report("startup", measure(rounds))


if __name__ == "__main__":
    sys.exit(0 if main(*map(int, sys.argv[1:])) else 1)
