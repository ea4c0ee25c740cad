"""How long a handoff takes, in cold starts of the CLI, and that no successor's process is left behind.

    python -m benchmarks.handoff_latency

*A handoff* is measured from the break to the successor's first request. The break is the moment at which the last tool
of the session over the line has done its work: that tool touches a file, and the file's time is the start (a file's
time may be up to 4 ms early; that makes the figure longer, never shorter). The end is the arrival of the successor's
first request at the model. In between lies all that a handoff is: the boundary, the drain, the handoff turn (one
request and one answer, at once), the freeze with its look at git, the successor's start. There is no edit window.

*A turn of 2 s* is a handoff whose request the model answers two seconds late, which real ones take at least. The
successor's process is started when the drain is over, so it is there by then: measured from the frozen document.

*A cold start* is measured from before the client is made to the arrival of its first request. It has the options of the
supervisor's own sessions, but is the bare CLI without the keeper: nothing of ours is in what we compare with.

All go to the same scripted model, in turns; the first round is thrown away (it fills caches). What was timed is checked
in every round: the step went well, the document on disk is the session's own, its text is in the request that ended
the measurement, and no process of the run is left. So it is looked at once where no successor is needed although its
process runs by then: a run that is stopped while its session writes, and one whose credentials are refused meanwhile.
"""

from __future__ import annotations

import os
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from claude_agent_sdk import CanUseToolShadowedWarning, ClaudeAgentOptions, ClaudeSDKClient, PermissionResultAllow
from claude_agent_sdk.types import ToolPermissionContext

from benchmarks.measure import Line, Samples, Size, check, ms, run
from flower_mcp import AgentSpec, HandoffPolicy, Runtime, Workbench
from flower_mcp.core.books import WrittenBy
from flower_mcp.core.texts import load
from flower_mcp.demo.documents import FIRST
from flower_mcp.demo.model import Answer, Request, ScriptedModel, Source, Story, asks, failure, text, tool
from flower_mcp.demo.world import DemoWorld, prepare
from flower_mcp.runtime import keeper
from flower_mcp.runtime.gate import Gate
from flower_mcp.runtime.keeping import bundled_cli
from flower_mcp.runtime.keeping import prepare as prepare_keeper
from flower_mcp.runtime.options import Opening, firm_settings, options_for, session_environment
from flower_mcp.runtime.reader import Reader

MOST = 1.25  # cold starts, from the break to the successor's first request
MOST_AFTER = 0.4  # cold starts, from the frozen document to it, when the turn took 2 s
SLOW = 2.0  # seconds
LIMIT = 60.0  # seconds for one handoff or one start; a machine that needs longer measures nothing
OPENING = load("handoff").split(".")[0]
DONE = "Done."
PARTS = {"asked": "to the handoff request", "frozen": "to the frozen document", "began": "to the successor's request"}


@dataclass(frozen=True, slots=True)
class Moments:
    """When one handoff's moments were, in seconds of `time.time()`."""

    broke: float
    asked: float
    frozen: float
    began: float


def spec_of(world: DemoWorld, step: str) -> AgentSpec:
    """The agent of both measurements."""
    return AgentSpec(name=step, model=world.model, permission_mode="bypassPermissions", env=world.environment)


def policy_of(world: DemoWorld) -> HandoffPolicy:
    """A window that is known beforehand, and no edit window."""
    return HandoffPolicy(window=world.window, edit_window=0)


def story_of(mark: Path, document: Source) -> Story:
    """A session that touches the mark and hands over, and a successor that has nothing to do."""
    return Story(
        [
            tool("Bash", command="true", description="Work").at(30_000),
            tool("Bash", command=f"touch '{mark}'", description="Work").at(155_000),
            text(DONE).at(30_000),
        ],
        branches=[(asks(OPENING), document)],
    )


async def handoff(world: DemoWorld, model: ScriptedModel, step: str, delay: float = 0.0) -> Moments:
    """Run a step that hands off once; its moments. `delay`: seconds that the model takes for the document."""
    mark = world.folder / step
    story = story_of(mark, text(FIRST).at(156_000).but(delay=delay))
    model.script, before = story, len(model.requests)
    frozen: list[float] = []
    async with Runtime(workspace=world.workspace, run_dir=world.run_dir, handoff=policy_of(world)) as runtime:
        with anyio.fail_after(LIMIT):
            result = await runtime.run(
                spec_of(world, step),
                world.task,
                on_event=lambda event: frozen.append(time.time()) if event.payload.get("phase") == "done" else None,
            )
    requests = model.requests[before:]
    firsts = [request for request in requests if request.session == result.session_id]
    asking = [request for request in requests if request.asks(OPENING)]
    check(result.ok and story.left == 0 and len(result.retired) == 1, f"the step did not go well: {result}")
    check(len(asking) == 1 and len(frozen) == 1, f"{len(asking)} handoff requests, {len(frozen)} freezes")
    generation, document = result.generations[0], Workbench(world.workspace).read(step)
    check(document is not None and document.revision == generation.frozen == generation.launched, "not the frozen text")
    check(generation.written_by is WrittenBy.SESSION and not result.errors, f"not the session's own: {result.errors}")
    check(document is not None and document.text.rstrip("\n") in firsts[0].last_text(), "the text was not delivered")
    check(not processes(step), f"left behind: {processes(step)}")
    return Moments(mark.stat().st_mtime, asking[0].at, frozen[0], firsts[0].at)


def cold_options(world: DemoWorld) -> ClaudeAgentOptions:
    """The options of a supervisor's session, for the bare CLI."""

    async def allow(tool_name: str, given: dict[str, object], context: ToolPermissionContext) -> PermissionResultAllow:
        return PermissionResultAllow()

    spec, run_id = spec_of(world, "cold"), str(uuid.uuid4())
    ours = session_environment(spec, policy_of(world), run=run_id, environ=os.environ)
    keeper = prepare_keeper(bundled_cli(), world.run_dir, run_id=run_id, ours=ours)
    options = options_for(
        spec,
        Opening(str(uuid.uuid4())),
        workspace=world.workspace,
        keeper=keeper,
        gate=Gate(Reader(), lambda: None),
        can_use_tool=allow,
        mcp_server=None,
        settings=firm_settings(ours, os.environ),
        stderr=lambda line: None,
    )
    keeper.close()
    return replace(options, cli_path=bundled_cli(), env=ours)


async def cold_start(world: DemoWorld, model: ScriptedModel) -> float:
    """Seconds from nothing to the first request of a new CLI."""
    model.script, before = text(DONE).at(30_000), len(model.requests)
    options = cold_options(world)
    with anyio.fail_after(LIMIT), warnings.catch_warnings():
        warnings.simplefilter("ignore", CanUseToolShadowedWarning)
        began = time.time()
        async with ClaudeSDKClient(options) as client:
            await client.query(world.task)
            answers = [message async for message in client.receive_response()]
    request: Request = model.requests[before]
    check(world.task in request.last_text(), "the prompt was not delivered")
    check(getattr(answers[-1], "result", None) == DONE, f"the CLI did not go well: {answers[-1]}")
    return request.at - began


def processes(step: str) -> dict[int, str]:
    """The processes that a step has, by its mark, with their keepers' ids."""
    found = keeper.processes()
    marked = keeper.marked(found, "FLOWER_STEP", step)
    return {pid: found[pid][1].decode(errors="replace").partition("\0FLOWER_KEEPER=")[2][:16] for pid in marked}


async def until_started(step: str) -> None:
    """Wait until the successor's process runs beside the session's own."""
    with anyio.fail_after(LIMIT):
        while len(set(processes(step).values())) < 2:
            await anyio.sleep(0.02)


async def unneeded(world: DemoWorld, model: ScriptedModel, *, stopped: bool) -> None:
    """Run a step that ends in its handoff turn, once the successor's process runs; look at what is left of it."""
    step = "stopped" if stopped else "refused"
    runtime = Runtime(workspace=world.workspace, run_dir=world.run_dir, handoff=policy_of(world))

    async def write(request: Request) -> Answer:
        await until_started(step)
        if stopped:
            runtime.stop(step)
            return text(FIRST).but(delay=LIMIT)
        return failure(401, "authentication_error", "invalid x-api-key")

    model.script = story_of(world.folder / step, write)
    async with runtime:
        with anyio.fail_after(LIMIT):
            result = await runtime.run(spec_of(world, step), world.task)
    check(not result.ok and not result.retired, f"{step} went on: {result}")
    check(not processes(step), f"{step}, left behind: {processes(step)}")


async def taken(rounds: int, folder: Path) -> Samples:
    """Take all in turns."""
    samples = Samples()
    async with ScriptedModel(DONE) as model:
        world = prepare(folder, model.url)
        os.environ.update(world.environment)
        for number in range(rounds):
            samples.add("cold", await cold_start(world, model))
            at_once = await handoff(world, model, f"round-{number}")
            slow = await handoff(world, model, f"slow-{number}", delay=SLOW)
            samples.add("handoff", at_once.began - at_once.broke)
            samples.add("asked", at_once.asked - at_once.broke)
            samples.add("frozen", at_once.frozen - at_once.asked)
            samples.add("began", at_once.began - at_once.frozen)
            samples.add("slow", slow.began - slow.frozen)
            check(slow.frozen - slow.asked >= SLOW, "the model answered at once")
        check(model.errors == [], str(model.errors))
        for stopped in (True, False) if rounds > 1 else (True,):
            await unneeded(world, model, stopped=stopped)
    return samples


def measure(size: Size) -> Iterator[Line]:
    """The ratios, what they are made of, and that nothing is left."""
    with tempfile.TemporaryDirectory(prefix="flower-benchmark-", ignore_cleanup_errors=True) as folder:
        samples = anyio.run(taken, size.of(8, 1), Path(folder))
    whole = samples.ratio("break to the successor's first request, beside a cold start", "handoff", "cold", most=MOST)
    parts = [f"{ms(samples.counted(name))} {words}" for name, words in PARTS.items()]
    yield replace(whole, shown=f"{whole.shown}: {', '.join(parts)}")
    yield samples.ratio("handoff turn of 2 s: frozen document to first request", "slow", "cold", most=MOST_AFTER)
    yield Line("processes left, also where no successor is needed", 0, "", most=0, shown="looked at after every round")


if __name__ == "__main__":
    run("Handoff, beside a cold start of the CLI", measure)
