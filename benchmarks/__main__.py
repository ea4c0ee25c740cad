"""All measurements, one after the other, and the one table: `make bench`. At most ten minutes.

Writes benchmarks/results.md. Exits 1 when a promise was missed, 2 when a measurement could not be made. `--small`
checks the machinery, holds nothing against its promise and writes only where `--to` says.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Line
from flower_mcp.runtime.keeping import bundled_cli

MEASUREMENTS = (
    "handoff_latency",
    "edit_window",
    "many_at_once",
    "mcp_server",
    "startup",
    "hook",
    "growth",
    "events",
    "overflow",
    "prompt_cache",
    "against_compaction",
)
LIMIT = 900  # seconds for one measurement: all together take ten minutes, and one that hangs is void
VOID = 2  # the exit code of a measurement that says nothing
RESULTS = Path(__file__).with_name("results.md")
OPENING = """# Results

Written by `make bench`; [docs/performance.md](../docs/performance.md) says what each line means and how it is taken.
Each figure compares two things that were run side by side, so that the machine matters little; no absolute time is
promised. What was timed was checked in every round. {machine}

"""


def measured(names: list[str], *, small: bool, folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Run each in a process of its own, so that none finds anything imported; its exit code and what it gave.

    One that ends in any other way than by itself is void.
    """
    for name in names:
        file = folder / f"{name}.json"
        command = [sys.executable, "-m", f"benchmarks.{name}", "--json", str(file), *["--small"] * small]
        try:
            code = subprocess.run(command, check=False, timeout=LIMIT).returncode
        except subprocess.TimeoutExpired:
            print(f"  {name} took longer than {LIMIT} s", file=sys.stderr)
            code = VOID
        given = json.loads(file.read_text("utf-8")) if file.exists() else {"title": name, "lines": []}
        yield code if code in (0, 1) else VOID, given


def table(given: dict[str, Any]) -> str:
    """One measurement's part of the table."""
    rows = ["| " + given["title"] + " | figure | promise | made of |", "|---|---:|---|---|"]
    for line in (Line(**each) for each in given["lines"]):
        verdict = f"{line.promise}{'' if line.kept else ' **missed**'}"
        rows.append(f"| {line.name} | {line.value} | {verdict} | {line.shown} |")
    return "\n".join(rows) + "\n\n"


def machine(seconds: float) -> str:
    """What it ran on, and how long it took."""
    cli = subprocess.run([bundled_cli(), "--version"], capture_output=True, text=True, check=True).stdout.split()[0]
    return (
        f"Taken on {time.strftime('%Y-%m-%d', time.gmtime())} in {seconds / 60:.1f} minutes: {platform.system()}, "
        f"{os.cpu_count()} processors, Python {platform.python_version()}, Claude Code CLI {cli}."
    )


def main() -> int:
    """Measure all, or what is named; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the measurements.")
    parser.add_argument("names", nargs="*", choices=[[], *MEASUREMENTS], help="only these, and write no table")
    parser.add_argument("--small", action="store_true", help="as little as shows that the machinery works")
    parser.add_argument("--to", type=Path, metavar="FILE", help="where the table goes")
    given = parser.parse_args()
    began, codes, parts = time.monotonic(), [], []
    with tempfile.TemporaryDirectory(prefix="flower-benchmark-") as folder:
        for code, part in measured(given.names or list(MEASUREMENTS), small=given.small, folder=Path(folder)):
            codes.append(code)
            parts.append(table(part))
    seconds = time.monotonic() - began
    to = given.to or (None if given.small or given.names else RESULTS)
    if to and max(codes) < VOID:
        to.write_text(OPENING.format(machine=machine(seconds)) + "".join(parts).rstrip() + "\n", encoding="utf-8")
    print(f"{seconds:.0f} s")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
