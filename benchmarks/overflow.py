"""How long a verdict on a megabyte of error text takes, in multiples of what lowering its letters takes: at most 10.

    python -m benchmarks.overflow

Lowering a megabyte took half a millisecond where the promise of 5 ms was made, so the two promises are one, and this
one holds on a slow or loaded machine, too. Measured as processor time of this process, in turns, on the texts that cost
the rules most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.measure import Line, Samples, Size, check, run
from flower_mcp.core.overflow import is_overflow

LENGTH = 1_000_000  # characters
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


def measure(size: Size) -> Iterator[Line]:
    """Each text, in turns with lowering it."""
    check(not is_overflow("a" * LENGTH) and is_overflow("a" * LENGTH + " prompt is too long"), "the verdict is wrong")
    for name, unit in UNITS.items():
        text, samples = unit * (LENGTH // len(unit)), Samples()
        for _ in range(size.of(22, 2)):
            samples.add("lower", seconds(text.lower))
            samples.add("verdict", seconds(partial(is_overflow, text)))
        yield samples.ratio(f"verdict on 1 MB, {name}, beside lower()", "verdict", "lower", most=10)


if __name__ == "__main__":
    run("Verdict on an error", measure)
