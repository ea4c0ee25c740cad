"""What every test needs: a user's state folder of its own, so that nothing is known from one test to the next."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def state_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state folder; the tests' own processes inherit it."""
    folder = tmp_path / "state"
    monkeypatch.setenv("FLOWER_STATE_DIR", str(folder))
    return folder
