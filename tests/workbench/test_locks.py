"""Locks of the kernel: one owner at a time, none after death."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from flower_mcp.core.errors import FilesError, LockTimeout
from flower_mcp.workbench.locks import RunLock, is_held, write_lock
from tests.e2e.harness import wait_until

forkserver = multiprocessing.get_context("forkserver")
forkserver.set_forkserver_preload(["flower_mcp.workbench.workbench", "flower_mcp.core.masking", "pytest"])


def hold(path: Path, ready: Connection) -> None:
    """Hold the run lock until killed."""
    ready.send(RunLock(path).acquire())
    signal.pause()


def test_two_holders_in_one_process_conflict(tmp_path: Path) -> None:
    first, second = RunLock(tmp_path / "x.lock"), RunLock(tmp_path / "x.lock")

    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()


def test_a_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    ready, theirs = forkserver.Pipe(duplex=False)
    process = forkserver.Process(target=hold, args=(path, theirs), daemon=True)
    process.start()
    assert ready.recv() is True
    assert is_held(path)
    assert not RunLock(path).acquire()

    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()

    assert not is_held(path)
    with RunLock(path) as acquired:
        assert acquired


def test_a_check_makes_no_file_and_no_owner(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "x.lock")
    assert list(tmp_path.iterdir()) == []

    lock = RunLock(tmp_path / "x.lock")
    with lock:
        assert is_held(lock.path)
    assert not is_held(lock.path)


def test_the_lock_file_is_private_and_stays(tmp_path: Path) -> None:
    with RunLock(tmp_path / "x.lock"):
        pass

    assert (tmp_path / "x.lock").stat().st_mode & 0o777 == 0o600


def test_a_writer_waits_only_as_long_as_its_patience(tmp_path: Path) -> None:
    before = time.monotonic()

    with write_lock(tmp_path / "x.write"), pytest.raises(LockTimeout), write_lock(tmp_path / "x.write", 0.2):
        pytest.fail("two writers at once")

    assert 0.2 <= time.monotonic() - before < 2
    with write_lock(tmp_path / "x.write", 0.2):
        pass


def test_a_lock_is_given_back_when_its_block_raises(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), write_lock(tmp_path / "x.write"):
        _ = 1 / 0

    with write_lock(tmp_path / "x.write", 0.0):
        pass


def test_a_link_in_a_locks_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(FilesError):
        RunLock(tmp_path / "x.lock").acquire()
    assert not (tmp_path / "elsewhere").exists()


def test_checks_never_make_a_free_lock_look_taken(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    path.touch()
    checker = forkserver.Process(target=check_for_ever, args=(path,), daemon=True)
    checker.start()
    try:
        for _ in range(300):
            with RunLock(path) as acquired:
                assert acquired
    finally:
        checker.kill()
        checker.join()


def check_for_ever(path: Path) -> None:
    while True:
        is_held(path)


def test_a_run_lock_whose_file_was_deleted_is_made_again(tmp_path: Path) -> None:
    lock = RunLock(tmp_path / "live" / "work.lock", lambda: (tmp_path / "live").mkdir(exist_ok=True))
    assert not lock.keep()
    assert lock.acquire()
    assert lock.keep()
    shutil.rmtree(tmp_path / "live")
    assert lock.keep()
    assert is_held(lock.path)
    assert not RunLock(lock.path).acquire()
    lock.release()
    assert not is_held(lock.path)


def test_a_run_lock_that_somebody_else_has_made_again_is_lost(tmp_path: Path) -> None:
    lock, other = RunLock(tmp_path / "work.lock"), RunLock(tmp_path / "work.lock")
    assert lock.acquire()
    lock.path.unlink()
    assert other.acquire()
    assert not lock.keep()
    lock.release()
    assert is_held(other.path)
    other.release()


def take_again_and_again(path: Path, over: Any, rounds: Any) -> None:
    while not over.is_set():
        with write_lock(path):
            rounds.value += 1
            time.sleep(0.005)


def test_writers_that_never_rest_let_the_one_that_waits_go_first(tmp_path: Path) -> None:
    path, over, rounds = tmp_path / "lock", forkserver.Event(), forkserver.Value("i", 0)
    greedy = [forkserver.Process(target=take_again_and_again, args=(path, over, rounds)) for _ in range(3)]
    for process in greedy:
        process.start()
    wait_until(lambda: rounds.value > 9)
    before = rounds.value
    for _ in range(5):
        with write_lock(path):
            pass
    over.set()
    for process in greedy:
        process.join()
    assert rounds.value - before < 100
