"""What one step waits for keeps no other step waiting: they share a process and its event loop."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from flower_mcp import Runtime
from flower_mcp.core.books import State, StepResult
from flower_mcp.core.figures import Context
from flower_mcp.core.policy import HandoffPolicy
from flower_mcp.runtime.record import Books, Record
from flower_mcp.runtime.session import Session
from flower_mcp.workbench.ledger import Lineage, Manifest
from flower_mcp.workbench.live import Live
from flower_mcp.workbench.locks import IN_A_LOOP, write_lock

pytestmark = pytest.mark.anyio
HOLDER = """
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def held_elsewhere(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A lock that another process holds until its input is closed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-I", "-S", "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder


async def test_a_lock_that_another_process_holds_stops_no_other_steps_messages(tmp_path: Path) -> None:
    """The manifest's lock and a step's write lock, held for longer than the loop may be kept."""
    runtime = Runtime(workspace=tmp_path, run_dir=tmp_path / "runs")
    lives = runtime._lives
    lives.prepare()
    manifest = Manifest(tmp_path / "runs", IN_A_LOOP)
    books = Books(lives, manifest, Lineage(tmp_path / "runs", str(tmp_path), IN_A_LOOP))
    record = Record(books, StepResult("r1", "work"), HandoffPolicy(), None)
    messages: list[float] = []

    async def other_step() -> None:
        while True:
            messages.append(time.monotonic())
            await anyio.sleep(0.01)

    with held_elsewhere(manifest.lock) as one, held_elsewhere(lives.write_lock_path("work")) as two:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other_step)
            await anyio.sleep(0.02)
            record.enter(State.WORKING)
            record.remember("s1")
            with anyio.move_on_after(0.5):
                await record.until_free(lambda: lives.write_lock_path("work"))
            await anyio.sleep(0.02)
            longest = max(later - earlier for earlier, later in itertools.pairwise(messages))
            assert not manifest.path.exists()
            assert record.row.errors == (), "a lock that is only taken is no failure"
            assert lives.read("work", owner=True) == record.live, "what needs no lock is written"
            for holder in (one, two):
                assert holder.stdin is not None
                holder.stdin.close()
            await record.until_free()
            await record.until_free(lambda: lives.write_lock_path("work"))
            record.end()
            tasks.cancel_scope.cancel()
    assert longest < 1.0, "a writer waits for five seconds, and the other step has waited with it"
    assert [row["run"] for row in json.loads(manifest.path.read_bytes())] == ["r1"]
    assert books.lineage.read().steps == {"work": "s1"}
    assert record.row.errors == ()


def test_what_changes_together_is_written_once_and_a_state_in_between_not_to_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = Books(Live(tmp_path / "live"), Manifest(tmp_path / "runs"), Lineage(tmp_path / "runs"))
    record = Record(books, StepResult("r1", "work"), HandoffPolicy(), None)
    record.begin_generation(1, "s1")
    written: list[bool] = []
    monkeypatch.setattr(Live, "write", lambda self, live, durable: written.append(durable))
    with record.together():
        record.paid(1, None, None)
        record.generation(durable=True, why="full")
        record.measured(Context(5))
    assert written == [True], "once, and it waits for the disk, since one of the changes must"
    assert record.row.generation is not None
    assert (record.row.generation.why, record.row.context) == ("full", 5)
    with record.together():
        pass
    assert written == [True]
    for state in (State.WORKING, State.DRAINING, State.WRITING):
        record.enter(state)
    assert [row["state"] for row in books.manifest.rows()] == ["working"]
    record.enter(State.DONE)
    assert [row["state"] for row in books.manifest.rows()] == ["done"]


async def test_a_retired_session_ends_later_or_at_once_when_the_run_does() -> None:
    closed: list[bool] = []

    def close(*, retired: bool) -> None:
        closed.append(retired)

    session: Any = SimpleNamespace(_closing=anyio.Event(), close=close)
    began = time.monotonic()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Session.close_retired, session, 30.0)
        await anyio.wait_all_tasks_blocked()
        assert closed == [], "its end would take the processor from its successor's start"
        session._closing.set()
    assert closed == [True]
    assert time.monotonic() - began < 10.0


def test_a_run_waits_for_no_lock_in_its_loop(tmp_path: Path) -> None:
    runtime = Runtime(workspace=tmp_path, run_dir=tmp_path / "runs")
    began = time.monotonic()
    path = runtime._lives.write_lock_path("work")
    runtime._lives.prepare()
    with write_lock(path), pytest.raises(Exception, match="holds the lock"), runtime._lives.write_lock("work"):
        os.abort()
    assert time.monotonic() - began < 1.0
