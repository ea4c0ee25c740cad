"""Fixtures of the demo's tests: a prepared world, and nothing inherited from whoever runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flower_mcp.demo.world import DemoWorld, prepare
from tests.e2e.harness import is_scrubbed

ODD = "a demo, 演示"
"""A folder's name with all that names should not have."""

NO_WHERE = "http://127.0.0.1:9"
"""A model's address where none is."""


@pytest.fixture(autouse=True)
def nothing_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a surrounding Claude session, of a person's keys or of git's variables."""
    for name in list(os.environ):
        if is_scrubbed(name) or name.startswith("GIT_"):
            monkeypatch.delenv(name)


@pytest.fixture
def world(tmp_path: Path) -> DemoWorld:
    """A prepared world, in a folder with an odd name, whose model is nowhere."""
    return prepare(tmp_path / ODD, NO_WHERE)
