"""A CLI that hangs, against the watchdog: through the keeper, a real process that misbehaves as real ones have."""

from __future__ import annotations

import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from claude_agent_sdk import SystemMessage

from flower_mcp import AgentSpec, Event, HandoffPolicy, RetryPolicy, Runtime, StepResult
from flower_mcp.runtime import session, starting, watchdog
from flower_mcp.runtime.permissions import Answer, Permissions, Question
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.watchdog import Watchdog
from flower_mcp.workbench.workbench import Workbench
from tests.e2e.harness import alive, wait_until_async
from tests.runtime import fake_cli

pytestmark = pytest.mark.anyio
STALL = 0.4  # seconds
MODES = ("mute", "silent", "closed", "late", "busy", "ended", "noise")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder, the fake in the CLI's place, an endpoint that takes connections, and limits short enough for a test."""
    cli = tmp_path / "claude"
    cli.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S {shlex.quote(fake_cli.__file__)}\n")
    cli.chmod(0o700)
    monkeypatch.setattr(starting, "bundled_cli", lambda: cli)
    monkeypatch.setattr(session, "CONNECT_LIMIT", 3.0)
    monkeypatch.setattr(session, "CONTROL_TIMEOUT", 0.3)
    monkeypatch.setattr(watchdog, "ANSWER_LIMIT", 2.0)
    monkeypatch.setenv("FLOWER_DEBUG", "1")
    monkeypatch.setenv("FLOWER_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude-config"))
    folder = tmp_path / "workspace"
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield folder


async def test_a_cli_that_hangs_is_ended_and_the_step_goes_on(workspace: Path, tmp_path: Path) -> None:
    """All at once, a step each: nearly all of the time is the SDK's patience with a process that does not end."""
    results: dict[str, StepResult] = {}
    events: dict[str, list[Event]] = {mode: [] for mode in MODES}
    beside: list[str] = []  # steps with two processes at once

    def take(mode: str, event: Event) -> None:
        events[mode].append(event)
        pids = (tmp_path / mode).read_text().split() if event.kind == "session" else []
        if any(alive(int(pid)) for pid in pids[:-1]):
            beside.append(mode)

    async def run(runtime: Runtime, mode: str) -> None:
        variables = {"FAKE_CLI": mode, "FAKE_STARTS": str(tmp_path / mode)}
        results[mode] = await runtime.run(AgentSpec(name=mode, env=variables), "Port it.", on_event=partial(take, mode))

    retry = RetryPolicy(base=0.05, cap=0.1, stall=STALL, offline=0.0)
    handoff = HandoffPolicy(window=200_000)
    began = time.monotonic()
    async with Runtime(workspace=workspace, run_dir=tmp_path / "runs", handoff=handoff, retry=retry) as runtime:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for mode in MODES:
                    tasks.start_soon(run, runtime, mode)
    assert time.monotonic() - began < 45
    starts = {mode: [int(pid) for pid in (tmp_path / mode).read_text().split()] for mode in MODES}
    assert {mode: (results[mode].ok, results[mode].error) for mode in MODES} == dict.fromkeys(MODES, (True, None))
    assert {mode: len(pids) for mode, pids in starts.items()} == {
        "mute": 2, "silent": 2, "closed": 2, "late": 2, "busy": 1, "ended": 1, "noise": 2,
    }  # fmt: skip  # a session that left no transcript, as these, is begun anew and not resumed
    assert {mode: results[mode].attempts for mode in MODES} == {
        "mute": 2, "silent": 2, "closed": 2, "late": 2, "busy": 1, "ended": 1, "noise": 2,
    }  # fmt: skip
    assert beside == []
    assert [pid for pids in starts.values() for pid in pids if alive(pid)] == []
    assert (tmp_path / "late.interrupts").exists()
    assert not (tmp_path / "busy.interrupts").exists()
    [lost] = [event.payload["failure"] for event in events["noise"] if event.kind == "error"]
    assert lost == "the CLI ended"
    for mode in ("mute", "silent", "closed", "late"):
        told = [event.payload["failure"] for event in events[mode] if event.kind == "error"]
        assert told == ["the CLI is silent"], mode
    assert os.getpid() not in [pid for pids in starts.values() for pid in pids]


async def test_while_a_person_is_asked_or_no_turn_is_under_way_silence_is_none_and_any_message_is_a_sign_of_life() -> (
    None
):
    reader, told, release = Reader(), [], anyio.Event()

    async def person(_question: Question) -> Answer:
        await release.wait()
        return Answer()

    class Record:
        def event(self, *_given: object, **_payload: object) -> None:
            pass

    permissions = Permissions(cast(Any, Record()), person)

    async def interrupt() -> None:
        told.append(time.monotonic())

    async def watch() -> None:
        await Watchdog(reader, STALL, lambda: permissions.pending > 0).run(interrupt)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await anyio.sleep(STALL * 1.5)
        reader.expect("prompt")
        tasks.start_soon(cast(Any, permissions.callback), "Bash", {}, SimpleNamespace(title=None))
        await anyio.sleep(STALL * 1.5)
        assert told == []
        release.set()
        await anyio.sleep(STALL / 2)
        reader.take(SystemMessage("api_retry", {"attempt": 1}))
        alive_at = time.monotonic()
        with anyio.fail_after(STALL * 5):
            while not told:
                await anyio.sleep(0.01)
        assert told[0] - alive_at >= STALL
        assert permissions.pending == 0
        tasks.cancel_scope.cancel()


async def test_a_network_that_does_not_come_back_is_given_up_and_a_stop_does_not_wait_for_a_cli_that_hangs(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "CONNECT_LIMIT", 50.0)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    events: list[Event] = []
    retry = RetryPolicy(base=0.05, cap=0.1, stall=STALL, offline=1.0)
    handoff = HandoffPolicy(window=200_000)
    async with Runtime(workspace=workspace, run_dir=tmp_path / "runs", handoff=handoff, retry=retry) as runtime:
        offline = AgentSpec(name="offline", env={"FAKE_CLI": "late", "FAKE_STARTS": str(tmp_path / "offline")})
        result = await runtime.run(offline, "Port it.", on_event=events.append)

        mute = AgentSpec(name="mute", env={"FAKE_CLI": "mute", "FAKE_STARTS": str(tmp_path / "mute")})
        async with anyio.create_task_group() as tasks:

            async def stop() -> None:
                with anyio.fail_after(20):
                    while not (tmp_path / "mute").exists():
                        await anyio.sleep(0.02)
                runtime.stop()

            tasks.start_soon(stop)
            began = time.monotonic()
            stopped = await runtime.run(mute, "Port it.", on_event=events.append)
    assert (result.state, result.attempts) == ("failed", 1)
    assert "the endpoint cannot be reached, since" in (result.error or "")
    assert "Look at the network" in (result.error or "")
    [opened, closed] = [event for event in events if event.kind == "wait"]
    assert opened.payload["address"] == "127.0.0.1:9"
    assert closed.payload["over"] is False
    assert (stopped.state, stopped.error) == ("stopped", "Stopped as asked. Run flower again to go on from here.")
    assert [event.payload["failure"] for event in events if event.kind == "error"] == [closed.payload["failure"]]
    assert time.monotonic() - began < 40


async def test_a_stop_does_not_wait_for_a_successor_that_was_started_ahead_and_hangs(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "CONNECT_LIMIT", 50.0)
    starts, workbench = tmp_path / "full", Workbench(workspace)
    spec = AgentSpec(name="full", env={"FAKE_CLI": "full", "FAKE_STARTS": str(starts)})
    handoff = HandoffPolicy(window=200_000, edit_window=0)
    asked: list[float] = []

    def is_launching() -> bool:
        live = workbench.live("full")
        is_second = starts.exists() and len(starts.read_text().split()) == 2
        return is_second and live is not None and live.state == "launching"

    async with Runtime(workspace=workspace, run_dir=tmp_path / "runs", handoff=handoff) as runtime:

        async def stop() -> None:
            await wait_until_async(is_launching, 30)
            asked.append(time.monotonic())
            runtime.stop()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop)
            result = await runtime.run(spec, "Port it.")
    took = time.monotonic() - asked[0]
    assert (result.state, result.error) == ("stopped", "Stopped as asked. Run flower again to go on from here.")
    assert took < 8, took  # the fake ignores SIGTERM, so the keeper waits 2 s for it
    assert [pid for pid in starts.read_text().split() if alive(int(pid))] == []


async def test_the_window_is_learned_from_a_cli_that_ends_without_a_word(workspace: Path, tmp_path: Path) -> None:
    variables = {"FAKE_CLI": "dies", "FAKE_STARTS": str(tmp_path / "dies")}
    spec = AgentSpec(env=variables)
    async with Runtime(workspace=workspace, run_dir=tmp_path / "runs", handoff=HandoffPolicy(edit_window=0)) as runtime:
        with anyio.fail_after(60):
            result = await runtime.run(spec, "Port it.")
    assert result.ok, result.error
    assert [generation.written_by for generation in result.generations] == ["code", None]
    assert (result.window, result.window_source) == (940_010, "learned")
    assert not (tmp_path / "state" / "windows.json").exists()
