"""What the environment says: the window, and where the user's state lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp.core.errors import FilesError
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.windows import default_window, endpoint_of, state_folder


def test_the_window_is_guessed_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_DEFAULT_OPUS_MODEL", raising=False)
    monkeypatch.setenv("ANTHROPIC_MODEL", "claude-haiku-4-5")

    assert default_window() == 200_000
    assert default_window({}) == 1_000_000


def test_the_state_folder_can_be_put_elsewhere(tmp_path: Path) -> None:
    assert state_folder({"FLOWER_STATE_DIR": str(tmp_path)}) == tmp_path
    assert state_folder({}).name == "flower"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "https://api.anthropic.com"),
        ({"ANTHROPIC_BASE_URL": "https://Api.Z.ai/api/anthropic/"}, "https://api.z.ai/api/anthropic"),
        ({"ANTHROPIC_BASE_URL": "https://me:pass word@gw.example:8443/v1?key=abc#x"}, "https://gw.example:8443/v1"),
        ({"ANTHROPIC_BASE_URL": "http://[::1]:4000"}, "http://[::1]:4000"),
        ({"ANTHROPIC_BASE_URL": "me:secret@gateway with spaces?key=abc"}, "gatewaywithspaces"),
        ({"ANTHROPIC_BASE_URL": "http://h:port"}, "unreadable-url"),
        ({"ANTHROPIC_BASE_URL": "http://[x"}, "unreadable-url"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1"}, "bedrock:eu-west-1"),
        ({"CLAUDE_CODE_USE_VERTEX": "1"}, "vertex:default"),
        (
            {"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": "https://u:p@b.example"},
            "https://b.example",
        ),
    ],
)
def test_an_endpoint_is_known_by_its_address_without_secrets(environ: dict[str, str], expected: str) -> None:
    assert endpoint_of(environ) == expected


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def nobody(_id: object) -> None:
        raise KeyError("nobody")

    for name in ("HOME", "FLOWER_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    said: list[str] = []

    with pytest.raises(FilesError, match="FLOWER_STATE_DIR=DIR"):
        state_folder({})
    Known(say=said.append).keep("0123456789ab")
    assert "no home folder" in said[0]
