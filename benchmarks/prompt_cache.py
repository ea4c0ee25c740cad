"""How much of what a session has paid for its handoff request uses again: all of it, at least 100 %.

    python -m benchmarks.prompt_cache

*Kept* is the share of the last working request (tools, system, messages: bytes of JSON, `cache_control` aside) that the
handoff request begins with. It is taken

- at an ordinary handoff, when the context crosses the line;
- after a budget: a run is stopped by its budget, a second one resumes the session with more. Its first request is held
  against the last one before the stop, and later its handoff request against its own last working one;
- after a rewind: the request of the fork that writes, up to the message that it goes back to. That message itself,
  a tool result, the CLI sends with another reminder (`total_tokens`) in a fork, wherever the history is cut, so it is
  paid for again; a line without a promise tells how much that is.

Each with the real CLI and two models, since with Sonnet 4.5 the CLI puts its reminders into the tool results, and with
Sonnet 5 behind them, as messages of the system that then end the prompt. A figure is the lower one of the two.

Equal bytes are worth nothing where the CLI sets no breakpoint. So all requests of a run also go through a prompt cache
that keeps the provider's rules (`flower_mcp/demo/cache.py`). *Served* is the share of the last working request's tokens
that this cache serves to the handoff request.

What can hurt: a prefix that is equal but has another request's; so the requests are found by what they ask and how many
messages they carry, never by what they have in common.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from benchmarks.measure import Line, Size, check, run
from flower_mcp import AgentSpec, HandoffPolicy, Runtime, StepResult
from flower_mcp.core.texts import load
from flower_mcp.demo.cache import PromptCache
from flower_mcp.demo.documents import FIRST
from flower_mcp.demo.model import Reply, Request, ScriptedModel, Sender, Story, Usage, asks, overflow, text, tool
from flower_mcp.demo.prefix import CommonPrefix, common_prefix_share
from flower_mcp.demo.world import TASK, DemoWorld, prepare

MODELS = {"claude-sonnet-4-5": "Sonnet 4.5", "claude-sonnet-5": "Sonnet 5"}
LIMIT = 120.0  # seconds for one run; a machine that needs longer measures nothing
DONE = "Done."
LAST = "rewind, with that message"
is_asked = asks(load("handoff").split(".")[0])
writes = [(is_asked, text(FIRST).at(156_000))]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two requests, and how the cache served the second; `carried` are the first one's tokens."""

    before: Request
    after: Request
    usage: Usage
    carried: int

    @property
    def common(self) -> CommonPrefix:
        """What they begin with, both."""
        return common_prefix_share(self.before, self.after)

    @property
    def kept(self) -> str:
        """The bytes, as text."""
        return f"{self.common.kept / 1000:.1f} of {self.common.whole / 1000:.1f} kB, {self.common.new / 1000:.1f} new"

    @property
    def served(self) -> str:
        """The tokens, as text."""
        read, paid = self.usage.cache_read, self.usage.context - self.usage.cache_read
        return f"{read:,} of {self.carried:,} tokens, {paid:,} new"


def command(number: int) -> Reply:
    """A piece of work that puts 12 kB into the conversation."""
    return tool("Bash", command=f"seq {number}000 {number}999; seq {number}0000 {number}1399", description="Work")


def spec_of(world: DemoWorld, step: str, budget: float | None = None) -> AgentSpec:
    """The agent of a step."""
    spec = AgentSpec(name=step, model=world.model, permission_mode="bypassPermissions", env=world.environment)
    return replace(spec, max_budget_usd=budget)


async def work(world: DemoWorld, spec: AgentSpec, prompt: str) -> StepResult:
    """Run a step to its end, or to the end of its budget."""
    policy = HandoffPolicy(window=world.window, edit_window=0)
    with anyio.fail_after(LIMIT):
        async with Runtime(workspace=world.workspace, run_dir=world.run_dir, handoff=policy) as runtime:
            return await runtime.run(spec, prompt)


def paired(requests: list[Request], before: Request, after: Request) -> Pair:
    """The two with the cache's answers, when it has seen all requests in their order."""
    cache = PromptCache()
    usages = {request.number: cache.take(request.body) for request in requests}
    return Pair(before, after, usages[after.number], usages[before.number].context)


def asked_once(requests: list[Request]) -> tuple[int, Request]:
    """The handoff request, and its place."""
    asked = [(place, request) for place, request in enumerate(requests) if is_asked(request)]
    check(len(asked) == 1, f"{len(asked)} handoff requests")
    return asked[0]


async def ordinary(world: DemoWorld, model: ScriptedModel) -> dict[str, Pair]:
    """A session that crosses the line."""
    story = Story([command(1).at(60_000), command(2).at(155_000), text(DONE).at(30_000)], branches=writes)
    requests, result = await told(world, model, story, spec_of(world, "ordinary"))
    check(result.ok and len(result.generations) == 2, f"the step did not go well: {result}")
    place, asked = asked_once(requests)
    return {"handoff": paired(requests, requests[place - 1], asked)}


async def budget(world: DemoWorld, model: ScriptedModel) -> dict[str, Pair]:
    """A session that its budget stops, and that is resumed and then crosses the line."""
    dear = command(2).but(output=30_000).at(80_000)
    story = Story([command(1).at(60_000), dear], branches=writes)
    before, stopped = await told(world, model, story, spec_of(world, "budget", 0.2))
    check(stopped.state == "stopped" and "--budget" in (stopped.error or ""), f"no budget stopped it: {stopped}")
    later = [command(3).at(90_000), command(4).at(155_000), text(DONE).at(30_000)]
    after, result = await told(world, model, Story(later, branches=writes), spec_of(world, "budget", 9.0), "")
    check(result.ok and result.resumed and len(result.generations) == 2, f"the step did not go well: {result}")
    place, asked = asked_once(after)
    check(before[-1].session == after[0].session == asked.session, "another session was resumed")
    both = before + after
    return {
        "first request after a budget": paired(both, before[-1], after[0]),
        "handoff after a budget": paired(both, after[place - 1], asked),
    }


async def rewound(world: DemoWorld, model: ScriptedModel) -> dict[str, Pair]:
    """A session that overflows, so that a fork of it writes."""
    story = Story(
        [command(1).at(60_000), command(2).at(80_000), command(3).at(100_000), overflow(210_000, 200_000)],
        branches=writes,
        then=text(DONE).at(30_000),
    )
    requests, result = await told(world, model, story, spec_of(world, "rewound"))
    check(result.ok and [each.written_by for each in result.generations][:1] == ["rewound"], f"not rewound: {result}")
    place, asked = asked_once(requests)
    points = [at for at, each in enumerate(requests[:place]) if last_result(each) == last_result(asked)]
    check(len(points) == 1 and points[0] > 0, f"the fork goes back to the end of {points}")
    at = points[0]
    return {
        "rewind, to the message gone back to": paired(requests, requests[at - 1], asked),
        LAST: paired(requests, requests[at], asked),
    }


def last_result(request: Request) -> str:
    """The id of the last tool result, or ""."""
    content = [block for message in request.messages for block in message.get("content") or []]
    ids = [block["tool_use_id"] for block in content if isinstance(block, dict) and "tool_use_id" in block]
    return str(ids[-1]) if ids else ""


async def told(
    world: DemoWorld, model: ScriptedModel, story: Story, spec: AgentSpec, prompt: str = TASK
) -> tuple[list[Request], StepResult]:
    """Run a step against a story; the main thread's requests in it."""
    model.script, before = story, len(model.requests)
    result = await work(world, spec, prompt)
    check(story.left == 0, f"{story.left} replies were never asked for: {result}")
    return [each for each in model.requests[before:] if each.sender is Sender.MAIN], result


async def taken(name: str, folder: Path) -> dict[str, Pair]:
    """All cases with one model."""
    found: dict[str, Pair] = {}
    with ScriptedModel(DONE).in_thread() as model:
        world = replace(prepare(folder, model.url), model=name)
        os.environ.update(world.environment)
        for case in (ordinary, budget, rewound):
            found |= await case(world, model)
        check(model.errors == [], str(model.errors))
    return found


def lines(case: str, pairs: dict[str, Pair]) -> Iterator[Line]:
    """A case's lines over all models."""
    least = None if case == LAST else 100
    kept = min(100 * pair.common.share for pair in pairs.values())
    yield Line(f"{case}: kept", kept, "%", least=least, shown=told_by(pairs, lambda pair: pair.kept))
    served = min(100 * pair.usage.cache_read / pair.carried for pair in pairs.values())
    yield Line(f"{case}: served", served, "%", least=least, shown=told_by(pairs, lambda pair: pair.served))


def told_by(pairs: dict[str, Pair], words: Callable[[Pair], str]) -> str:
    """Each model's own figures."""
    return "; ".join(f"{MODELS[name]}: {words(pair)}" for name, pair in pairs.items())


def measure(size: Size) -> Iterator[Line]:
    """Each case with each model."""
    by_model: dict[str, dict[str, Pair]] = {}
    for name in list(MODELS)[: size.of(2, 1)]:
        with tempfile.TemporaryDirectory(prefix="flower-benchmark-", ignore_cleanup_errors=True) as folder:
            by_model[name] = anyio.run(taken, name, Path(folder))
    for case in by_model[next(iter(MODELS))]:
        yield from lines(case, {name: pairs[case] for name, pairs in by_model.items()})


if __name__ == "__main__":
    run("Prompt cache", measure)
