"""events.jsonl of 1 GB is never read whole: what each command, the server and a run's start read of it, and hold.

    python -m benchmarks.events

The file only ever grows; whoever looks at the last events reads backwards from its end. Measured is what a process asks
of the system in bytes (`rchar`: files, pipes, and 10 MB of Python's own modules) and the most memory that it held,
beside the same process in a workspace without events. The file is a real one, of valid lines, on the disk.

Promised is 1 MB where the last 200 events are looked at or none are, 4 MB where a person's saves are looked for in the
last 2,000 (`history`, `diff`), and 140 MB for `chart`, which draws the last 200,000 of all steps. Linux alone says what
a process has read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mcp_wire import OURS, served
from benchmarks.measure import Line, Size, check, mb, run
from benchmarks.startup import FLOWER
from benchmarks.worlds import BEGAN, STEP, World, row_of
from flower_mcp.core.books import LiveStep, State, iso
from flower_mcp.core.errors import ChartPartMissing, NothingThere
from flower_mcp.core.events import Event, Kind, Phase, Place, line

BIG, SMALL = 10**9, 10**6  # bytes of events
WAITS = "waits"  # a step that waits: its last event says until when, so `status` looks for it
UNTIL = "2026-12-01T00:00:00.000000Z"
FEW, SOME, DRAWN = 1.0, 4.0, 140.0  # MB
COMMANDS: dict[str, tuple[tuple[str, ...], str, float]] = {
    "flower status": (("status",), "2026-", FEW),
    "flower list": (("list",), STEP, FEW),
    "flower show": (("show", STEP), "The importer", FEW),
    "flower history": (("history", STEP), "1  20", SOME),
    "flower diff": (("diff", STEP, "1"), "", SOME),
    "flower hook session-start": (("hook", "session-start"), "", FEW),
    "flower chart": (("chart", STEP, "-o", "context.svg"), "", DRAWN),
}


SHORT = ("flower status", "flower history")  # of the small form

# A small process starts the one that is weighed, since a new one counts what it was started from as its own; and its
# figures are there until it is waited for.
WEIGH = """
import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
with open(f"/proc/{process}/io") as file:
    read = file.readline().split()[1]
_, status, used = os.wait4(process, 0)
print(f"\\n{read} {used.ru_maxrss} {os.waitstatus_to_exitcode(status)}")
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes that a process has read, and the most memory that it held."""

    read: int
    held: int


def cost_of(command: Sequence[str], world: World, expected: str, *codes: int) -> Cost:
    """Run a process in the workspace to its end; void when it ends with another code or does not print `expected`."""
    weighing = [sys.executable, "-I", "-S", "-c", WEIGH, *command]
    done = subprocess.run(
        weighing, cwd=world.workspace, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    out, _, figures = done.stdout.rstrip("\n").rpartition("\n")
    check(done.returncode == 0, f"{' '.join(command)} could not be weighed: {done.stderr}")
    read, held, code = map(int, figures.split())
    told = f"{' '.join(command)} ended {code}: {out} {done.stderr}"
    check(code in (0, *codes) and expected in out, told)
    return Cost(read, held * 1024)


def _figure(pid: int, file: str, name: str) -> int:
    lines = Path(f"/proc/{pid}/{file}").read_text(encoding="ascii").splitlines()
    return next(int(each.split()[1]) for each in lines if each.startswith(name))


def write_events(path: Path, size: int) -> None:
    """Measurements of the steps, a person's save now and then, and last of all a wait."""
    told = []
    for number in range(2_000):
        place = Place(f"run-{STEP}-0", STEP if number % 3 else WAITS, 1 + number % 2, f"session-{STEP}-1")
        context = Event(Kind.CONTEXT, "", {"context": 30_000 + number * 60, "window": 200_000, "estimated": False})
        save = Event(Kind.EDIT, "the document was saved", {"phase": Phase.SEEN, "revision": "0123456789ab"})
        told.append(json.dumps(line(context if number % 100 else save, place, iso(BEGAN + number))) + "\n")
    block = "".join(told).encode()
    wait = line(Event(Kind.WAIT, "waits", {"until": UNTIL}), Place("r", WAITS, 1, None), iso(BEGAN))
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(block)
        file.write(json.dumps(wait).encode() + b"\n")


@contextmanager
def worlds(folder: Path, size: int) -> Iterator[tuple[World, World]]:
    """Two that are alike, one with events; in both a step waits that this process runs."""
    made = World(folder / "without"), World(folder / "with")
    locks = []
    for world in made:
        with world.fill().entered() as bench:
            lock = bench.run_lock(WAITS)
            check(lock.acquire(), "the step runs already")
            locks.append(lock)
            bench.lives.write(LiveStep(WAITS, State.WAITING, row_of(WAITS, 0, "0" * 12)))
    write_events(made[1].workspace / ".flower" / "live" / "events.jsonl", size)
    try:
        yield made
    finally:
        for lock in locks:
            lock.release()


def commands(names: Iterable[str], without: World, world: World) -> Iterator[Line]:
    """Each command in both workspaces. A chart needs something to draw, and a part that may not be installed."""
    for name in names:
        arguments, expected, most = COMMANDS[name]
        codes = (NothingThere.exit_code, ChartPartMissing.exit_code) if name == "flower chart" else ()
        costs = []
        for each in (without, world):
            with each.entered():
                costs.append(cost_of([FLOWER, *arguments], each, expected if each is world else "", *codes))
        yield from _told(name, costs[0], costs[1], most)


def starts(without: World, world: World) -> Iterator[Line]:
    """A run up to its first session, which appends its own events."""
    costs = []
    for each in (without, world):
        with each.entered():
            command = [sys.executable, "-m", "benchmarks.growth_run", str(each.workspace), str(each.run_dir), STEP, "2"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"no run: {done.stderr or done.stdout}")
        told = [json.loads(line) for line in done.stdout.splitlines()]
        costs.append(Cost(told[0]["read"], told[-1]["held"]))
    yield from _told("a run's start", costs[0], costs[1], FEW)


def server(without: World, world: World) -> Iterator[Line]:
    """The MCP server: what its tools read, and its memory afterwards."""
    costs = []
    for each in (without, world):
        with each.entered(), served(OURS, each.workspace) as wire:
            wire.request("tools/list")
            before = _figure(wire.process.pid, "io", "rchar:")
            every = wire.call("handoff_status")["structuredContent"]
            one = wire.call("handoff_status", step=STEP)["structuredContent"]
            read = wire.call("read_handoff", step=STEP)["content"][1]["text"]
            check(len(every["steps"]) == 2 and one["document"] and "The importer" in read, f"not the steps: {every}")
            pid = wire.process.pid
            costs.append(Cost(_figure(pid, "io", "rchar:") - before, _figure(pid, "status", "VmHWM:") * 1024))
    yield from _told("the MCP server's status and read", costs[0], costs[1], FEW)


def _told(name: str, without: Cost, events: Cost, most: float) -> Iterator[Line]:
    shown = f"{mb(events.read)} beside {mb(without.read)}"
    yield Line(
        f"{name}, read of the events", max(0.0, (events.read - without.read) / 1e6), "MB", most=most, shown=shown
    )
    if most != DRAWN:  # a chart draws nothing where there are no events
        shown = f"{mb(events.held)} beside {mb(without.held)}"
        yield Line(f"{name}, memory with them", events.held / without.held, most=1.25, shown=shown)


def measure(size: Size) -> Iterator[Line]:
    """All of it."""
    with (
        tempfile.TemporaryDirectory(prefix="flower-benchmark-", ignore_cleanup_errors=True) as folder,
        worlds(Path(folder), size.of(BIG, SMALL)) as (without, world),
    ):
        yield from commands(tuple(COMMANDS) if size is Size.FULL else SHORT, without, world)
        yield from starts(without, world)
        yield from server(without, world)


if __name__ == "__main__":
    run("events.jsonl of 1 GB, beside none", measure)
