"""What one supervisor process costs that runs 1, 4 and 16 steps at once, beside the CLIs that it runs.

    python -m benchmarks.many_at_once

Each step works 20 tool calls in two sessions, with one handoff in between; half of the tools are shells, half read a
file. Each answer of the model streams 300 characters in 25 parts and then calls one tool, and comes at once, so all
that is measured is work: with a real model there is much more waiting, and no other work.

*The supervisor's processor time* is user and system time of that process, all its threads, from when its Runtime is
entered until it is left. *The CLIs'* is that of everything below it, keepers taken off (a keeper is a process of ours,
and stands in a line of its own; what it has used is last looked at up to a tenth of a second before it ends).
At most 5 % is
kept with 16 steps alone. What a process does once (it loads what it needs when it is first needed, and spells out the
table of headings) is 0.1 s, which 4 steps and 1 step share among fewer; so they have promises of their own.
*Memory* is the largest resident set that the process ever had, Python, the SDK and shared libraries included.

*No step waits for another*: of 4 steps 3, of 16 steps 4 come to stand still, each in its own way (held at its
document, in a tool that hangs, in a handoff that is not finished, in the pauses after a server's errors). The others
go on only when these stand, and these only when all others have finished: a supervisor that lets one step wait for
another never comes to an end, and the measurement is void.

*The loop is kept* is how much later than asked for a task of that process's loop comes back; what the kernel says that
the thread waited for a processor is taken off.

The scripted model is in this process, so that its time is nobody's.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median, quantiles

from benchmarks.many_supervisor import HELD, LIMIT, Order, Told
from benchmarks.measure import Line, Size, check, mb, run
from flower_mcp.core.texts import load
from flower_mcp.demo.documents import FIRST
from flower_mcp.demo.model import Answer, Reply, Request, ScriptedModel, Sender, failure, text, tool
from flower_mcp.demo.script import TITLE
from flower_mcp.demo.world import DemoWorld, complete, prepare

CALLS = 10  # tools that each session calls
WORDS = "I look at the next part of it and write down what I find. " * 5
PARTS = 25  # events that the words of an answer come in
CPU_MOST = {1: 12.0, 4: 7.0, 16: 5.0}  # percent of the CLIs' processor time, by steps
MEMORY, MEMORY_EACH = 100e6, 2e6  # bytes, and for each step
OPENING = load("handoff").split(".")[0]
STUCK = {
    "held": HELD,
    "hangs": "Bash: head -c 1 ",
    "writes": "handoff writing",
    "pauses": ": trying again in ",
}
POLL = 0.05  # seconds between two looks at a sign


class Work:
    """The script: every step's two sessions, whichever asks."""

    def __init__(self, folder: Path, file: Path, stuck: dict[str, str]) -> None:
        self._folder, self._file, self._stuck = folder, file, stuck
        self._sessions: dict[str, str] = {}  # session -> step
        self._told: dict[str, int] = {}  # session -> answers

    async def __call__(self, request: Request) -> Answer:
        """The next answer of the session that asks."""
        if request.sender is not Sender.MAIN:
            return TITLE
        if request.session not in self._sessions:
            step = request.all_text().partition("The work of [")[2].partition("]")[0]
            is_second = step in self._sessions.values()
            self._sessions[request.session], self._told[request.session] = step, 0
            if is_second and step not in self._stuck:
                await self._until("ready")
        step = self._sessions[request.session]
        is_second = list(self._sessions.values()).index(step) != list(self._sessions).index(request.session)
        return await self._answer(request, step, is_second)

    async def _answer(self, request: Request, step: str, is_second: bool) -> Answer:
        kind = self._stuck.get(step, "")
        if request.asks(OPENING):
            if kind == "writes":
                await self._until("go")
            return streamed(text(FIRST)).at(156_000)
        told = self._told[request.session]
        if kind == "pauses" and told == CALLS // 2 and not is_second and not (self._folder / "go").exists():
            return failure(529, "overloaded_error", "Overloaded")
        self._told[request.session] += 1
        if kind == "hangs" and told == CALLS // 2 and not is_second:
            return tool("Bash", command=f"head -c 1 {self._folder / step}.pipe", timeout=600_000)
        if told < CALLS:
            return self._call(told, last=told == CALLS - 1 and not is_second)
        check(is_second, f"a session over the line went on: {step}")
        return streamed(text("Done."))

    def _call(self, told: int, *, last: bool) -> Reply:
        call = tool("Read", file_path=str(self._file)) if told % 2 else tool("Bash", command=f"head -n 20 {self._file}")
        return streamed(text(WORDS) + call).at(155_000 if last else 30_000 + 1_000 * told)

    async def _until(self, name: str) -> None:
        while not (self._folder / name).exists():
            await asyncio.sleep(POLL)


def streamed(reply: Reply) -> Reply:
    """The reply in as many parts as a real one."""
    return reply.but(chunk=len(WORDS) // PARTS)


class Keepers(threading.Thread):
    """Looks at the keepers below a process, which are known by their command, for what each has used by itself."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._used: dict[int, int] = {}  # nanoseconds, the last that were seen
        self._end = threading.Event()

    def run(self) -> None:
        """Look until the end."""
        while not self._end.wait(0.1):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    self._look(int(entry.name))

    def _look(self, pid: int) -> None:
        try:
            if b"keeper.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                self._used[pid] = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        except OSError:
            return

    def end(self) -> float:
        """Stop; the seconds of all of them."""
        self._end.set()
        self.join()
        return sum(self._used.values()) / 1e9


def supervise(world: DemoWorld, model: ScriptedModel, number: int) -> tuple[Told, float]:
    """Run so many steps at once in a process of their own; what that told, and the keepers' processor time."""
    folder = world.folder / f"many-{number}"
    folder.mkdir()
    steps = [f"step-{number}-{each}" for each in range(number)]
    kinds = list(STUCK)[: max(0, min(len(STUCK), number - 1))]
    stuck = dict(zip(steps, kinds, strict=False))
    for step, kind in stuck.items():
        if kind == "hangs":
            os.mkfifo(folder / f"{step}.pipe")
    model.script = Work(folder, world.workspace / "check.py", stuck)
    signs = {step: STUCK[kind] for step, kind in stuck.items()}
    order = Order(str(folder), str(world.workspace), str(folder / "runs"), world.model, world.window, steps, signs)
    command = [sys.executable, "-m", "benchmarks.many_supervisor"]
    keepers = Keepers()
    keepers.start()
    try:
        done = subprocess.run(
            command, input=json.dumps(asdict(order)), env=complete(world.environment), capture_output=True, text=True,
            timeout=LIMIT + 60, check=False,
        )  # fmt: skip
    finally:
        used = keepers.end()
    check(not done.returncode, f"{number} steps: {done.stderr[-3000:]}")
    check(not model.errors, str(model.errors))
    told = Told(**json.loads(done.stdout[done.stdout.index("{") :]))
    check(told.handoffs == number, f"{told.handoffs} of {number} steps handed off and finished")
    check(len(told.hooks) >= 1 * CALLS * number, f"{len(told.hooks)} boundaries")
    return told, used


def measure(size: Size) -> Iterator[Line]:
    """One supervisor after the other."""
    folder = tempfile.TemporaryDirectory(prefix="flower-benchmark-", ignore_cleanup_errors=True)
    with folder as name, ScriptedModel("Done.").in_thread() as model:
        world = prepare(Path(name), model.url)
        for number in (1, 4, 16) if size is Size.FULL else (1, 2):
            yield from lines(*supervise(world, model, number))


def lines(told: Told, keepers: float) -> Iterator[Line]:
    """What one process's figures say."""
    named = f"{told.steps} step{'s' if told.steps > 1 else ''} at once"
    clis = told.children_cpu - keepers
    yield Line(
        f"{named}: processor time beside the CLIs'", 100 * told.cpu / clis, "%", most=CPU_MOST.get(told.steps),
        shown=f"{told.cpu:.2f} s beside {clis:.1f} s, in {told.wall:.0f} s; importing the SDK {told.import_cpu:.2f} s",
    )  # fmt: skip
    yield Line(f"{named}: of keepers", 100 * keepers / clis, "%", shown=f"{keepers:.2f} s beside {clis:.1f} s")
    most = MEMORY + MEMORY_EACH * told.steps
    yield Line(
        f"{named}: memory beside 100 MB and 2 MB a step", told.memory_most / most, most=1.0,
        shown=f"{mb(told.memory_most)} of {mb(most)}; {mb(told.memory_before)} before the first step",
    )  # fmt: skip
    yield Line(
        f"{named}: longest that the loop was kept", 1000 * max(told.kept), "ms",
        shown=f"95 of 100: {1000 * quantiles(told.kept, n=20)[-1]:.1f} ms",
    )  # fmt: skip
    yield Line(
        f"{named}: boundary hook, longest", 1000 * max(told.hooks), "ms",
        shown=f"median {1000 * median(told.hooks):.1f} ms of {len(told.hooks)}",
    )  # fmt: skip


if __name__ == "__main__":
    run("Many steps in one supervisor", measure)
