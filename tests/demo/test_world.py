"""The demo's world: a repository and an environment that nothing of a person's own reaches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flower_mcp.core.errors import Usage
from flower_mcp.demo.story import DemoWorld, prepare
from flower_mcp.demo.workshop import FIRST_COMMIT, GitMissing, git
from flower_mcp.demo.world import complete
from tests.demo.checking import check
from tests.demo.conftest import NO_WHERE, ODD


def test_a_prepared_world_is_a_clean_repository_with_one_commit_and_failing_checks(world: DemoWorld) -> None:
    environment = complete(world.environment)
    assert git(world.workspace, environment, "log", "--format=%s|%an|%ae|%cn") == (
        f"{FIRST_COMMIT}|Flower demo|demo@example.invalid|Flower demo\n"
    )
    assert git(world.workspace, environment, "status", "--short", "--branch") == "## main\n"
    assert check(world).endswith("1 of 6 checks pass\n")
    assert git(world.workspace, environment, "status", "--short") == ""
    assert world.workspace.parent == world.folder
    assert world.folder.name == ODD


def test_a_persons_git_settings_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, hooks = tmp_path / "home", tmp_path / "template" / "hooks"
    home.mkdir()
    hooks.mkdir(parents=True)
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-commit").chmod(0o755)
    (home / ".gitconfig").write_text("[commit]\ngpgSign = true\n[init]\ndefaultBranch = other\n[user]\nname = Me\n")
    theirs = tmp_path / "theirs"
    subprocess.run(["git", "init", "--quiet", str(theirs)], check=True)
    for name, value in {
        "HOME": str(home),
        "GIT_TEMPLATE_DIR": str(hooks.parent),
        "GIT_AUTHOR_NAME": "Me",
        "GIT_DIR": str(theirs / ".git"),
        "GIT_INDEX_FILE": str(theirs / ".git" / "index"),
    }.items():
        monkeypatch.setenv(name, value)
    before = sorted(theirs.rglob("*"))
    world = prepare(tmp_path / "demo", NO_WHERE)
    log = subprocess.run(
        ["git", "log", "--format=%s|%an"],
        cwd=world.workspace,
        env={**os.environ, **world.environment},
        check=True,
        capture_output=True,
        text=True,
    )
    assert log.stdout == f"{FIRST_COMMIT}|Flower demo\n"
    assert sorted(theirs.rglob("*")) == before


def test_nothing_of_a_persons_account_steers_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = {
        "ANTHROPIC_API_KEY": "a key",
        "ANTHROPIC_AUTH_TOKEN": "a token",
        "ANTHROPIC_BASE_URL": "https://gateway.invalid",
        "ANTHROPIC_MODEL": "another",
        "CLAUDE_CODE_OAUTH_TOKEN": "a login",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CLAUDE_CONFIG_DIR": "/theirs",
        "HTTPS_PROXY": "http://proxy.invalid",
    }
    for name, value in theirs.items():
        monkeypatch.setenv(name, value)
    world = prepare(tmp_path / "demo", "http://127.0.0.1:1234")
    seen = {**os.environ, **world.environment}
    assert [name for name, value in theirs.items() if seen[name] == value] == []
    assert seen["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1234"
    assert (seen["ANTHROPIC_AUTH_TOKEN"], seen["CLAUDE_CODE_USE_BEDROCK"]) == ("", "")
    assert Path(seen["CLAUDE_CONFIG_DIR"]).is_relative_to(world.folder)
    assert (seen["https_proxy"], seen["no_proxy"]) == (NO_WHERE, "127.0.0.1,localhost")


def test_without_git_the_error_says_what_to_do_and_leaves_nothing_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path / "empty"))
        patch.setattr(sys, "executable", "")
        with pytest.raises(GitMissing, match="Install git") as raised:
            prepare(tmp_path / "demo", NO_WHERE)
    assert raised.value.exit_code == 1
    assert prepare(tmp_path / "demo", NO_WHERE).workspace.is_dir()


def test_a_folder_that_holds_a_demo_already_is_left_alone(world: DemoWorld) -> None:
    (world.workspace / "check.py").write_text("mine\n")
    with pytest.raises(Usage, match="exists already"):
        prepare(world.folder, NO_WHERE)
    assert (world.workspace / "check.py").read_text() == "mine\n"


def test_a_folder_that_cannot_be_made_is_the_callers_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Usage, match="cannot use"):
        prepare(tmp_path / "file" / "demo", NO_WHERE)
