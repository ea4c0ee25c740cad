"""What the environment says: the window, and where the user's state lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp.workbench.windows import default_window, state_folder


def test_the_window_is_guessed_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_DEFAULT_OPUS_MODEL", raising=False)
    monkeypatch.setenv("ANTHROPIC_MODEL", "claude-haiku-4-5")

    assert default_window() == 200_000
    assert default_window({}) == 1_000_000


def test_the_state_folder_can_be_put_elsewhere(tmp_path: Path) -> None:
    assert state_folder({"FLOWER_STATE_DIR": str(tmp_path)}) == tmp_path
    assert state_folder({}).name == "flower"
