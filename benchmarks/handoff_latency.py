"""How long a handoff takes, as a multiple of one cold start of the CLI: at most 1.5, with an instant model.

    python -m benchmarks.handoff_latency [rounds]

*A handoff* is measured from the break to the successor's first request. The break is the moment at which the last tool
of the session over the line has done its work: that tool touches a file, and the file's time is the start (a file's
time may be up to 4 ms early; that makes the figure longer, never shorter). The end is the arrival of the successor's
first request at the model. In between lies all that a handoff is: the boundary, the drain, the handoff turn (one
request and one answer, at once), the freeze with its look at git, the successor's start. There is no edit window.

*A cold start* is measured from before the client is made to the arrival of its first request. It has the options of the
supervisor's own sessions, but is the bare CLI without the keeper: nothing of ours is in what we compare with.

Both go to the same scripted model, in turns; the first round is thrown away (it fills caches). What was timed is
checked in every round: the step went well, the document on disk is the session's own, and its text is in the request
that ended the measurement. Exits 1 when the ratio is missed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import uuid
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from claude_agent_sdk import CanUseToolShadowedWarning, ClaudeAgentOptions, ClaudeSDKClient, PermissionResultAllow
from claude_agent_sdk.types import ToolPermissionContext

from benchmarks.measure import Ratio, Row, report
from flower_mcp import AgentSpec, HandoffPolicy, Runtime, Workbench
from flower_mcp.core.books import WrittenBy
from flower_mcp.core.texts import load
from flower_mcp.demo.documents import FIRST
from flower_mcp.demo.model import Request, ScriptedModel, Story, asks, text, tool
from flower_mcp.demo.world import DemoWorld, prepare
from flower_mcp.runtime.gate import Gate
from flower_mcp.runtime.keeping import bundled_cli
from flower_mcp.runtime.keeping import prepare as prepare_keeper
from flower_mcp.runtime.options import Opening, firm_settings, options_for, session_environment
from flower_mcp.runtime.reader import Reader

ROUNDS = 9
MOST = 1.5
LIMIT = 60.0  # seconds for one handoff or one start; a machine that needs longer measures nothing
OPENING = load("handoff").split(".")[0]
DONE = "Done."


@dataclass(frozen=True, slots=True)
class Moments:
    """When one handoff's moments were, in seconds of `time.time()`."""

    broke: float
    asked: float
    frozen: float
    began: float


def check(fact: bool, what: str) -> None:
    """Raise RuntimeError: what was timed was not what should be timed."""
    if not fact:
        raise RuntimeError(f"the measurement is void: {what}")


def spec_of(world: DemoWorld, step: str) -> AgentSpec:
    """The agent of both measurements."""
    return AgentSpec(name=step, model=world.model, permission_mode="bypassPermissions", env=world.environment)


def policy_of(world: DemoWorld) -> HandoffPolicy:
    """A window that is known beforehand, and no edit window."""
    return HandoffPolicy(window=world.window, edit_window=0)


async def handoff(world: DemoWorld, model: ScriptedModel, step: str) -> Moments:
    """Run a step that hands off once; its moments."""
    mark = world.folder / step
    story = Story(
        [
            tool("Bash", command="true", description="Work").at(30_000),
            tool("Bash", command=f"touch '{mark}'", description="Work").at(155_000),
            text(DONE).at(30_000),
        ],
        branches=[(asks(OPENING), text(FIRST).at(156_000))],
    )
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


async def measure(rounds: int, folder: Path) -> tuple[Ratio, list[Row]]:
    """Take both in turns, `rounds` times after one that does not count."""
    starts: list[float] = []
    handoffs: list[Moments] = []
    with ScriptedModel(DONE).in_thread() as model:
        world = prepare(folder, model.url)
        os.environ.update(world.environment)
        for number in range(rounds + 1):
            starts.append(await cold_start(world, model))
            handoffs.append(await handoff(world, model, f"round-{number}"))
        check(model.errors == [], str(model.errors))
    taken = handoffs[1:]
    ratio = Ratio(
        Row("break to the successor's first request", [each.began - each.broke for each in taken]),
        Row("cold start of the CLI to its first request", starts[1:]),
        MOST,
    )
    parts = [
        Row("  of it: break to the handoff request", [each.asked - each.broke for each in taken]),
        Row("  of it: to the frozen document", [each.frozen - each.asked for each in taken]),
        Row("  of it: to the successor's first request", [each.began - each.frozen for each in taken]),
    ]
    return ratio, parts


def main(rounds: int = ROUNDS) -> bool:
    """Measure and print; whether the promise is kept. Changes this process's environment."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE", "DISABLE_", "FLOWER")):
            del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="flower-benchmark-", ignore_cleanup_errors=True) as folder:
        ratio, parts = anyio.run(measure, rounds, Path(folder))
    return report("handoff latency", ratio, parts)


if __name__ == "__main__":
    sys.exit(0 if main(*map(int, sys.argv[1:])) else 1)
