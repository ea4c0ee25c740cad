"""`flower doctor` as a person meets it: a sound folder, learned windows, every file broken, and no home."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from flower_mcp.core.books import iso
from flower_mcp.core.handoff import Handoff
from flower_mcp.workbench.workbench import Workbench
from tests.cli.processes import Done, contents, flower, run_in_process

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


def test_a_sound_folder_is_well_and_stays_as_it_is(
    workspace: Path, environment: dict[str, str], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = f"{environment['ANTHROPIC_BASE_URL']} claude-sonnet-4-5"
    learned(file, GATEWAY, mine, "https://gw.example/v1 other")
    monkeypatch.setenv("FLOWER_STATE_DIR", str(file.parent))
    Workbench(workspace).freeze("work", Handoff("work", doing="a", next="b"))
    server = {"command": sys.executable, "args": ["-m", "flower_mcp.server.main", "--workspace", str(workspace)]}
    clients = Path(environment["HOME"]) / ".config" / "Claude"
    clients.mkdir(parents=True)
    (clients / "claude_desktop_config.json").write_text(json.dumps({"mcpServers": {"flower": server}}))
    secret = "sk-ant-verysecretindeed"
    before = contents(tmp_path)

    done = doctor(workspace, {**environment, "ANTHROPIC_API_KEY": secret}, "--model", "claude-sonnet-4-5")

    assert (done.code, done.err) == (0, ""), done.out
    lines = done.out.splitlines()
    assert {line[:4] for line in lines[:-1]} == {"ok  ", "    "}
    assert lines[-1] == "all is well"
    for words in (
        "64-bit",
        "installed: flower-mcp, run",
        "(Claude Code)",
        "credentials: API key, ANTHROPIC_API_KEY=sk-a**** (by the CLI's word)",
        "can be reached",
        "60K for glm-5 at https://gw.example/v1, learned on 20",
        f"flower doctor --forget '{GATEWAY}'",
        "window 60K (learned from an overflow), hands off at 45.0K",
        "changes are reported here at once",
        "locks hold here",
        "steps: 1",
        "no config file",
        "state folder",
        "Claude Desktop: ",
        "starts, tools: ",
    ):
        assert words in done.out
    assert secret[4:] not in done.out
    assert done.out.count(SAID) == 3
    assert contents(tmp_path) == before


def test_the_learned_windows_are_forgotten(workspace: Path, environment: dict[str, str], file: Path) -> None:
    learned(file, GATEWAY, "https://gw.example/v1 other", "https://third.example m")

    one = doctor(workspace, environment, "--forget", GATEWAY)
    assert (one.code, one.out) == (0, "removed: 60K for glm-5 at https://gw.example/v1\n")
    assert GATEWAY not in json.loads(file.read_text())

    unknown = doctor(workspace, environment, "--forget", GATEWAY)
    assert unknown.code == 5
    assert "`flower doctor` lists what was" in unknown.err

    assert doctor(workspace, environment, "--forget").out.count("removed: 60K") == 2
    assert doctor(workspace, environment, "--forget").out == "nothing was learned, so nothing was removed\n"
    assert json.loads(file.read_text()) == {}

    learned(file, GATEWAY)
    as_json = doctor(workspace, environment, "--forget", "--json").lines
    assert [line["kind"] for line in as_json] == ["finding", "result"]
    assert "removed: 60K" in as_json[0]["text"]
    assert as_json[-1] == {"kind": "result", "ok": True, "wrong": 0}

    file.write_text("[")
    assert "could not be read" in doctor(workspace, environment, "--forget").out
    assert [path.read_text() for path in file.parent.glob("windows.json.broken-*")] == ["["]


def test_with_everything_broken_each_thing_is_named_and_nothing_is_touched(
    workspace: Path, environment: dict[str, str], file: Path, tmp_path: Path
) -> None:
    home = Path(environment["HOME"])
    broken = [
        file,
        file.with_name("known.json"),
        workspace / "runs" / "manifest.json",
        workspace / "runs" / "lineage.json",
        workspace / ".flower" / "live" / "work.json",
        workspace / ".flower.toml",
        workspace / ".mcp.json",
        home / ".config" / "flower" / "config.toml",
        Path(environment["CLAUDE_CONFIG_DIR"]) / ".claude.json",
        home / ".config" / "Claude" / "claude_desktop_config.json",
    ]
    for path in broken:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{[\xff")
    (file.parent / "unwritten").mkdir()
    (file.parent / "unwritten" / "text.md").write_text("mine")
    (workspace / ".flower" / "notes").mkdir()
    (workspace / ".flower" / "notes" / "交接-docs.md").write_text("<<<<<<< ours\n")
    (workspace / ".flower" / "notes" / "out").symlink_to(tmp_path)
    (workspace / ".flower" / "live" / "work.json").chmod(0o644)
    before = contents(tmp_path)
    variables = {**environment, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "HTTPS_PROXY": ""}
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        variables.pop(name, None)

    done = doctor(workspace, variables, "--json")

    assert done.code == 1, done
    assert done.err == ""
    assert done.lines[-1]["kind"] == "result"
    wrong = [line for line in done.lines[:-1] if not line["ok"]]
    assert done.lines[-1]["wrong"] == len(wrong)
    assert [line for line in wrong if not line["do"]] == []
    texts = "\n".join(line["text"] for line in wrong)
    for words in (
        "no credentials",
        "127.0.0.1:9 cannot be reached: Connection refused",
        "windows.json cannot be read",
        "known.json counts for nothing",
        "manifest.json cannot be read",
        "lineage.json cannot be read",
        "work.json cannot be read and counts for nothing",
        ".flower.toml is not TOML",
        "config.toml is not TOML",
        ".mcp.json cannot be read",
        ".claude.json cannot be read",
        "claude_desktop_config.json cannot be read",
        "the document of step docs cannot be taken over",
        "links lead out of the workbench",
        "others may read",
        "texts that found no place on the disk",
    ):
        assert words in texts
    assert contents(tmp_path) == before


def test_a_base_install_and_a_user_without_a_home_are_served(workspace: Path, environment: dict[str, str]) -> None:
    for name in ("HOME", "FLOWER_STATE_DIR", "CLAUDE_CONFIG_DIR"):
        environment.pop(name, None)
    program = (
        "sys.modules['claude_agent_sdk'] = sys.modules['rich'] = None\n"
        "import pwd\ndef nobody(_id): raise KeyError('nobody')\npwd.getpwuid = pwd.getpwnam = nobody"
    )

    done = run_in_process(program, ["doctor"], workspace, environment)

    assert done.code == 1, done
    assert done.err == ""
    wrong = [line for line in done.out.splitlines() if line.startswith("!")]
    assert [line for line in wrong if "no home folder" not in line and "RuntimeError" not in line] == []
    assert len(wrong) >= 1
    assert "for the supervisor: pip install 'flower-mcp[run]'" in done.out
    assert "credentials" not in done.out
    assert not (workspace / ".flower").exists()


def test_a_locale_without_chinese_gets_english_and_is_no_fault(workspace: Path, environment: dict[str, str]) -> None:
    variables = {**environment, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "FLOWER_LANG": "zh"}

    done = doctor(workspace, {**variables, "FLOWER_WINDOW": "32000", "FLOWER_HEADROOM": "1000"})

    assert (done.code, done.err) == (0, "")  # flower goes on in UTF-8 by itself
    assert done.out.isascii()
    assert "window 32K (set), hands off at 31.0K" in done.out
    assert "use --headroom 8000" in done.out
    assert EARLIER not in done.out
