"""What every end-to-end test needs: a world that holds the scripted model alone, and eyes on real processes.

It knows Claude Code's variables and `/proc`. It knows nothing of the code under test.

What can hurt: with default settings the CLI also calls api.anthropic.com by name, whatever ANTHROPIC_BASE_URL says
(seen with 2.1.332: five attempts in six seconds). CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC stops that, but code
under test may give the CLI a list of variables without it; so the proxy variables point to a closed port as well,
and nothing gets further than this machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Message, ResultMessage

# 200,000 tokens of window and no surprises from model-specific reminders.
MODEL = "claude-sonnet-4-5"
SCRUBBED = ("CLAUDE", "ANTHROPIC", "FLOWER", "DISABLE_", "XDG_", "OTEL_", "AWS_", "GOOGLE_", "VERTEX_")
PROXIES = tuple(
    name for each in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for name in (each, each.lower())
)
# The discard port: nothing listens there, so what is sent to this proxy is refused at once.
NOWHERE = "http://127.0.0.1:9"
POLL = 0.02


def clean_environment(tmp: Path, url: str) -> dict[str, str]:
    """All variables for a process under test: nothing of Claude, Anthropic or flower is inherited.

    HOME and CLAUDE_CONFIG_DIR are new folders in `tmp`; `url` is the scripted model's.
    """
    home, config = tmp / "home", tmp / "claude"
    home.mkdir(parents=True, exist_ok=True)
    config.mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-test",
        "CLAUDE_CONFIG_DIR": str(config),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "NO_PROXY": "127.0.0.1,localhost",
        # Root may bypass permissions only inside what says that it is a sandbox.
        "IS_SANDBOX": "1",
    }


def is_scrubbed(name: str) -> bool:
    """Whether a variable of this process must not reach one under test."""
    return name.startswith(SCRUBBED) or name in PROXIES


def claude_cli() -> Path:
    """The CLI that claude_agent_sdk brings."""
    spec = find_spec("claude_agent_sdk")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "_bundled" / "claude"


@asynccontextmanager
async def claude(workspace: Path, **options: Any) -> AsyncIterator[ClaudeSDKClient]:
    """A connected client of the real CLI in `workspace`, permissions bypassed; `options` go to ClaudeAgentOptions."""
    usual = {"cwd": workspace, "model": MODEL, "permission_mode": "bypassPermissions", "setting_sources": []}
    async with ClaudeSDKClient(ClaudeAgentOptions(**{**usual, **options})) as client:
        yield client


@dataclass(frozen=True, slots=True)
class Turn:
    """The messages of one turn; the last is its result."""

    messages: list[Message]

    @property
    def result(self) -> ResultMessage:
        """The result."""
        last = self.messages[-1]
        assert isinstance(last, ResultMessage)
        return last


async def turn(client: ClaudeSDKClient, prompt: str, limit: float = 60.0) -> Turn:
    """Send a prompt and read to its result. Raises TimeoutError after `limit` seconds."""
    with anyio.fail_after(limit):
        await client.query(prompt)
        return Turn([message async for message in client.receive_response()])


# Processes


def marked(marker: str) -> list[int]:
    """Processes started with `marker` in their environment, such as "FLOWER_RUN=r1" or a folder; never this one."""
    return [pid for pid in _pids() if pid != os.getpid() and marker.encode() in _read(pid, "environ")]


def descendants(pid: int) -> list[int]:
    """Living processes below `pid`, however deep."""
    children: dict[int, list[int]] = {}
    for each in _pids():
        children.setdefault(parent(each), []).append(each)
    found: list[int] = []
    level = children.get(pid, [])
    while level:
        found += level
        level = [grandchild for child in level for grandchild in children.get(child, [])]
    return [each for each in found if alive(each)]


def alive(pid: int) -> bool:
    """Whether `pid` runs; a zombie does not."""
    return _stat(pid)[:1] not in ([], ["Z"], ["X"])


def command(pid: int) -> str:
    """The command line of `pid`, "" if it is gone."""
    return _read(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _stat(pid: int) -> list[str]:
    # The name in parentheses may hold spaces and parentheses; state and parent follow the last one.
    return _read(pid, "stat").decode("utf-8", "replace").rpartition(")")[2].split()


def parent(pid: int) -> int:
    """The process that started `pid`; 0 if `pid` is gone."""
    fields = _stat(pid)
    return int(fields[1]) if len(fields) > 1 else 0


# Waiting


def wait_until(predicate: Callable[[], object], timeout: float = 30.0, what: str = "") -> None:
    """Look until `predicate` holds. Blocks. Raises TimeoutError, naming `what`, after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not predicate():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout} s: {what or predicate}")
        time.sleep(POLL)


async def wait_until_async(predicate: Callable[[], object], timeout: float = 30.0, what: str = "") -> None:
    """The same for a caller in an event loop."""
    deadline = time.monotonic() + timeout
    while not predicate():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout} s: {what or predicate}")
        await anyio.sleep(POLL)
