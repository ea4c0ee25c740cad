"""Windows with the real CLI: learned from an overflow, used by the next session, undone by proof, given to the CLI."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from flower_mcp import HandoffPolicy
from flower_mcp.core.books import iso
from flower_mcp.demo.model import (
    Reply,
    Request,
    ScriptedModel,
    Source,
    Story,
    asks,
    each_session,
    measured,
    overflow,
    text,
    tool,
    with_limit,
)
from flower_mcp.demo.script import Script, as_script
from tests.e2e.steps import ASKED_AGAIN, DOCUMENT, TAKING_OVER, Run, bash, is_asked, run_step, spec

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

UNKNOWN = "my-model"  # the CLI assumes 1,000,000 tokens for it
LIMIT = 60_000
PROSE = "I am in the middle of it."


def big() -> Reply:
    """Two commands whose output together is 12,000 "tokens" of the scripted API."""
    command = "head -c 24000 /dev/zero | tr '\\0' x"
    return tool("Bash", command=command, description="a step") + tool("Bash", command=command, description="a step")


def writing(*work: Reply, document: str = DOCUMENT) -> Story:
    """A session that works on, and writes when it is asked."""
    asked = [(is_asked, text(document).at(25_500)), (asks(ASKED_AGAIN), text(document).at(25_600))]
    return Story(work, branches=asked)


def each_generation(*sources: Source) -> Script:
    """The n-th first prompt seen gets the n-th source: a fork of a session has its first prompt, and so its script."""
    scripts, seen = [as_script(source) for source in sources], list[str]()

    def script(request: Request) -> Any:
        first = json.dumps(request.messages[0]) if TAKING_OVER in request.all_text() else ""
        if first not in seen:
            seen.append(first)
        return scripts[min(seen.index(first), len(scripts) - 1)](request)

    return script


def unset(**changes: Any) -> HandoffPolicy:
    """A policy that was given no window."""
    return HandoffPolicy(**{"edit_window": 0, "write_timeout": 20, "drain_timeout": 20, **changes})


@pytest.fixture
def file(environment: dict[str, str]) -> Path:
    """Where windows.json lies."""
    return Path(environment["FLOWER_STATE_DIR"]) / "windows.json"


def keep(file: Path, model: ScriptedModel, window: int, name: str = UNKNOWN) -> None:
    """Have learned a window an hour ago."""
    file.parent.mkdir(exist_ok=True)
    entry = {"window": window, "at": iso(time.time() - 3600), "from": "prompt is too long"}
    file.write_text(json.dumps({f"{model.url} {name}": entry}))


def told(run: Run, phase: str) -> list[str]:
    """What was said about the window."""
    return [event.text for event in run.of("context", phase)]


def begun(run: Run) -> list[tuple[Any, ...]]:
    """Window, source and handoff line with which each session began."""
    phases = ("started", "launched")
    return [
        (event.payload["window"], event.payload["window_source"], event.payload["handoff_at"])
        for event in run.of("session")
        if event.payload["phase"] in phases
    ]


async def test_an_overflow_teaches_the_window_and_the_next_session_hands_off_at_it(
    model: ScriptedModel, workspace: Path, file: Path
) -> None:
    file.parent.mkdir()
    file.write_text("[")
    model.script = with_limit(
        measured(each_generation(writing(*[big()] * 9), writing(*[big()] * 9), Story([big(), text("All ported.")]))),
        LIMIT,
    )
    run = await run_step(workspace, agent=spec(model=UNKNOWN), handoff=unset())

    assert (run.result.ok, run.result.text) == (True, "All ported.")
    assert begun(run) == [(1_000_000, "reported", 950_000), (60_000, "learned", 45_000), (60_000, "learned", 45_000)]
    assert told(run, "assumed") == [
        "Claude Code does not know the model my-model: the window of 1000K is an assumption; "
        "--window TOKENS sets the right one"
    ]
    [lesson] = told(run, "learned")
    assert lesson.startswith("the window is 60K, learned from: prompt is too long: ")
    first, second, _ = run.result.generations
    assert first.context > 45_000
    assert first.written_by == "rewound"  # too full to write, and no document is lost by that
    assert (second.written_by, second.why) == ("session", None)
    assert not any(event.payload["degraded"] for event in run.of("handoff", "done"))
    assert run.of("handoff", "writing")[-1].payload["context"] < LIMIT
    assert (run.result.window, run.result.window_source) == (LIMIT, "learned")
    assert any("windows.json could not be read" in error for error in run.result.errors)
    counted = [visit for visit in model.others if "count_tokens" in visit.path]
    assert 0 < len(counted) < 25, len(counted)  # one question to the CLI, in the first session alone
    kept = json.loads(file.read_text())
    assert list(kept) == [f"{model.url} {UNKNOWN}"]
    assert kept[f"{model.url} {UNKNOWN}"]["window"] == LIMIT
    session = run.of("session", "launched")[0].payload
    assert session["learned"] == kept[f"{model.url} {UNKNOWN}"]


async def test_a_request_accepted_above_a_learned_window_proves_it_wrong(
    model: ScriptedModel, workspace: Path, file: Path
) -> None:
    keep(file, model, 60_000)
    model.script = Story([bash("echo").at(20_000), bash("echo").at(61_000), text("Done.").at(62_000)])
    run = await run_step(workspace, agent=spec(model=UNKNOWN), handoff=unset(headroom=0))

    assert run.result.ok, run.result.error
    assert begun(run) == [(60_000, "learned", 60_000)]
    [learned] = [event.payload["learned"] for event in run.of("session", "started")]
    assert (learned["window"], learned["from"], learned["at"][:3]) == (60_000, "prompt is too long", "202")
    assert told(run, "forgotten") == [
        "the learned window of 60K does not count any more: a request above it was accepted (61.0K); "
        "the window is 1000K (reported)"
    ]
    assert (run.result.window, run.result.window_source) == (1_000_000, "reported")
    assert json.loads(file.read_text()) == {}


async def test_a_learned_window_that_a_first_message_fills_is_dropped_and_the_step_goes_on(
    model: ScriptedModel, workspace: Path, file: Path
) -> None:
    keep(file, model, 26_000)
    model.script = Story([bash("echo").at(20_000), text("Done.").at(21_000)])
    run = await run_step(workspace, agent=spec(model=UNKNOWN), handoff=unset())

    assert run.result.ok, run.result.error
    assert begun(run) == [(26_000, "learned", 19_500)]
    assert len(run.result.generations) == 1
    [dropped] = told(run, "forgotten")
    assert "a fresh session's first message fills it already (20.0K)" in dropped
    assert json.loads(file.read_text()) == {}


async def test_a_window_that_was_set_counts_and_is_given_to_the_cli(
    model: ScriptedModel, workspace: Path, file: Path
) -> None:
    """Also: two degraded documents in a row print the advice, and an overflow below the window says what to type."""
    keep(file, model, 30_000)
    look = bash("echo $CLAUDE_CODE_MAX_CONTEXT_TOKENS > given").at(15_000)
    model.script = each_session(
        writing(look, bash("echo").at(25_000), document=PROSE),
        writing(bash("echo").at(15_000), bash("echo").at(26_000), document=PROSE),
        writing(bash("echo").at(15_000), overflow(23_000, 20_500)),
        Story([text(DOCUMENT).at(15_500)]),  # the fork that writes
        Story([text("All ported.").at(15_000)]),
    )
    run = await run_step(workspace, agent=spec(model=UNKNOWN), handoff=unset(window=32_000))

    assert run.result.ok, run.result.error
    assert (workspace / "given").read_text() == "32000\n"
    assert begun(run) == [(32_000, "set", 24_000)] * 4
    assert [generation.written_by for generation in run.result.generations[:2]] == ["code", "code"]
    assert told(run, "advised") == [
        "2 documents in a row could not be written by a session (contexts 25.6K, 25.6K of 32K); hand off earlier: "
        "--at 16000"
    ]
    assert told(run, "assumed") == []
    assert told(run, "learned") == [
        "the API refused below the window of 32K that was set (prompt is too long); use --window 30000",
        "the API refused below the window of 32K that was set (prompt is too long: 23000 tokens > 20500 maximum); "
        "use --window 20500",
    ]
    assert json.loads(file.read_text())[f"{model.url} {UNKNOWN}"]["window"] == 20_500
