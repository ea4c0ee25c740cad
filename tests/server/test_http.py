"""The server over HTTP, as a process on this machine."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from flower_mcp import Workbench
from tests.server.helpers import ERAS, TOOLS, VERSIONS, answer, body_of, complaint
from tests.server.processes import META, SERVER, START, serving
from tests.server.test_notify import LISTS, UPDATED, URI, listening, save

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_does_everything_over_http(workspace: Path, era: str) -> None:
    with serving(workspace) as (url, _):
        async with Client(url, mode=era) as connected:
            assert connected.protocol_version == VERSIONS[era]
            assert tuple(tool.name for tool in (await connected.list_tools()).tools) == TOOLS
            await answer(connected, "write_handoff", doing="进行中", next="b")
            assert "进行中" in body_of(await answer(connected, "read_handoff"))
            await answer(connected, "edit_section", section="next", text="c")
            await answer(connected, "handoff_status")
            assert "There is no section" in await complaint(connected, "edit_section", section="x", text="y")
            assert len((await connected.list_resources()).resources) == 2
            await connected.read_resource("handoff://work")
            assert (await connected.get_prompt("TAKEOVER_PROMPT", {})).messages


async def test_one_edit_reaches_two_clients_of_each_era(workspace: Path) -> None:
    path = Workbench(workspace).freeze("work", "## Doing\n\nx\n").path
    with serving(workspace) as (url, _):
        async with (
            listening(url, "auto", URI) as (_, one),
            listening(url, "auto", URI) as (_, two),
            listening(url, "legacy", URI) as (_, three),
            listening(url, "legacy", URI) as (_, four),
        ):
            save(path, "## Doing\n\nedited\n", "renamed over")
            for heard in (one, two, three, four):
                await heard.until(UPDATED, LISTS)


async def seconds_to_end(workspace: Path, name: str) -> float:
    """How long the server takes to end after a signal, with two clients of each era connected and listening."""
    ended = anyio.Event()

    async def stay(url: str, era: str, ready: anyio.Event) -> None:
        try:
            async with listening(url, era, URI):
                ready.set()
                await ended.wait()
        except BaseExceptionGroup:
            if not ready.is_set():
                raise
            # else the server is gone, and the client says so while it closes

    with serving(workspace) as (url, process):
        async with anyio.create_task_group() as group:
            readies = []
            for era in ("auto", "auto", "legacy", "legacy"):
                readies.append(anyio.Event())
                group.start_soon(stay, url, era, readies[-1])
            for ready in readies:
                with anyio.fail_after(START):
                    await ready.wait()
            start = time.monotonic()
            process.send_signal(getattr(signal, name))
            await anyio.to_thread.run_sync(process.wait)
            took = time.monotonic() - start
            ended.set()
    return took


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
async def test_it_ends_within_a_second_with_clients_connected(workspace: Path, name: str) -> None:
    """Of three tries one has to: on a machine with twice as many processes as cores a try may be starved."""
    took: list[float] = []
    while len(took) < 3 and min(took, default=1.0) >= 1:
        took.append(await seconds_to_end(workspace, name))
    assert min(took) < 1, took


async def test_a_listening_client_is_told_that_the_stream_has_ended(workspace: Path) -> None:
    with serving(workspace) as (url, process):
        async with Client(url) as connected:
            with anyio.fail_after(START):
                async with connected.listen(resources_list_changed=True) as stream:
                    process.terminate()
                    assert [event async for event in stream] == []  # it would raise if the stream were cut


def post(url: str, **headers: str) -> httpx2.Response:
    """A tools/list of the newer era."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    usual = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
    }
    return httpx2.post(url, json=body, headers={**usual, **headers})


def test_other_hosts_and_origins_are_refused(workspace: Path) -> None:
    with serving(workspace) as (url, _):
        port = url.split(":")[2].split("/")[0]
        assert post(url).status_code == 200
        assert post(url, host=f"localhost:{port}", origin=f"http://localhost:{port}").status_code == 200
        assert post(url, host="evil.example").status_code == 421
        assert post(url, host=f"evil.example:{port}").status_code == 421
        assert post(url, origin="http://evil.example").status_code == 403
        with socket.socket() as other, pytest.raises(OSError, match="refused"):
            other.connect(("127.0.0.2", int(port)))


def test_a_port_that_is_taken_is_said(workspace: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command: list[Any] = [*SERVER, "--http", str(taken.getsockname()[1])]
        done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, timeout=START, check=False)
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
    assert done.stdout == ""
