"""What a run knows of its window, where the real CLI cannot be brought to show it: a disk that refuses, lost races."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

import flower_mcp.runtime.session as session_module
from flower_mcp.core.books import iso
from flower_mcp.core.estimate import Characters
from flower_mcp.core.failures import Outcome
from flower_mcp.core.meter import Meter, Usage
from flower_mcp.core.policy import AgentSpec, HandoffPolicy, WindowSource
from flower_mcp.runtime.learning import UNSAID, Windows
from flower_mcp.runtime.session import Reported, Session
from flower_mcp.runtime.step import StepRun

KEY = "http://gw.example m"
REFUSED = Outcome(is_error=True, terminal_reason="prompt_too_long", status=400, text="Prompt is too long")
STATED = "prompt is too long: 61050 tokens > 60000 maximum"


class Listening:
    """A record that keeps what it was told."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.said: list[str] = []

    def event(self, _kind: object, text: str, **_payload: object) -> None:
        self.texts.append(text)

    def say(self, text: str) -> None:
        self.said.append(text)

    def policy(self, _policy: object, _source: object) -> None:
        """The books are not looked at here."""


class Asked:
    """A session that reports a window of 1,000,000, with a meter of its own."""

    def __init__(self) -> None:
        self.id, self.model, self.model_is_unknown, self.times = "s-1", "m", False, 0
        self.reader = SimpleNamespace(meter=Meter())

    async def reported(self) -> Reported:
        self.times += 1
        return Reported(1_000_000, "m")


def meter(*contexts: int) -> Meter:
    """A meter that has seen messages of these contexts."""
    seen = Meter()
    for number, context in enumerate(contexts):
        seen = seen.message(f"m{number}", Usage(input=context))
    return seen


def run_in(state: Path, **changes: Any) -> Any:
    """As much of a run as its window needs."""
    config = state.parent / "claude"
    environ = {
        "FLOWER_STATE_DIR": str(state),
        "ANTHROPIC_BASE_URL": "http://gw.example",
        "CLAUDE_CONFIG_DIR": str(config),
    }
    run = SimpleNamespace(
        setting=SimpleNamespace(environ=environ),
        spec=AgentSpec(model="m"),
        policy=HandoffPolicy(),
        source=WindowSource.GUESSED,
        record=Listening(),
        session=Asked(),
        is_fresh=True,
        near_said=True,
        due_since=3,
    )
    vars(run).update(changes)
    run.windows = Windows(cast(StepRun, run))
    return run


def transcript(state: Path, lines: Iterable[dict[str, Any]]) -> None:
    """What the CLI has kept of the session."""
    folder = state.parent / "claude" / "projects" / "here"
    folder.mkdir(parents=True)
    (folder / "s-1.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def refused(details: str = STATED) -> dict[str, Any]:
    """The line of a refused request."""
    return {"type": "assistant", "isApiErrorMessage": True, "errorDetails": details}


def in_force(run: Any) -> tuple[int, str, int]:
    """Window, source and line."""
    return run.policy.window, str(run.source), run.policy.at


def kept(state: Path, window: int) -> None:
    """Have learned a window."""
    state.mkdir()
    entry = {"window": window, "at": iso(time.time()), "from": STATED}
    (state / "windows.json").write_text(json.dumps({KEY: entry}))


def test_a_lesson_that_cannot_be_kept_still_serves_the_run_and_is_said(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("a file in the folder's place")
    transcript(state, [refused()])
    run = run_in(state)

    async def overflow() -> None:
        await run.windows.settle()
        run.session.reader.meter = meter(15_000, 55_000)
        await run.windows.learn_from(REFUSED)
        assert in_force(run) == (60_000, "learned", 45_000)
        await run.windows.settle()

    anyio.run(overflow)
    assert in_force(run) == (60_000, "learned", 45_000)
    assert run.session.times == 1
    assert any("could not be kept" in text for text in run.record.said)


def test_a_window_that_cannot_be_removed_does_not_come_back_in_the_run(tmp_path: Path) -> None:
    state = tmp_path / "state"
    kept(state, 60_000)
    (state / "windows.json.lock").mkdir()
    run = run_in(state)

    async def prove() -> None:
        await run.windows.settle()
        assert in_force(run) == (60_000, "learned", 45_000)
        run.session.reader.meter = meter(15_000, 61_000)
        run.windows.heed()
        assert in_force(run) == (1_000_000, "reported", 950_000)
        await run.windows.settle()

    anyio.run(prove)
    assert in_force(run) == (1_000_000, "reported", 950_000)
    assert any("could not be removed" in text for text in run.record.said)
    assert (run.near_said, run.due_since) == (False, 0)


def test_the_gate_drops_a_window_that_is_full_at_once_also_before_the_message_is_taken(tmp_path: Path) -> None:
    state = tmp_path / "state"
    kept(state, 60_000)
    run = run_in(state, stop_asked=False, handoff_asked=False, turns_before=0, turns_counted=0)
    anyio.run(run.windows.settle)
    run.session.reader.turns = 1
    run.session.reader.meter = meter(46_000)

    assert StepRun._break(cast(StepRun, run)) is None
    assert in_force(run) == (1_000_000, "reported", 950_000)


@pytest.mark.parametrize(
    ("seen", "fresh", "lines", "expected"),
    [
        (meter(15_000, 55_000), True, [refused("Input is too long for requested model.")], 55_000),
        (meter(), False, [{"type": "assistant", "message": {"usage": {"input_tokens": 70_000}}}, refused("too long")],
         70_000),
        (meter(), True, [refused()], 1_000_000),
        (meter(0, 0).more(Characters(90_000)), True, [refused("Input is too long for requested model.")], 1_000_000),
        (meter(15_000, 55_000), True, [refused(), {"type": "assistant", "message": {}}], 55_000),
    ],
    ids=["no limit stated", "resumed", "a first request", "no usage", "no words of the API's"],
)  # fmt: skip
def test_a_refusal_without_a_stated_limit_teaches_the_context(
    tmp_path: Path, seen: Meter, fresh: bool, lines: list[dict[str, Any]], expected: int
) -> None:
    state = tmp_path / "state"
    transcript(state, lines)
    run = run_in(state, is_fresh=fresh)

    async def overflow() -> None:
        await run.windows.settle()
        run.session.reader.meter = seen
        await run.windows.learn_from(REFUSED)

    anyio.run(overflow)
    assert run.policy.window == expected


@pytest.mark.parametrize("source", [WindowSource.REPORTED, WindowSource.SET])
def test_a_cli_that_ends_without_a_word_near_the_window_teaches_this_run_and_nobody_else(
    tmp_path: Path, source: WindowSource
) -> None:
    state = tmp_path / "state"
    run = run_in(state, source=source)
    silent = Outcome(is_error=True, exited=True, exit_code=1, context=940_000, window=1_000_000)

    async def die(outcome: Outcome) -> None:
        await run.windows.settle()
        run.session.reader.meter = meter(15_000, 940_000)
        await run.windows.learn_from(outcome)
        await run.windows.settle()

    anyio.run(die, replace(silent, context=890_000))  # not near: that is just a process that ended
    assert run.policy.window == 1_000_000
    anyio.run(die, silent)
    assert run.policy.window == (1_000_000 if source is WindowSource.SET else 940_000)
    assert not (state / "windows.json").exists()
    assert bool(run.record.texts) == (source is not WindowSource.SET)
    if run.record.texts:
        assert UNSAID in run.record.texts[-1]
        anyio.run(die, replace(silent, stderr="Prompt is too long"))
        assert not (state / "windows.json").exists()  # no news
        run.session.reader.meter = meter(15_000, 930_000)
        anyio.run(run.windows.learn_from, replace(silent, stderr="Prompt is too long"))
        assert json.loads((state / "windows.json").read_text())[KEY]["window"] == 930_000


def test_another_model_has_a_window_of_its_own(tmp_path: Path) -> None:
    state = tmp_path / "state"
    kept(state, 60_000)
    run = run_in(state)

    async def change() -> None:
        await run.windows.settle()
        run.session.reader.meter = meter(15_000)
        run.session.model = "fallback"
        run.windows.heed()
        assert in_force(run)[:2] == (1_000_000, "reported")
        await run.windows.settle()

    anyio.run(change)
    assert run.session.times == 2
    assert KEY in json.loads((state / "windows.json").read_text())


def test_a_cli_that_does_not_answer_reports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "CONTROL_TIMEOUT", 0.01)
    session = Session.__new__(Session)
    session._client = cast(Any, SimpleNamespace(get_context_usage=anyio.sleep_forever))

    async def ask() -> Reported | None:
        with anyio.fail_after(2):
            return await session.reported()

    assert anyio.run(ask) is None
