"""Hearing of changes as they happen, and saying so where nothing can be heard."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import watchfiles

from flower_mcp.workbench import watch as watching
from flower_mcp.workbench.watch import ARMED, remote_kind, watch

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the package runs on."""
    return "asyncio"


@asynccontextmanager
async def watched(*folders: Path, name: str = "doc.md") -> AsyncIterator[list[float]]:
    """The moments at which a change was heard of, once the watch stands."""
    heard: list[float] = []
    stop = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch, folders, lambda each: each == name, lambda: heard.append(time.monotonic()), stop)
        await until(lambda: heard)
        heard.clear()
        yield heard
        stop.set()


async def until(predicate: Callable[[], object]) -> None:
    with anyio.fail_after(10):
        while not predicate():
            await anyio.sleep(0.005)


async def test_a_write_a_rename_and_a_removal_are_heard_and_other_names_are_not(tmp_path: Path) -> None:
    path = tmp_path / "doc.md"
    async with watched(tmp_path) as heard:
        for name in ("4913", ".doc.md.swp", "doc.md~", "doc.md___jb_tmp___"):
            (tmp_path / name).write_text("x")
        path.write_text("one")
        await until(lambda: heard)
        heard.clear()
        (tmp_path / "new").write_text("two")
        (tmp_path / "new").replace(path)
        await until(lambda: heard)
        await anyio.sleep(2 * watching.AT_MOST / 1000)
        heard.clear()
        (tmp_path / "4913").unlink()
        await anyio.sleep(2 * watching.AT_MOST / 1000)
        assert heard == []
        path.unlink()
        await until(lambda: heard)


async def test_it_is_heard_within_a_third_of_a_second(tmp_path: Path) -> None:
    async with watched(tmp_path) as heard:
        delays = []
        for number in range(5):
            await anyio.sleep(0.15)
            heard.clear()
            began = time.monotonic()
            (tmp_path / "doc.md").write_text(str(number))
            await until(lambda: heard)
            delays.append(heard[0] - began)
    assert sorted(delays)[2] < 0.33


async def test_once_stopped_it_ends_at_once(tmp_path: Path) -> None:
    async with watched(tmp_path):
        began = time.monotonic()
    assert time.monotonic() - began < 1.0


async def test_a_second_folder_is_watched_too_and_one_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    other = tmp_path / "live"
    other.mkdir()
    async with watched(tmp_path / "nowhere", other) as heard:
        (other / "doc.md").write_text("x")
        await until(lambda: heard)


async def test_where_there_is_no_folder_it_says_so(tmp_path: Path) -> None:
    said = await watch((tmp_path / "nowhere",), lambda _: True, lambda: None, anyio.Event())
    assert said == "there is no folder to watch"


async def test_where_the_system_has_no_watches_left_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_given: object, **_options: object) -> object:
        raise OSError(24, os.strerror(24))

    monkeypatch.setattr(watchfiles, "awatch", none_left)
    said = await watch((tmp_path,), lambda _: True, lambda: None, anyio.Event())
    assert said is not None
    assert "Too many open files" in said


async def test_a_mistake_in_the_callers_function_is_not_hidden(tmp_path: Path) -> None:
    def wrong() -> None:
        raise ValueError("mine")

    with pytest.raises(ExceptionGroup) as caught:
        await watch((tmp_path,), lambda _: True, wrong, anyio.Event())
    assert caught.group_contains(ValueError, match="mine")


async def test_a_file_system_that_reports_nothing_is_not_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "remote_kind", lambda folder: "nfs4" if folder == tmp_path else "")
    said = await watch((tmp_path,), lambda _: True, lambda: None, anyio.Event())
    assert said is not None
    assert "nfs4" in said


def test_this_folders_file_system_reports_changes(tmp_path: Path) -> None:
    assert remote_kind(tmp_path) == ""
    assert ARMED < 0.3
