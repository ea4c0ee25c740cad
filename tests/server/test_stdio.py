"""The server on stdio, as a process: the wire, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from flower_mcp import Workbench
from tests.e2e.harness import wait_until
from tests.server.helpers import ERAS, TOOLS, VERSIONS, answer, body_of, complaint
from tests.server.processes import SERVER, Process, started

SITE = """
import atexit, os, subprocess, sys, threading
print("printed at start")
threading.Timer(0.05, lambda: print("printed from a thread", flush=True)).start()
atexit.register(lambda: print("printed at exit"))
import flower_mcp.workbench.documents as documents
frozen = documents.Documents.freeze

def noisy(*arguments, **options):
    print("printed in a call and never flushed")
    os.write(1, b"written to descriptor 1\\n")
    subprocess.run(["echo", "printed by a child"])
    print("stdin is", repr(sys.stdin.read()), flush=True)
    return frozen(*arguments, **options)

documents.Documents.freeze = noisy
"""


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_does_everything_over_stdio(workspace: Path, era: str) -> None:
    parameters = StdioServerParameters(command=SERVER[0], args=[*SERVER[1:]], cwd=str(workspace), env=dict(os.environ))
    async with Client(parameters, mode=era) as connected:
        assert connected.protocol_version == VERSIONS[era]
        assert tuple(tool.name for tool in (await connected.list_tools()).tools) == TOOLS
        await answer(connected, "write_handoff", doing="进行中", next="b")
        assert "进行中" in body_of(await answer(connected, "read_handoff"))
        await answer(connected, "edit_section", section="next", text="c")
        await answer(connected, "handoff_status")
        assert "12 hex" in await complaint(connected, "edit_section", section="next", text="x", expected_revision="x")
        assert len((await connected.list_resources()).resources) == 2
        await connected.read_resource("handoff://work")
        assert (await connected.get_prompt("TAKEOVER_PROMPT", {})).messages
        assert (await connected.get_prompt("HANDOFF_PROMPT", {})).messages
    document = Workbench(workspace).read("work")
    assert document is not None
    assert document.handoff.next == "c"


def test_stdout_carries_the_protocol_alone_whatever_is_printed(tmp_path: Path, workspace: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "noise.py").write_text(SITE)
    code = f"import sys; sys.path.insert(0, {str(site)!r}); import flower_mcp.server.main as m; m._noise = True\n"
    # What a dependency prints while it is imported comes after the server has taken its wires, as in real life.
    code += "real = m._server\ndef server(*a, **k):\n    import noise\n    return real(*a, **k)\nm._server = server\n"
    code += "sys.exit(m.main([]))"
    with started(workspace, command=(sys.executable, "-c", code)) as server:
        assert not server.call("write_handoff", doing="a", next="b").get("isError")
        server.call("handoff_status")
        server.close()
        server.ended_within(10)
    assert [json.loads(line)["jsonrpc"] for line in server.lines] == ["2.0", "2.0"]
    said = b"".join(server.errors).decode()
    for words in ("at start", "from a thread", "at exit", "in a call", "descriptor 1", "by a child", "stdin is ''"):
        assert words in said


def test_the_wire_is_utf_8_whatever_the_locale(workspace: Path) -> None:
    environ = {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    with started(workspace, environ=environ) as server:
        server.call("write_handoff", doing="进行中 🌷", next="b")
        assert "进行中 🌷" in server.call("read_handoff")["content"][1]["text"]


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("how", ["end of stdin", "SIGTERM", "SIGINT"])
def test_it_ends_within_two_seconds_watcher_included(workspace: Path, how: str, listening: bool) -> None:
    Workbench(workspace).freeze("work", "## Doing\n\nx\n")
    with started(workspace) as server:
        server.request("tools/list")
        if listening:
            server.send("subscriptions/listen", notifications={"resourcesListChanged": True})
            wait_until(lambda: len(server.lines) > 1, what="the stream's first line")
            path = Workbench(workspace).documents.path("work")
            number = iter(range(1_000))

            def edited() -> bool:
                path.write_text(f"## Doing\n\n{next(number)}\n")
                return any(b"list_changed" in line for line in server.lines)

            wait_until(edited, 20, "the watch to stand")
            wait_until(Quiet(server), 20, "the last edit to be told")  # now its thread waits, and nothing wakes it
        if how == "end of stdin":
            server.close()
        else:
            server.process.send_signal(getattr(signal, how))
        assert server.ended_within(2) < 2
        assert b"Traceback" not in b"".join(server.errors)
    if how == "end of stdin":
        assert server.process.returncode == 0


class Quiet:
    """Whether nothing was said for half a second."""

    def __init__(self, server: Process) -> None:
        self.server, self.lines, self.since = server, -1, 0.0

    def __call__(self) -> bool:
        """Look."""
        if len(self.server.lines) != self.lines:
            self.lines, self.since = len(self.server.lines), time.monotonic()
        return time.monotonic() - self.since > 0.5


def test_it_ends_at_once_when_there_is_nobody(workspace: Path) -> None:
    with started(workspace) as server:
        server.close()
        server.ended_within(20)
    assert (server.process.returncode, server.lines) == (0, [])


def test_rubbish_on_stdin_is_passed_over(workspace: Path) -> None:
    with started(workspace) as server:
        assert server.process.stdin is not None
        server.process.stdin.write(b"no json\n\xff\xfe\n{}\n[1]\n")
        assert server.request("tools/list")["result"]["tools"]


@pytest.mark.parametrize("folder", ["/", "home"])
def test_started_nowhere_every_tool_says_what_to_set_and_nothing_is_made(tmp_path: Path, folder: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    place = home if folder == "home" else Path("/")
    with started(place, environ={"HOME": str(home)}) as server:
        for tool, arguments in (
            ("handoff_status", {}),
            ("write_handoff", {"doing": "a", "next": "b"}),
            ("read_handoff", {}),
            ("edit_section", {"section": "next", "text": "x"}),
        ):
            result = server.call(tool, **arguments)
            assert result["isError"]
            assert "--workspace FOLDER" in result["content"][0]["text"]
        assert server.request("resources/list")["result"]["resources"]
    assert list(home.iterdir()) == []
    assert not Path("/.flower").exists()


def test_the_step_can_be_named_by_option_and_by_variable(workspace: Path) -> None:
    with started(workspace, "--step", "one") as server:
        assert server.call("write_handoff", doing="a", next="b")["structuredContent"]["step"] == "one"
    with started(workspace, environ={"FLOWER_STEP": "two", "FLOWER_WORKSPACE": str(workspace)}) as server:
        assert server.call("write_handoff", doing="a", next="b", step="one")["structuredContent"]["step"] == "one"
        assert server.call("write_handoff", doing="a", next="b")["structuredContent"]["step"] == "two"
        assert server.call("read_handoff")["content"][0]["text"].startswith("Handoff document of step 'two'")
