"""How the server is started: which workspace, which options, what a client's configuration says."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.core.errors import Usage
from flower_mcp.server import main as command
from flower_mcp.server.app import FlowerServer
from flower_mcp.server.clients import Client, configuration
from flower_mcp.server.workspace import choose, is_no_workspace, opener
from tests.server.processes import started

HOME = Path("/nowhere/home")


def no_home(_given: object = None) -> Path:
    """In place of Path.home and of expanduser, for a user without a home."""
    raise RuntimeError("Could not determine home directory.")


def test_the_first_that_names_a_workspace_is_believed(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("option", "ours", "project", "current")]
    for folder in folders:
        folder.mkdir()
    option, ours, project, current = folders
    environ = {"FLOWER_WORKSPACE": str(ours), "CLAUDE_PROJECT_DIR": str(project)}
    assert choose(str(option), environ, current, HOME) == option
    assert choose(None, environ, current, HOME) == ours
    assert choose("", {**environ, "FLOWER_WORKSPACE": ""}, current, HOME) == project
    assert choose(None, {}, current, HOME) == current


@pytest.mark.parametrize("place", ["/", "/root", "/home/somebody", "/Users/somebody", str(HOME)])
def test_a_root_or_a_home_is_no_workspace_unless_it_is_named(place: str) -> None:
    assert is_no_workspace(Path(place), HOME)
    with pytest.raises(Usage, match="FLOWER_WORKSPACE"):
        choose(None, {}, Path(place), HOME)
    assert choose("/", {}, Path(place), HOME) == Path("/")


@pytest.mark.parametrize("environ", [{"FLOWER_WORKSPACE": "/no/such/folder"}, {"CLAUDE_PROJECT_DIR": "/no/such"}])
def test_a_workspace_that_is_no_folder_is_named(environ: Mapping[str, str], tmp_path: Path) -> None:
    with pytest.raises(Usage, match=next(iter(environ))):
        choose(None, environ, tmp_path, HOME)


def test_the_workspace_is_looked_for_each_time_until_it_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    open_workbench = opener(str(folder), {})
    with pytest.raises(Usage):
        open_workbench()
    folder.mkdir()
    assert open_workbench().workspace == folder
    assert isinstance(open_workbench(), Workbench)


def test_a_user_without_a_home_has_a_workspace_when_one_is_named(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(Path, "expanduser", no_home)
    with pytest.raises(Usage, match="--workspace is '~me'"):
        opener("~me", {})()
    monkeypatch.undo()
    monkeypatch.setattr(Path, "home", no_home)
    assert opener(str(workspace), {})().workspace == workspace
    monkeypatch.chdir(workspace)
    assert opener(None, {})().workspace == workspace


def test_a_server_whose_folder_was_removed_says_what_to_set_and_serves_one_that_is_named(
    workspace: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    for named in ([], ["--workspace", str(workspace)]):
        gone.mkdir()
        server = [sys.executable, "-m", "flower_mcp.server.main", *named]
        program = ("/bin/sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *server)
        with started(gone, command=program) as process:
            result = process.call("write_handoff", doing="a", next="b")
            process.close()
            process.ended_within(20)
        assert bool(result.get("isError")) == (not named)
        if not named:
            assert "--workspace FOLDER" in result["content"][0]["text"]
        assert not any(b"Traceback" in line for line in process.errors)


@pytest.mark.parametrize("http", ["0.0.0.0:8000", "[::]:8000", "example.com:80", "192.168.0.2:1"])
def test_another_host_is_refused_with_a_sentence(http: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--http", http]) == 2
    said = capsys.readouterr()
    assert "127.0.0.1 alone" in said.err
    assert "not built yet" in said.err
    assert said.out == ""
    assert command.main(["--http", "8000", "--host", "0.0.0.0"]) == 2


@pytest.mark.parametrize("port", ["x", "70000", "-1", "", "127.0.0.1:"])
def test_what_is_no_port_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([f"--http={port}"]) == 2
    assert "port" in capsys.readouterr().err


def test_the_development_server_is_one_that_mcp_run_takes(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWER_WORKSPACE", str(workspace))
    server = command.dev_server()
    assert isinstance(server, FlowerServer)
    assert server.dependencies == ["mcp[cli]"]
    assert server.service.workbench.workspace == workspace


def test_help_names_every_option_and_its_variable() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flower_mcp.server.main", "--help"], capture_output=True, text=True, check=True
    )
    for name in ("--workspace", "--http", "--host", "--step", "FLOWER_WORKSPACE", "FLOWER_HTTP", "FLOWER_STEP"):
        assert name in done.stdout


# Configurations


def test_claude_code_gets_a_command_that_a_shell_takes_apart_again(tmp_path: Path) -> None:
    program = tmp_path / "my tools" / "flower-mcp"
    line = configuration("claude-code", Path("/home/名前/my project"), program)
    words = shlex.split(line)
    assert words[:5] == ["claude", "mcp", "add", "flower", "--"]
    assert words[5:] == [str(program), "--workspace", "/home/名前/my project"]
    assert shlex.split(configuration("claude-code", None, program))[5:] == [str(program)]


def test_claude_desktop_gets_json_for_its_file() -> None:
    text = configuration("claude-desktop", Path("/w"), Path("/usr/bin/python3"), ["-m", "flower_mcp.server.main"])
    assert json.loads(text) == {
        "mcpServers": {
            "flower": {
                "command": "/usr/bin/python3",
                "args": ["-m", "flower_mcp.server.main", "--workspace", "/w"],
            }
        }
    }


def test_the_inspector_gets_a_command_with_a_version() -> None:
    words = shlex.split(configuration("inspector", Path("/w"), Path("/bin/flower-mcp")))
    assert words == ["npx", "-y", "@modelcontextprotocol/inspector@2.12.0", "/bin/flower-mcp", "--workspace", "/w"]


@pytest.mark.parametrize("client", list(Client))
def test_what_would_not_work_is_refused(client: str) -> None:
    with pytest.raises(Usage, match="absolute"):
        configuration(client, Path("relative"), Path("/bin/flower-mcp"))
    with pytest.raises(Usage, match="absolute"):
        configuration(client, Path("/w"), Path("flower-mcp"))
    with pytest.raises(Usage, match="no client"):
        configuration("emacs", Path("/w"), Path("/bin/flower-mcp"))
    if client != "claude-code":
        with pytest.raises(Usage, match="workspace"):
            configuration(client, None, Path("/bin/flower-mcp"))
