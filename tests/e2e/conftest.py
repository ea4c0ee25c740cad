"""Fixtures of the end-to-end tests: a scripted model, an environment that reaches nothing else, and a workspace."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower_mcp.demo.model import ScriptedModel
from tests.e2e.editing import Person
from tests.e2e.harness import clean_environment, is_scrubbed


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the package runs on."""
    return "asyncio"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model in a thread; `model.script = ...` gives it a script. A script that raises fails the test."""
    with ScriptedModel("Done.").in_thread() as started:
        yield started
        assert started.errors == []


@pytest.fixture(autouse=True)
def environment(model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The clean environment, also set in this process: what is started here reaches the model alone."""
    clean = clean_environment(tmp_path / "environment", model.url)
    clean["FLOWER_DEBUG"] = "1"  # a mistake of ours is raised, not contained
    clean["FLOWER_STATE_DIR"] = str(tmp_path / "state")
    for name in list(os.environ):
        if is_scrubbed(name):
            monkeypatch.delenv(name)
    for name, value in clean.items():
        monkeypatch.setenv(name, value)
    return clean


@pytest.fixture
def workspace(tmp_path: Path, environment: dict[str, str]) -> Path:
    """A git repository with one commit."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "README.md").write_text("# A workspace\n")
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *command], cwd=folder, env=environment, check=True)
    return folder


@pytest.fixture
def person() -> Iterator[Person]:
    """A person; what went wrong for him fails the test."""
    one = Person()
    yield one
    one.close()
