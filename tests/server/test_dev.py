"""`mcp dev dev.py`: the SDK's command starts the Inspector, and the Inspector starts the server and lists its tools.

In a copy of the tree, since uv makes an environment where it is run. uv itself would fetch packages, so its place is
taken by a stand-in that runs the same command in this environment, unless TESTS_NETWORK is set.
"""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.harness import wait_until
from tests.server.helpers import TOOLS
from tests.server.node import INSPECTOR, TOP, node
from tests.server.processes import START, environment

pytestmark = pytest.mark.e2e

COPIED = ("dev.py", "pyproject.toml", "README.md", "LICENSE", "flower_mcp", "prompts")
MCP = Path(sys.executable).parent / "mcp"
PASSED = {name: os.environ[name] for name in ("SSL_CERT_FILE", "UV_CACHE_DIR") if name in os.environ}
UV = """#!{python}
import os, sys
words = sys.argv[1:]
assert words[0] == "run", words
assert "mcp[cli]" in words, words  # else the server could not be started in uv's environment
os.execv({mcp!r}, ["mcp", *words[words.index("mcp") + 1:]])
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what uv would build, with the Inspector where npx looks for it."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in COPIED:
        source = TOP / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    (folder / "node_modules").symlink_to(node(INSPECTOR).folder)
    return folder


def stand_in(folder: Path) -> Path:
    """A folder with a `uv` that runs in this environment."""
    folder.mkdir()
    program = folder / "uv"
    program.write_text(UV.format(python=sys.executable, mcp=str(MCP)))
    program.chmod(0o755)
    return folder


class Backend:
    """The Inspector's own API, which its page uses."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"x-mcp-remote-auth": f"Bearer {token}"}
        self.client = httpx2.Client(base_url=url, headers=headers, timeout=START * 2)
        self.session = ""
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._listener: threading.Thread | None = None

    def connect(self) -> None:
        """Start the server as the page does when `Connect` is pressed."""
        given = self.client.get("/api/config").json()
        config = {
            "type": "stdio",
            "command": given["defaultCommand"],
            "args": given["defaultArgs"],
            "cwd": given["defaultCwd"],
            "env": {**given["defaultEnvironment"], **PASSED},
        }
        reply = self.client.post("/api/mcp/connect", json={"config": config})
        assert reply.status_code == 200, reply.text
        self.session = reply.json()["sessionId"]
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def request(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request of the older era."""
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        reply = self.client.post("/api/mcp/send", json={"sessionId": self.session, "message": message})
        assert reply.json().get("ok"), reply.text
        while True:
            answer = self._answers.get(timeout=START * 2)
            if answer.get("id") == number:
                result: dict[str, Any] = answer["result"]
                return result

    def close(self) -> None:
        """Give everything back; the Inspector has been ended."""
        if self._listener is not None:
            self._listener.join(START)
        self.client.close()

    def _listen(self) -> None:
        events = self.client.stream("GET", "/api/mcp/events", params={"sessionId": self.session}, timeout=None)
        try:
            with events as stream:
                for line in stream.iter_lines():
                    if line.startswith("data:"):
                        event = json.loads(line[5:])
                        self._answers.put(event.get("data") or event)
        except httpx2.HTTPError:
            return  # the Inspector was ended


@pytest.fixture
def inspector(checkout: Path, tmp_path: Path) -> Iterator[Backend]:
    """The Inspector, started by `mcp dev dev.py`."""
    if find_spec("typer") is None or not MCP.exists():
        pytest.skip("the command `mcp` needs typer: pip install 'mcp[cli]'")
    tools = node(INSPECTOR)
    network = bool(os.environ.get("TESTS_NETWORK")) and shutil.which("uv") is not None
    path = [str(tools.bin), *([] if network else [str(stand_in(tmp_path / "uv"))]), os.environ["PATH"]]
    home = tmp_path / "home"
    home.mkdir()
    variables = {
        "PATH": os.pathsep.join(path),
        "HOME": str(home),
        "HOST": "127.0.0.1",
        "MCP_AUTO_OPEN_ENABLED": "false",
    }
    if network:  # the Inspector waits 60 s for an answer, and building an environment may take longer
        warm = ["uv", "run", "--with", "mcp[cli]", "mcp", "version"]
        subprocess.run(warm, cwd=checkout, env=environment(**variables), check=True, capture_output=True)
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [MCP, "dev", "dev.py"],
            cwd=checkout,
            env=environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    address = re.compile(r"(http://127\.0\.0\.1:\d+)\S*MCP_INSPECTOR_API_TOKEN=(\w+)")
    backend: Backend | None = None
    try:
        wait_until(lambda: address.search(log.read_text()) or process.poll() is not None, START * 2, "the Inspector")
        found = address.search(log.read_text())
        assert found is not None, log.read_text()
        backend = Backend(found[1], found[2])
        yield backend
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(START)
        if backend is not None:
            backend.close()


def test_the_inspector_starts_and_lists_the_four_tools(inspector: Backend) -> None:
    inspector.connect()
    client = {"name": "test", "version": "1"}
    opened = inspector.request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
    assert opened["serverInfo"]["name"] == "flower"
    assert [tool["name"] for tool in inspector.request(2, "tools/list")["tools"]] == [*TOOLS]


def test_mcp_run_serves_the_same(workspace: Path) -> None:
    if find_spec("typer") is None or not MCP.exists():
        pytest.skip("the command `mcp` needs typer: pip install 'mcp[cli]'")
    from tests.server.processes import started

    with started(workspace, command=(str(MCP), "run", str(TOP / "dev.py"))) as server:
        assert [tool["name"] for tool in server.request("tools/list")["result"]["tools"]] == [*TOOLS]
        assert not server.call("write_handoff", doing="a", next="b").get("isError")
        server.close()
        server.ended_within(5)
    assert (workspace / ".flower").is_dir()
