"""What is packaged for clients: the MCPB bundle that its own tool takes, and the plugin, at the package's version."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from flower_mcp import Workbench, __version__
from tests.server.helpers import TOOLS
from tests.server.node import MCPB, PACKAGES, node
from tests.server.processes import started

PACKAGING = Path(__file__).parents[1] / "packaging"
BUNDLE, PLUGIN = PACKAGING / "mcpb", PACKAGING / "claude-code"
LIMIT = 60.0


def loaded(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


@pytest.mark.e2e
def test_mcpb_validates_and_packs_the_bundle(tmp_path: Path) -> None:
    program = node(MCPB).command
    packed = tmp_path / "flower.mcpb"
    for command in (["validate", str(BUNDLE / "manifest.json")], ["pack", str(BUNDLE), str(packed)]):
        done = subprocess.run([*program, *command], capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(packed) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        assert {"manifest.json", "pyproject.toml", "src/main.py"} <= names <= {*_files(BUNDLE)}
        assert json.loads(archive.read("manifest.json")) == loaded(BUNDLE / "manifest.json")


def test_the_page_names_the_tool_at_the_version_that_the_tests_use() -> None:
    page = (BUNDLE / "README.md").read_text(encoding="utf-8")
    (used,) = [each for each in PACKAGES if "mcpb" in each]
    assert page.count(f"npx -y {used} ") == page.count("npx ") == 2


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def test_what_the_bundle_starts_serves_the_folder_that_the_person_chose(tmp_path: Path) -> None:
    manifest = loaded(BUNDLE / "manifest.json")
    config = manifest["server"]["mcp_config"]
    values = {"${__dirname}": str(BUNDLE), "${user_config.workspace}": str(tmp_path)}
    arguments = [values.get(each, each) for each in config["args"]]
    at = arguments.index("src/main.py")  # what comes before it is uv's: an environment with the package
    assert arguments[:at] == ["run", "--directory", str(BUNDLE)]
    command = [sys.executable, str(BUNDLE / manifest["server"]["entry_point"]), *arguments[at + 1 :]]
    with started(BUNDLE, command=command, environ={**config["env"], "PYTHONPATH": str(PACKAGING.parent)}) as server:
        listed = {tool["name"] for tool in server.request("tools/list")["result"]["tools"]}
        assert listed == {*TOOLS} == {tool["name"] for tool in manifest["tools"]}
        server.call("write_handoff", doing="a", next="b")
    assert Workbench(tmp_path).read("work") is not None
    assert "workspace" in manifest["user_config"]


def test_bundle_and_plugin_have_the_packages_version_and_no_lock_file() -> None:
    project = tomllib.loads((BUNDLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dependencies"] == [f"flower-mcp=={__version__}"]
    versions = {
        project["version"],
        loaded(BUNDLE / "manifest.json")["version"],
        loaded(PLUGIN / ".claude-plugin" / "plugin.json")["version"],
    }
    assert versions == {__version__}
    assert not [name for name in _files(PACKAGING) if name.endswith(".lock") and ".venv" not in name]


def test_every_hook_of_the_plugin_is_an_event_that_flower_answers(tmp_path: Path) -> None:
    hooks = loaded(PLUGIN / "hooks" / "hooks.json")["hooks"]
    commands = {event: one["hooks"][0]["command"] for event, (one,) in hooks.items()}
    assert {event: command.split()[-1] for event, command in commands.items()} == {
        "SessionStart": "session-start",
        "PostToolBatch": "post-tool-batch",
        "PreCompact": "pre-compact",
    }
    loud = {}
    for event, command in commands.items():  # without `flower`: only the start of a session fails, and visibly
        done = subprocess.run(["/bin/sh", "-c", command], env={"PATH": str(tmp_path)}, capture_output=True, check=False)
        loud[event] = done.returncode != 0
        assert done.stdout == b""
    assert loud == {"SessionStart": True, "PostToolBatch": False, "PreCompact": False}
