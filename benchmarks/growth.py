"""What grows with all that was there before: archived versions, steps, rows of runs, a document's length.

    python -m benchmarks.growth

A workspace that has seen much is compared with one that has seen one of each (benchmarks/worlds.py), in turns and by
processor time, in memory where there is such a folder: a disk's own time would hide what grows. Nothing may grow with
the archive but the look for temporary files at a run's start, which reads its names (10 to 18 ms for 10,000, so 3 x is
promised there), and nothing but two things with the steps:

- `flower status` of all steps lists them, so it is promised to be linear: a step among a thousand takes no longer than
  one among a hundred.
- The manifest has a row a run and is one file by its format, read at a run's start and written whole at each change of
  a row. A row costs some 60 microseconds at a start, parsing it once and copying it four times: a thousand rows 60 ms
  of the supervisor's time, beside the 15 ms that it takes without them and the half second of the CLI that it starts.
  So what the supervisor does until it would open the first session may take 8 x as long, and the same start with the
  real CLI up to its first request 1.3 x: wall time, the least of each, since a loaded machine only ever adds.

Reading and freezing are promised at 1.25 x, which is 1 and what a loaded machine adds; a process at 1.5 x, to which
it adds more. Freezing among a thousand steps may take 1.5 x, too: the list of what this machine knows as its own is
written anew, 60 kB of it.

The reader of documents is promised to be linear: a byte of 10 MB takes no more than twice the time of a byte of 100 kB,
also of one endless line, of code fences alone and of headings alone. benchmarks/events.py has the events.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import anyio

from benchmarks.measure import Line, Samples, Size, check, ms, run
from benchmarks.startup import FLOWER, processor_seconds
from benchmarks.worlds import HANDOFF, STEP, WORDS, World
from flower_mcp import AgentSpec, Handoff, HandoffPolicy, Runtime, Workbench
from flower_mcp.core.books import StepResult
from flower_mcp.demo.model import ScriptedModel, text
from flower_mcp.demo.world import prepare
from flower_mcp.server.steps import Steps

MEMORY = Path("/dev/shm")
FEW, SOME, MANY = 1, 100, {"versions": 10_000, "steps": 1_000, "runs": 1_000}
MOST = 1.25
OF_A_START = 8.0
LIMIT = 60.0  # seconds for one real run
DONE = "All is ported."


def kinds(size: Size) -> tuple[str, ...]:
    """What there is many of, in one world each."""
    return tuple(MANY) if size is Size.FULL else ("steps",)


def worlds(folder: Path, size: Size) -> dict[str, World]:
    """One of each, then some and many of one kind."""
    made = {"one": World(folder / "one")}
    for kind in kinds(size):
        for name, number in (("some", size.of(SOME, 3)), ("many", size.of(MANY[kind], 10))):
            made[f"{name} {kind}"] = World(folder / f"{name}-{kind}", **{kind: number})
    return {name: world.fill() for name, world in made.items()}


def taken(samples: Samples, name: str, work: Callable[[], Any]) -> Any:
    """Keep the processor time of the work; what it gave."""
    began = time.process_time()
    given = work()
    samples.add(name, time.process_time() - began)
    return given


def look(world: World, bench: Workbench, name: str, samples: Samples, number: int) -> None:
    """Read and freeze in this process, and a step's status as `flower status` and the server have it."""
    with world.entered():
        live = taken(samples, f"live {name}", lambda: Steps(bench).live(STEP))
        check(live is not None and live.document is not None, "no status")
        document = taken(samples, f"read {name}", lambda: bench.read(STEP))
        check(document.handoff.doing.startswith("The importer"), "not the document")
        changed = Handoff(doing=f"{number}. {WORDS}", decided=WORDS, deadends=WORDS, next=WORDS, scene=WORDS)
        frozen = taken(samples, f"freeze {name}", lambda: bench.freeze(STEP, changed))
        check(frozen.archived is not None and frozen.archived.read_bytes() == document.data, "the old one is not kept")
        check(f"{number}. The importer".encode() in frozen.path.read_bytes(), "not the frozen text")
        bench.freeze(STEP, HANDOFF).path.touch()
        for version in bench.history(STEP)[world.versions :]:
            version.path.unlink()


def called(world: World, name: str, samples: Samples) -> None:
    """`flower status` of the step, and of all."""
    with world.entered():
        where = ("-w", str(world.workspace))
        samples.add(f"status {name}", processor_seconds([FLOWER, "status", STEP, *where], expected=STEP))
        if "versions" not in name and "runs" not in name:
            last = f"step-{world.steps - 1}"
            samples.add(f"all {name}", processor_seconds([FLOWER, "status", *where], expected=last))


def started(world: World, name: str, samples: Samples, times: int) -> None:
    """What a run does until it would open its first session, in a process of its own; the first one does not count."""
    with world.entered() as bench:
        kept = bench.lives.path(STEP).read_bytes()
        command = [sys.executable, "-m", "benchmarks.growth_run", str(world.workspace), str(world.run_dir), STEP]
        done = subprocess.run([*command, str(times + 1)], capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"no run: {done.stderr or done.stdout}")
        told = [json.loads(line) for line in done.stdout.splitlines()]
        for each in told[1:-1]:
            samples.add(f"start {name}", each["seconds"])
        bench.lives.path(STEP).write_bytes(kept)  # the next ones find what these have found


async def opened(world: World, environment: Mapping[str, str], model: ScriptedModel) -> float:
    """Seconds from the call to the successor's first request, with the real CLI, from the document that waits."""
    with world.entered() as bench:
        path, before = bench.lives.path(STEP), len(model.requests)
        kept = path.read_bytes()
        spec = AgentSpec(model="claude-sonnet-4-5", permission_mode="bypassPermissions", env=dict(environment))
        began = time.time()
        async with Runtime(
            workspace=world.workspace, run_dir=world.run_dir, handoff=HandoffPolicy(window=200_000)
        ) as runtime:
            with anyio.fail_after(LIMIT):
                result: StepResult = await runtime.run(spec, step=STEP)
        check(result.ok and result.text == DONE, f"the run did not go well: {result}")
        first = next(each for each in model.requests[before:] if each.session == result.session_id)
        check(WORDS in first.last_text(), f"the document was not delivered: {first.last_text()[:500]}")
        path.write_bytes(kept)  # the next one is the same
    return first.at - began


def real_starts(all_worlds: Mapping[str, World], folder: Path, rounds: int) -> Iterator[Line]:
    """The worlds of one, and of most, in turns."""
    names, samples = [name for name in all_worlds if not name.startswith("some")], Samples()
    with ScriptedModel(text(DONE).at(30_000)).in_thread() as model:
        environment = prepare(folder, model.url).environment
        for _ in range(rounds):
            for name in names:
                samples.add(name, anyio.run(opened, all_worlds[name], environment, model))
        check(not model.errors, str(model.errors))
    for name in names[1:]:
        kind = name.removeprefix("many ")
        least, base = min(samples.counted(name)), min(samples.counted("one"))
        title = f"a run's start to its first request, {counted(all_worlds, kind)}"
        yield Line(title, least / base, most=1.3, shown=f"{ms([least])} beside {ms([base])}")


def counted(all_worlds: Mapping[str, World], kind: str) -> str:
    """How many of what."""
    words = {"versions": "archived versions", "steps": "steps", "runs": "runs of one step"}
    return f"{getattr(all_worlds[f'many {kind}'], kind):,} {words[kind]}"


def grown(all_worlds: Mapping[str, World], rounds: int) -> Iterator[Line]:
    """All but the real CLI, a round of each world in turns."""
    samples, benches = Samples(), {name: Workbench(world.workspace) for name, world in all_worlds.items()}
    for number in range(rounds * 8):  # a machine's speed changes within a second, so they are taken in short turns
        for name, world in all_worlds.items():
            look(world, benches[name], name, samples, number)
    for _ in range(rounds):
        for name, world in all_worlds.items():
            called(world, name, samples)
    for _ in range(min(rounds, 2)):
        for name, world in all_worlds.items():
            started(world, name, samples, rounds)
    titles = {"status": "flower status STEP", "live": "a step's status", "read": "read", "freeze": "freeze"}
    for kind in (name.removeprefix("many ") for name in all_worlds if name.startswith("many")):
        for key, title in titles.items():
            most = 1.5 if key == "status" or (key, kind) == ("freeze", "steps") else MOST
            yield _beside_one(samples, all_worlds, title, key, kind, most=most)
        most = 3 if kind == "versions" else OF_A_START
        yield _beside_one(samples, all_worlds, "what precedes the first session", "start", kind, most=most)
    yield _of_all(samples, all_worlds)


def _beside_one(
    samples: Samples, all_worlds: Mapping[str, World], title: str, key: str, kind: str, *, most: float
) -> Line:
    number = getattr(all_worlds[f"some {kind}"], kind)
    line = samples.ratio(f"{title}, {counted(all_worlds, kind)}", f"{key} many {kind}", f"{key} one", most=most)
    return replace(line, shown=f"{line.shown}; with {number} {ms(samples.counted(f'{key} some {kind}'))}")


def _of_all(samples: Samples, all_worlds: Mapping[str, World]) -> Line:
    """What a step adds to `flower status` among many, beside what it adds among some."""
    one, some, many = (median(samples.counted(f"all {name}")) for name in ("one", "some steps", "many steps"))
    counts = [all_worlds[name].steps - 1 for name in ("some steps", "many steps")]
    each = [(some - one) / counts[0], (many - one) / counts[1]]
    shown = f"{each[1] * 1000:.2f} ms a step beside {each[0] * 1000:.2f} ms; all {ms([many])}"
    return Line(f"flower status, a step among {counts[1] + 1:,} beside one of fewer", each[1] / each[0], most=1.3,
                shown=shown)  # fmt: skip


def sections(size: int) -> str:
    """A document as sessions write it."""
    words = WORDS * (size // 3 // len(WORDS) + 1)
    return Handoff(doing=words, next=words, scene=words).to_markdown()


SHAPES: dict[str, Callable[[int], str]] = {
    "five sections": sections,
    "one line": lambda size: "## Next\n\n" + "x" * size,
    "fences alone": lambda size: "## Next\n\nGo on.\n" + "```\n" * (size // 4),
    "headings alone": lambda size: "## Next steps\n\nGo on.\n" + "## Item of the next list\n" * (size // 25),
}


def reader(size: Size) -> Iterator[Line]:
    """Processor time of a byte, in documents of each size."""
    sizes = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)[: size.of(5, 3)]
    largest, base = sizes[-1], sizes[-3]
    for name, shape in SHAPES.items():
        costs = {}
        for length in sizes:
            document = shape(length)
            samples = [_read(document) for _ in range(3 if length <= base else 1)]
            costs[length] = median(samples) / len(document)
        shown = ", ".join(f"{value * 1e9:.0f}" for value in costs.values()) + " ns a byte"
        title = f"reading {name}, a byte of {largest // 1000:,} kB beside one of {base // 1000:,} kB"
        yield Line(title, costs[largest] / costs[base], most=2, shown=shown)


def _read(document: str) -> float:
    began = time.process_time()
    found = Handoff.from_markdown(document)
    took = time.process_time() - began
    check(found.next, "the section was not read")
    return took


def measure(size: Size) -> Iterator[Line]:
    """All of it."""
    where = MEMORY if MEMORY.is_dir() else None
    with ExitStack() as stack:
        enter = stack.enter_context
        folder = enter(tempfile.TemporaryDirectory(prefix="flower-benchmark-", dir=where, ignore_cleanup_errors=True))
        home = enter(tempfile.TemporaryDirectory(prefix="flower-benchmark-", ignore_cleanup_errors=True))
        all_worlds = worlds(Path(folder), size)
        yield from grown(all_worlds, size.of(3, 1))
        yield from real_starts(all_worlds, Path(home), size.of(3, 1))
    yield from reader(size)


if __name__ == "__main__":
    run("Growth: with the most beside with one", measure)
