"""`flower doctor`: the windows that were learned, what is forgotten, and when an earlier line is to be preferred."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from flower_mcp.core.books import iso
from tests.cli.processes import Done, flower

SAID = "prompt is too long: 61050 tokens > 60000 maximum"
GATEWAY = "https://gw.example/v1 glm-5"
EARLIER = "for long tasks type: flower --at 200000"


@pytest.fixture
def file(environment: dict[str, str]) -> Path:
    """Where windows.json lies, its folder made."""
    folder = Path(environment["FLOWER_STATE_DIR"])
    folder.mkdir()
    return folder / "windows.json"


def learned(file: Path, *keys: str, window: int = 60_000) -> None:
    """Have learned a window for each key."""
    entry = {"window": window, "at": iso(time.time()), "from": SAID}
    file.write_text(json.dumps(dict.fromkeys(keys, entry)))


def doctor(workspace: Path, environment: dict[str, str], *arguments: str) -> Done:
    """Run it."""
    return flower("doctor", *arguments, cwd=workspace, environment=environment)


def test_the_learned_windows_are_listed_and_forgotten(workspace: Path, environment: dict[str, str], file: Path) -> None:
    mine = f"{environment['ANTHROPIC_BASE_URL']} claude-sonnet-4-5"
    learned(file, GATEWAY, mine, "https://gw.example/v1 other")

    listed = doctor(workspace, environment, "--model", "claude-sonnet-4-5")
    assert (listed.code, listed.err) == (0, "")
    assert "ok  60K for glm-5 at https://gw.example/v1, learned on 20" in listed.out
    assert listed.out.count(SAID) == 3
    assert f"flower doctor --forget '{GATEWAY}'" in listed.out
    assert "window 60K (learned from an overflow), hands off at 45.0K" in listed.out

    one = doctor(workspace, environment, "--forget", GATEWAY)
    assert (one.code, one.out) == (0, "removed: 60K for glm-5 at https://gw.example/v1\n")
    assert GATEWAY not in json.loads(file.read_text())

    unknown = doctor(workspace, environment, "--forget", GATEWAY)
    assert unknown.code == 5
    assert "flower doctor lists what was" in unknown.err

    assert doctor(workspace, environment, "--forget").out.count("removed: 60K") == 2
    assert doctor(workspace, environment, "--forget").out == "nothing was learned, so nothing was removed\n"
    assert json.loads(file.read_text()) == {}


def test_a_high_line_is_told_with_what_to_type(workspace: Path, environment: dict[str, str], file: Path) -> None:
    usual = doctor(workspace, environment)
    assert usual.code == 0
    assert "ok  no window was learned from an overflow" in usual.out
    assert "window 1000K (guessed from the name; the CLI is asked at connect), hands off at 950.0K" in usual.out
    assert EARLIER in usual.out

    earlier = doctor(workspace, environment, "--at", "200K")
    assert "hands off at 200.0K" in earlier.out
    assert EARLIER not in earlier.out

    small = doctor(workspace, {**environment, "FLOWER_WINDOW": "32000", "FLOWER_HEADROOM": "1000"})
    assert "window 32K (set), hands off at 31.0K" in small.out
    assert "use --headroom 8000" in small.out
    assert not file.exists()


def test_a_broken_file_is_set_aside_and_is_something_wrong(
    workspace: Path, environment: dict[str, str], file: Path
) -> None:
    file.write_text("[")

    broken = doctor(workspace, environment)
    assert broken.code == 1
    assert "could not be read" in next(line for line in broken.out.splitlines() if line.startswith("!"))
    assert [path.read_text() for path in file.parent.glob("windows.json.broken-*")] == ["["]
    assert doctor(workspace, environment).code == 0

    file.mkdir()
    assert "is not a file" in doctor(workspace, environment).out
