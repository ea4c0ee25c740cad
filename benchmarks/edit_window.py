"""How soon a save in the edit window is known, and what a window that is turned off costs.

    python -m benchmarks.edit_window

*A save* is measured from the moment at which an editor has closed the file (written in place, as most do) to the moment
at which the live state on disk says `editing` with the new text's revision, marked as a person's edit. Another process
would see it in the same instant, since the file is replaced whole. Promise: 95 of 100 within 300 ms.

*No window* is measured from the frozen document (the event) to the launch's last look at it, with `edit_window=0`. The
comparison is the same run with a window of one second: what is left of the time when the second is taken off. Promise:
less than 50 ms on either side; nothing is watched and nothing waits.

The real supervisor and the real CLI run, with a scripted model.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

import anyio

from benchmarks.handoff_latency import LIMIT, OPENING, spec_of
from benchmarks.measure import Line, Size, check, ms, run
from flower_mcp import Event, HandoffPolicy, Runtime
from flower_mcp.demo.documents import FIRST
from flower_mcp.demo.model import ScriptedModel, Story, asks, text, tool
from flower_mcp.demo.world import DemoWorld, prepare
from flower_mcp.workbench.files import revision

SEEN_WITHIN = 300  # ms, for 95 of 100 saves
NOTHING = 50  # ms that a window may add beyond its own length
POLL = 0.002
WINDOW = 1.0


@dataclass(slots=True)
class Taken:
    """What a run gave, in seconds: a delay for each save, and from the frozen document to the closed window."""

    delays: list[float] = field(default_factory=list)
    frozen: float = 0.0
    launched: float = 0.0


def story(step: str) -> Story:
    """A session that hands over at once, and a successor that has nothing to do."""
    return Story(
        [
            tool("Bash", command="true", description=step).at(30_000),
            tool("Bash", command="true", description=step).at(155_000),
            text("Done.").at(30_000),
        ],
        branches=[(asks(OPENING), text(FIRST).at(156_000))],
    )


async def handed_over(world: DemoWorld, model: ScriptedModel, step: str, window: float, saves: int = 0) -> Taken:
    """Run a step that hands off once, with this window and so many saves in it."""
    taken, opened = Taken(), anyio.Event()
    model.script = story(step)

    def take(event: Event) -> None:
        phase = event.payload.get("phase")
        if event.kind == "handoff" and phase == "done":
            taken.frozen = time.monotonic()
        elif event.kind == "edit" and phase == "open":
            opened.set()
        elif event.kind == "session" and phase == "retired":
            taken.launched = time.monotonic()

    policy = HandoffPolicy(window=world.window, edit_window=window)
    runtime = Runtime(workspace=world.workspace, run_dir=world.run_dir, handoff=policy)
    async with runtime, anyio.create_task_group() as tasks:
        if saves:
            tasks.start_soon(save_often, world.workspace, step, opened, saves, taken)
        with anyio.fail_after(LIMIT + saves):
            result = await runtime.run(spec_of(world, step), world.task, on_event=take)
    check(result.ok and len(result.retired) == 1, f"the step did not go well: {result}")
    check(result.generations[0].edited == bool(saves), f"edited: {result.generations[0].edited}")
    return taken


async def save_often(workspace: Path, step: str, opened: anyio.Event, saves: int, taken: Taken) -> None:
    """Save, wait until the live state knows it, think for a moment, save again."""
    await opened.wait()
    document = workspace / ".flower" / "notes" / f"交接-{step}.md"
    content = document.read_text(encoding="utf-8")
    for number in range(saves):
        await anyio.sleep(0.15 + (number * 37 % 100) / 1000)  # at no fixed distance from the supervisor's own looks
        data = f"{content}- remark {number}\n".encode()
        began = await anyio.to_thread.run_sync(written, document, data)
        await anyio.to_thread.run_sync(until_known, workspace / ".flower" / "live" / f"{step}.json", revision(data))
        taken.delays.append(time.monotonic() - began)


def written(document: Path, data: bytes) -> float:
    """Save as an editor does; when it was done."""
    document.write_bytes(data)
    return time.monotonic()


def until_known(live: Path, wanted: str) -> None:
    """Look at the live state as another process would, until it tells of the save."""
    end = time.monotonic() + LIMIT
    while True:
        state = json.loads(live.read_bytes())
        known = state["document"] or {}
        if state["state"] == "editing" and known.get("revision") == wanted and known.get("edited"):
            return
        check(time.monotonic() < end, "the save was never known")
        time.sleep(POLL)


async def taken(saves: int, rounds: int, folder: Path) -> tuple[list[float], list[float], list[float]]:
    """The delays of all saves, and what is added without a window and beyond one, a sample a round."""
    without: list[float] = []
    beyond: list[float] = []
    with ScriptedModel("Done.").in_thread() as model:
        world = prepare(folder, model.url)
        os.environ.update(world.environment)
        for number in range(rounds):
            none = await handed_over(world, model, f"none-{number}", 0.0)
            one = await handed_over(world, model, f"one-{number}", WINDOW)
            without.append(none.launched - none.frozen)
            beyond.append(one.launched - one.frozen - WINDOW)
        delays = (await handed_over(world, model, "saves", WINDOW, saves + 1)).delays
        check(model.errors == [], str(model.errors))
    return delays[1:], without[1:] or without, beyond[1:] or beyond


def measure(size: Size) -> Iterator[Line]:
    """The saves, and both windows."""
    with tempfile.TemporaryDirectory(prefix="flower-benchmark-", ignore_cleanup_errors=True) as folder:
        delays, without, beyond = anyio.run(taken, size.of(40, 4), size.of(8, 1), Path(folder))
    late = quantiles(delays, n=20)[-1]
    shown = f"{len(delays)} saves, median {ms(delays)}"
    yield Line("a save to `editing` in the live state, 95 of 100", 1000 * late, "ms", most=SEEN_WITHIN, shown=shown)
    for name, samples in (("no window: frozen to launch", without), ("a window of 1 s: beyond it", beyond)):
        yield Line(name, 1000 * median(samples), "ms", most=NOTHING, shown=f"most {1000 * max(samples):.0f} ms")


if __name__ == "__main__":
    run("Edit window", measure)
