"""`flower config`: what it prints starts the server of this install."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from flower_mcp import __version__
from flower_mcp.cli import config
from flower_mcp.cli.config import server_program
from flower_mcp.cli.document_commands import CLIENTS
from flower_mcp.server.clients import Client
from tests.cli.processes import flower, run_in_process


def starts(command: list[str], folder: Path, environment: dict[str, str]) -> bool:
    """Whether the command is the server: it knows its version."""
    done = subprocess.run(
        [*command, "--version"], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode == 0 and __version__ in done.stdout


def test_claude_code_gets_a_command_that_leaves_the_folder_to_it(
    workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    done = flower("config", "claude-code", cwd=workspace, environment=environment)

    words = shlex.split(done.out)
    assert (done.code, done.err) == (0, "")
    assert words[:5] == ["claude", "mcp", "add", "flower", "--"]
    assert "--workspace" not in words
    assert Path(words[5]).is_absolute()
    assert starts(words[5:], tmp_path, environment)


def test_claude_desktop_gets_json_with_this_folder(
    workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    done = flower("config", "claude-desktop", cwd=workspace, environment=environment)

    server = json.loads(done.out)["mcpServers"]["flower"]
    assert server["args"][-2:] == ["--workspace", str(workspace)]
    assert starts([server["command"], *server["args"]], tmp_path, environment)


def test_the_inspector_gets_a_command_with_the_folder_that_was_named(
    workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()

    done = flower("config", "inspector", "-w", "../a folder", cwd=workspace, environment=environment)

    words = shlex.split(done.out)
    assert words[0] == "npx"
    assert words[-2] == "--workspace"
    assert Path(words[-1]).is_absolute()
    assert Path(words[-1]).samefile(folder)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["claude"], ["'claude'", "claude-code", "inspector"]),
        ([], ["CLIENT"]),
        (["claude-desktop", "-w", "nowhere"], ["nowhere", "not a folder"]),
    ],
)
def test_what_cannot_be_set_up_is_told(
    arguments: list[str], parts: list[str], workspace: Path, environment: dict[str, str]
) -> None:
    done = flower("config", *arguments, cwd=workspace, environment=environment)

    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    for part in parts:
        assert part in done.err


def test_a_home_folder_is_no_workspace(environment: dict[str, str]) -> None:
    done = flower("config", "claude-desktop", cwd=Path(environment["HOME"]), environment=environment)

    assert done.code == 2
    assert "--workspace" in done.err


def test_a_user_without_a_home_gets_a_configuration(workspace: Path, environment: dict[str, str]) -> None:
    environment.pop("HOME", None)
    program = "import pwd\ndef nobody(_id): raise KeyError('nobody')\npwd.getpwuid = pwd.getpwnam = nobody"

    done = run_in_process(program, ["config", "claude-desktop"], workspace, environment)

    assert done.code == 0, done.err
    assert str(workspace) in done.out


def test_the_script_of_this_install_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert server_program() == (tmp_path / "python", config.MODULE)
    script = tmp_path / config.SCRIPT
    script.touch()
    assert server_program() == (tmp_path / "python", config.MODULE)
    script.chmod(0o755)

    assert server_program() == (script, ())


def test_the_command_knows_the_clients_of_the_server() -> None:
    assert list(CLIENTS) == [client.value for client in Client]
