"""Fixtures of the server's tests: an environment without Claude's or flower's variables, a workspace, a workbench."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flower_mcp import Workbench
from tests.e2e.harness import is_scrubbed


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the server runs on."""
    return "asyncio"


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's Claude Code or flower is seen."""
    for name in list(os.environ):
        if is_scrubbed(name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("FLOWER_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder to work in."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def workbench(workspace: Path) -> Workbench:
    """Its workbench, of which nothing is on disk yet."""
    return Workbench(workspace)
