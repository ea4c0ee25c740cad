"""How long a verdict on a megabyte of error text takes, in multiples of what lowering its letters takes: at most 10.

    python -m benchmarks.overflow [rounds]

Lowering a megabyte took half a millisecond where the promise of 5 ms was made, so the two promises are one, and this
one holds on a slow or loaded machine, too. Measured as processor time of this process, in turns, on the texts that cost
the rules most. Exits 1 when the worst of them misses the ratio.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from benchmarks.measure import Ratio, Row, report
from flower_mcp.core.overflow import is_overflow

ROUNDS = 21
MOST = 10.0
SIZE = 1_000_000  # characters
UNITS = {
    "prose": "The prompt of this test is a long text that exceeds nothing. ",
    "errors": "prompt is too long: 219898 tokens > 200000 maximum\n",
    "one word": "exceeds ",
    "digits": "1234567890,",
}


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def measure(name: str, rounds: int = ROUNDS) -> Ratio:
    """Take both in turns, `rounds` times after one that does not count."""
    text = UNITS[name] * (SIZE // len(UNITS[name]))
    lowered, judged = [], []
    for _ in range(rounds + 1):
        lowered.append(seconds(text.lower))
        judged.append(seconds(lambda: is_overflow(text)))
    return Ratio(Row(f"is_overflow, {name}", judged[1:]), Row("lower", lowered[1:]), MOST)


def main(rounds: int = ROUNDS) -> bool:
    """Measure and print; whether the promise is kept."""
    if is_overflow("a" * SIZE) or not is_overflow("a" * SIZE + " prompt is too long"):
        raise RuntimeError("the verdict itself is wrong")
    # each is measured, whatever the others gave
    return min([report("overflow", measure(name, rounds)) for name in UNITS])


if __name__ == "__main__":
    sys.exit(0 if main(*map(int, sys.argv[1:])) else 1)
