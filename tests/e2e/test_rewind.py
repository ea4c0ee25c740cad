"""A fork that writes after an overflow: how far it goes back, what it costs, and what is done when none can write."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime
from flower_mcp.core.handoff import DEGRADED
from flower_mcp.core.writing import HANDED_ON
from flower_mcp.demo.model import (
    Reply,
    Request,
    ScriptedModel,
    Sender,
    Source,
    Story,
    each_session,
    failure,
    overflow,
    text,
)
from flower_mcp.demo.prefix import common_prefix_share
from flower_mcp.demo.script import Answer, as_script
from flower_mcp.workbench.workbench import Workbench
from tests.e2e.harness import marked, wait_until_async
from tests.e2e.steps import (
    ASKED_AGAIN,
    DOCUMENT,
    TAKING_OVER,
    Run,
    archived,
    bash,
    document,
    document_path,
    handing_over,
    is_asked,
    is_asked_again,
    manifest,
    policy,
    run_step,
    spec,
    successor,
)
from tests.e2e.test_continuity import live, supervisor

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

FULL = overflow(210_000, 200_000)
TOO_LARGE = failure(413, "request_too_large", "Request exceeds the maximum size")
WRITES = text(DOCUMENT).at(60_000)


class Sessions:
    """The n-th session that works gets the n-th story; asks to write, of whichever fork, take the next of `writes`."""

    def __init__(self, *stories: Source, writes: list[Source]) -> None:
        self.stories = [as_script(story) for story in stories]
        self.writes = [as_script(write) for write in writes]
        self.order: list[str] = []
        self.asked: list[Request] = []
        self.worked: list[Request] = []

    def __call__(self, request: Request) -> Answer:
        if request.sender is not Sender.MAIN:
            return "Done."
        if is_asked(request) or is_asked_again(request):
            self.asked.append(request)
            answer = self.writes[len(self.asked) - 1](request)
        else:
            if request.session not in self.order:
                self.order.append(request.session)
            self.worked.append(request)
            answer = self.stories[self.order.index(request.session)](request)
        assert isinstance(answer, str | Reply)
        return answer


def finish() -> Story:
    """The last session's part."""
    return Story([], then=text("All ported.").at(30_000))


def working(*more: Reply, requests: int = 2, apart: int = 21_000) -> Story:
    """So many requests that go well, each `apart` tokens larger than the one before, and then what overflows."""
    work: list[Reply] = [bash(f"echo step {number}").at(40_000 + number * apart) for number in range(requests)]
    return Story([*work, *more], then=FULL)


def transcripts(environment: dict[str, str]) -> set[Path]:
    """What the CLI has kept of sessions."""
    return set(Path(environment["CLAUDE_CONFIG_DIR"], "projects").glob("*/*.jsonl"))


def rewound(run: Run, number: int = 0) -> str:
    """Why a session's document was written by a fork."""
    generation = run.result.generations[number]
    assert generation.written_by == "rewound"
    return generation.why or ""


async def test_forks_go_back_by_whole_requests_until_one_can_write(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    two = (bash("sleep 0.2; echo slow") + bash("echo quick > quick.txt")).at(44_000)
    first = working(two, bash("echo late > late.txt").but(output=50_000).at(49_000), requests=6, apart=500)
    half = text(document(without="Next")).at(30_000)
    dear = text(DOCUMENT).but(output=50_000).at(30_000)
    model.script = sessions = Sessions(first, finish(), writes=[FULL, TOO_LARGE, half, dear])
    run = await run_step(workspace)
    assert run.result.ok, run.result.error

    # Eight requests were answered: the first fork keeps all of them but the last answer, then four, then two.
    assert [len(request.messages) for request in sessions.asked[:3]] == [15, 7, 3]
    assert sessions.asked[3].asks(ASKED_AGAIN)
    assert sessions.asked[3].session == sessions.asked[2].session
    assert len({request.session for request in sessions.asked}) == 3
    assert "as it was 7 requests earlier" in sessions.asked[2].all_text()
    assert (
        rewound(run) == "Prompt is too long (prompt is too long: 210000 tokens > 200000 maximum); rewound by 7 requests"
    )
    parallel = sessions.asked[0].messages[14]["content"]
    assert [block["type"] for block in parallel] == ["tool_result", "tool_result", "text"]

    # What the provider has cached of the session counts for each fork.
    for fork, before in zip(sessions.asked[:3], (7, 3, 1), strict=True):
        prefix = common_prefix_share(sessions.worked[before], fork)
        assert (prefix.tools, prefix.system, prefix.messages) == (True, True, prefix.total - 1)

    # No fork is a session of the step, nor one that `claude --resume` offers; what they cost is their session's.
    assert {path.stem for path in transcripts(environment)} == set(sessions.order)
    assert run.result.retired == (sessions.order[0],)
    assert [generation.session_id for generation in run.result.generations] == sessions.order
    assert run.result.attempts == 1
    assert run.result.generations[0].context == 49_000
    cost = run.result.generations[0].cost_usd or 0
    assert cost > 1.5  # of twice 50,000 tokens put out, one time in a fork
    assert cost < 1.8
    assert manifest(workspace)[0]["cost_usd"] == pytest.approx(cost + (run.result.generations[1].cost_usd or 0))

    written = document_path(workspace).read_text()
    ran = [line for line in written.splitlines() if "since" in line]
    assert any("late.txt" in line for line in ran)
    assert any("quick.txt" in line for line in ran)
    assert any("step 1" in line for line in ran)
    assert not any("step 0" in line for line in ran)
    assert "not known to be done" in written
    assert TAKING_OVER in sessions.worked[-1].all_text()
    await wait_until_async(lambda: marked(f"FLOWER_RUN={run.result.run}") == [], 5)


async def test_when_no_fork_can_write_the_sessions_draft_is_taken_and_then_code_writes(
    model: ScriptedModel, workspace: Path
) -> None:
    def hand_in(_runtime: Runtime, event: Event) -> None:
        if event.kind == "tool" and "drafted" in event.text:
            Workbench(workspace).lives.write_draft("work", document("From the draft."))

    first = working(bash("echo drafted; sleep 0.3").at(62_000), bash("echo later > later.txt").at(63_000))
    model.script = sessions = Sessions(first, working(), finish(), writes=[FULL, Reply(hang=30), FULL, FULL, FULL])
    run = await run_step(workspace, during=hand_in, handoff=policy(write_timeout=4), limit=110)
    assert run.result.ok, run.result.error
    assert len(sessions.asked) == 5
    first_row, second_row, _ = run.result.generations
    assert (first_row.written_by, second_row.written_by) == ("draft", "code")
    for reason in ("Prompt is too long", "rewound by 1 request", "rewound by 3 requests", "no answer in time"):
        assert reason in (first_row.why or ""), reason
    taken, assembled = (event.payload for event in run.of("handoff", "done"))
    assert "From the draft." in taken["sections"]["deadends"]
    assert DEGRADED in assembled["sections"]["doing"]
    assert "rewound by 2 requests" in (second_row.why or "")
    assert [error for error in run.result.errors if error.startswith("交接降级(")] == [f"交接降级({second_row.why})"]
    assert run.result.retired == tuple(sessions.order[:2])
    assert Workbench(workspace).lives.read_draft("work") is None


async def test_an_overflow_of_the_handoff_turn_is_rewound_whoever_refused_it(
    model: ScriptedModel, workspace: Path
) -> None:
    # The first is refused by the API, the second by the CLI itself, which then sends nothing.
    first = Story([bash("echo one").at(40_000), bash("echo two").at(155_000)])
    second = Story([bash("echo one").at(40_000), bash("echo two").but(output=20_000).at(151_000)])
    model.script = sessions = Sessions(first, second, finish(), writes=[FULL, WRITES, WRITES])
    run = await run_step(workspace, agent=spec(env={"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE": "170000"}))
    assert run.result.ok, run.result.error
    assert len(sessions.worked) == 5
    assert [len(request.messages) for request in sessions.asked] == [5, 3, 3]
    assert "210000 tokens > 200000 maximum" in rewound(run)
    assert rewound(run, 1) == "Prompt is too long; rewound by 1 request"
    assert [event.payload["context"] for event in run.of("handoff", "done")] == [155_000, 151_000]
    assert run.phases() == ["near", "writing", "writing", "done"] * 2
    assert run.result.retired == tuple(sessions.order[:2])


async def test_a_session_of_an_earlier_run_is_rewound_and_a_stop_or_a_kill_while_its_fork_writes_loses_nothing(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    def stop(runtime: Runtime, event: Event) -> None:
        if event.payload.get("phase") == "writing":
            runtime.stop()

    hangs = Reply(hang=60)
    done = Story([bash("echo one").at(40_000), text("One is done.").at(41_000)], then=FULL)
    half = text(document(without="Next")).but(output=50_000).at(30_000)
    writes: list[Source] = [hangs, FULL, WRITES, half, hangs, FULL, WRITES]
    dear = working(bash("echo dear").but(output=50_000).at(62_000))
    model.script = sessions = Sessions(done, dear, finish(), writes=writes)
    first = (await run_step(workspace, "Do one.")).result.session_id

    stopped = await run_step(workspace, "Do two.", during=stop)
    assert stopped.result.state == "stopped"
    assert stopped.result.session_id == first
    assert stopped.result.retired == ()
    await wait_until_async(lambda: marked(f"FLOWER_RUN={stopped.result.run}") == [], 10)

    with supervisor(workspace, "", environment) as process:
        await wait_until_async(lambda: len(sessions.asked) == 5, 60)
        os.kill(process.pid, signal.SIGKILL)
    before = live(workspace)
    assert before["state"] == "writing"
    assert before["row"]["session_id"] == sessions.order[1]
    assert [row["written_by"] for row in before["row"]["generations"]] == ["rewound", None]
    assert before["row"]["retired"] == [first]
    await wait_until_async(lambda: marked(f"FLOWER_RUN={before['row']['run']}") == [], 10)

    run = await run_step(workspace, "")
    assert run.result.ok, run.result.error
    assert run.result.resumed
    assert rewound(run).endswith("rewound by 1 request")
    assert run.result.retired == (sessions.order[1],)
    assert sessions.order == [first, *run.result.retired, run.result.session_id]
    assert [sessions.asked[at].session for at in (1, 5)] == sessions.order[:2]  # the session itself is asked first
    assert "port test_resume next" in sessions.worked[-1].all_text()
    assert {len(request.messages) for request in sessions.asked if request.session not in sessions.order} == {3, 5, 7}
    assert (before["row"]["generations"][1]["cost_usd"] or 0) > 1.5  # the session's 50,000 tokens, and its fork's
    assert (run.result.generations[0].cost_usd or 0) < 0.5  # neither is paid again
    lineage = json.loads((workspace.parent / "runs" / "lineage.json").read_text())
    assert lineage["steps"]["work"] == run.result.session_id


async def test_a_successor_that_is_too_full_to_begin_hands_on_the_document_it_was_given(
    model: ScriptedModel, workspace: Path
) -> None:
    remark = "A remark of mine, under no heading of yours."

    def edit(_runtime: Runtime, event: Event) -> None:
        if event.kind == "handoff" and event.payload["phase"] == "done" and not archived(workspace):
            path = document_path(workspace)
            path.write_text(path.read_text().replace("# 交接 · work", f"# 交接 · work\n\n{remark}"))

    model.script = each_session(handing_over(bash("echo a").at(40_000), bash("echo b").at(155_000)), FULL, successor())
    run = await run_step(workspace, during=edit)
    assert run.result.ok, run.result.error
    second = run.result.generations[1]
    assert (second.written_by, second.frozen) == ("predecessor", second.launched)
    assert HANDED_ON in (second.why or "")
    assert "Prompt is too long" in (second.why or "")
    third = [request for request in model.requests if request.sender is Sender.MAIN][-1].all_text()
    for words in (TAKING_OVER, "pytest-mock: breaks the spies of test_batch.", remark, "that took this document over"):
        assert words in third, words
    assert DEGRADED not in document_path(workspace).read_text()
    assert len(archived(workspace)) == 2  # as it was written, and as it was edited


async def test_an_overflow_whose_numbers_blame_max_tokens_stops_a_fresh_session_and_names_it(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = failure(
        400, "invalid_request_error",
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 131217 tokens (3217 of "
        "text input, 128000 in the output). Please reduce the length of either one.",
    )  # fmt: skip
    run = await run_step(workspace)
    assert run.result.state == "failed"
    assert run.result.attempts == len(run.result.generations) == 1
    assert len([request for request in model.requests if request.sender is Sender.MAIN]) == 1
    for words in ("max_tokens", "3217 of text input", "CLAUDE_CODE_MAX_OUTPUT_TOKENS"):
        assert words in (run.result.error or ""), words
