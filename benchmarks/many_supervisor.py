"""One supervisor process that runs several steps at once, and says what that cost it and whether its loop stood still.

many_at_once.py starts it, with an order as JSON on standard input, and gets a JSON object on standard output. It knows
the public Runtime and nothing of the model that answers. The steps of the order that are `stuck` come to stand still,
each in its own way; the others are let go on only then, and the stuck ones only when all others have finished. So a
step that waits for another one is seen by construction: this ends with an error, and not with a longer time.

What can hurt: what is measured here must not measure itself, so the loop is looked at 20 times a second and not more
often. A machine that gives this process no time makes its loop late, too; the kernel counts that (schedstat), and it is
taken off.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

TICK = 0.05  # seconds between two looks at the loop
LIMIT = 180.0  # seconds for all steps
HELD = "edit held"


@dataclass(frozen=True, slots=True)
class Order:
    """What to run. `stuck` are those of the steps that come to stand still: step -> the sign of it.

    `folder` is where `ready` and `go` are written, and where the pipe lies that a hanging tool reads.
    """

    folder: str
    workspace: str
    run_dir: str
    model: str
    window: int
    steps: list[str]
    stuck: dict[str, str]


@dataclass(slots=True)
class Told:
    """What it cost. Times in seconds, memory in bytes; `kept` are the longest times that the loop was not free."""

    steps: int = 0
    import_cpu: float = 0.0
    cpu: float = 0.0
    children_cpu: float = 0.0
    wall: float = 0.0
    memory_before: int = 0
    memory_most: int = 0
    private: int = 0
    kept: list[float] = field(default_factory=list)
    hooks: list[float] = field(default_factory=list)
    events: int = 0
    handoffs: int = 0


def cpu(who: int) -> float:
    """User and system time so far."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def memory(name: str, file: str = "status") -> int:
    """A line of /proc/self in bytes: VmRSS, VmHWM, or of smaps_rollup Private_Dirty and the like."""
    for line in Path(f"/proc/self/{file}").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


def waited(schedstat: int) -> float:
    """Seconds that the thread of this open file was ready and got no processor."""
    return int(os.pread(schedstat, 100, 0).split()[1]) / 1e9


class Clock:
    """Looks at the loop again and again: how much later than asked for it came back, without what the kernel owed."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._loop = asyncio.get_running_loop()
        self._schedstat = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        self._owed, self._began = waited(self._schedstat), time.monotonic()
        self._timer = self._loop.call_later(TICK, self._tick)

    def _tick(self) -> None:
        now, owes = time.monotonic(), waited(self._schedstat)
        self._told.kept.append(max(0.0, now - self._began - TICK - (owes - self._owed)))
        self._began, self._owed = now, owes
        self._timer = self._loop.call_later(TICK, self._tick)

    def stop(self) -> None:
        """Look no more."""
        self._timer.cancel()
        os.close(self._schedstat)


def clock_hooks(told: Told) -> None:
    """Have each boundary hook's time taken down."""
    from flower_mcp.runtime.gate import Gate

    inner: Callable[..., Awaitable[Any]] = Gate._after_batch

    async def clocked(self: Gate, *given: Any) -> Any:
        began = time.monotonic()
        try:
            return await inner(self, *given)
        finally:
            told.hooks.append(time.monotonic() - began)

    Gate._after_batch = clocked  # type: ignore[method-assign, assignment]


class Steps:
    """The steps of an order while they run: which stand still, which have finished."""

    def __init__(self, order: Order, told: Told) -> None:
        import anyio

        from flower_mcp import AgentSpec, HandoffPolicy, RetryPolicy, Runtime

        self.order, self.told = order, told
        self.folder = Path(order.folder)
        self.standing: set[str] = set()
        self.all_stand, self.others_finished = anyio.Event(), anyio.Event()
        self.left = set(order.steps) - set(order.stuck)
        self.spec = AgentSpec(model=order.model, permission_mode="bypassPermissions")
        self.runtime = Runtime(
            workspace=order.workspace,
            run_dir=order.run_dir,
            handoff=HandoffPolicy(window=order.window, edit_window=0),
            retry=RetryPolicy(max_attempts=100, cap=4.0),
        )

    async def run(self) -> None:
        """Run all of them."""
        import anyio

        clock = Clock(self.told)
        with anyio.fail_after(LIMIT):
            async with self.runtime, anyio.create_task_group() as running:
                for step in self.order.steps:
                    running.start_soon(self.step, step)
                await self.let_go()
        clock.stop()

    async def step(self, step: str) -> None:
        """Run one, and look at its end."""
        result = await self.runtime.run(self.spec, f"The work of [{step}].", step=step, on_event=self.listener(step))
        if not result.ok or len(result.retired) != 1 or any("交接" in error for error in result.errors):
            raise RuntimeError(f"{step} did not go well: {result}")
        self.told.handoffs += 1
        self.left.discard(step)
        if not self.left:
            self.others_finished.set()

    def listener(self, step: str) -> Callable[[Any], None]:
        """Take down when a stuck step stands still: its sign is `kind phase`, or a part of its text."""
        sign = self.order.stuck.get(step)

        def take(event: Any) -> None:
            self.told.events += 1
            if sign == HELD and f"{event.kind} {event.payload.get('phase')}" == "session started":
                self.runtime.hold(step)  # what lies there before a step's first run is not this machine's
            if sign and step not in self.standing:
                is_there = f"{event.kind} {event.payload.get('phase')}" == sign or sign in event.text
                if is_there:
                    self.standing.add(step)
                    if self.standing == set(self.order.stuck):
                        self.all_stand.set()

        return take

    async def let_go(self) -> None:
        """Let the others go on once the stuck ones stand still, and these once the others have finished."""
        import anyio

        if not self.order.stuck:
            (self.folder / "ready").touch()
            return
        await self.all_stand.wait()
        (self.folder / "ready").touch()
        await self.others_finished.wait()
        (self.folder / "go").touch()
        for step, sign in self.order.stuck.items():
            if sign == HELD:
                self.runtime.release(step)
        for pipe in self.folder.glob("*.pipe"):
            await anyio.to_thread.run_sync(pipe.write_bytes, b"\n")


def main() -> None:
    """Do what the order says."""
    order = Order(**json.load(sys.stdin))
    told = Told(steps=len(order.steps))
    began = cpu(resource.RUSAGE_SELF)
    import anyio

    from flower_mcp.cli.run import load_runtime

    load_runtime()  # as flower does
    told.import_cpu = cpu(resource.RUSAGE_SELF) - began
    told.memory_before = memory("VmRSS")
    clock_hooks(told)
    before, started = (cpu(resource.RUSAGE_SELF), cpu(resource.RUSAGE_CHILDREN)), time.monotonic()
    anyio.run(Steps(order, told).run)
    told.wall = time.monotonic() - started
    told.cpu = cpu(resource.RUSAGE_SELF) - before[0]
    told.children_cpu = cpu(resource.RUSAGE_CHILDREN) - before[1]
    told.memory_most = memory("VmHWM")
    told.private = memory("Private_Dirty", "smaps_rollup")
    json.dump(asdict(told), os.fdopen(os.dup(1), "w"))


if __name__ == "__main__":
    main()
