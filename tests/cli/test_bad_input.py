"""Bad input, in real processes: one sentence, the right exit code, no traceback, nothing written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flower_mcp.demo.model import ScriptedModel, Story, failure
from tests.cli.processes import Done, contents, flower, run_in_process
from tests.e2e.harness import NOWHERE
from tests.e2e.steps import bash

TASK = "Say hello."


def assert_one_sentence(done: Done, code: int, *parts: str) -> None:
    """The process ended with the code and said one line on stderr that holds the parts, and nothing else."""
    assert done.code == code, done
    assert done.out == ""
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert done.err.startswith("flower: ")
    for part in parts:
        assert part in done.err


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--windw", "3", TASK], ["--windw", "--window"]),
        (["--window", "abc", TASK], ["--window", "'abc'"]),
        (["config"], ["inspector. Nothing was started"]),
        (["--window", "0", TASK], ["window", "above 0"]),
        (["--headroom", "-5", TASK], ["headroom"]),
        (["--budget", "nan", TASK], ["--budget", "above 0"]),
        (["--budget", "0", TASK], ["--budget"]),
        (["--max-turns", "0", TASK], ["--max-turns"]),
        (["--max-generations", "1.5", TASK], ["--max-generations"]),
        (["--edit-window", "soon", TASK], ["--edit-window", "seconds"]),
        (["--at", "200000", "--window", "200K", TASK], ["--at", "200000"]),
        (["--at", "1", "--headroom", "1", TASK], ["--at", "--headroom"]),
        (["--permission-mode", "yolo", TASK], ["--permission-mode", "bypassPermissions"]),
        (["--step", "", TASK], ["step", "name"]),
        (["--workspace", "nowhere", TASK], ["nowhere", "does not exist", "--workspace"]),
        (["--workspace", "", TASK], ["--workspace", "empty"]),
        (["--workspace", "file", TASK], ["file", "not a folder"]),
        (["--run-dir", "file/runs", TASK], ["file", "--run-dir"]),
        (["--run-dir", "file", TASK], ["file", "--run-dir"]),
        (["--run-dir", "r" * 300, TASK], ["--run-dir", "too long"]),
        (["--workspace", "w" * 300, TASK], ["--workspace", "too long"]),
        ([""], ["empty"]),
        (["-"], ["empty"]),
        ([], ["no task", "flower 'TASK'"]),
        (["--new"], ["no task"]),
        (["fix", "the", "tests"], ["quotes", "flower 'fix the tests'"]),
        (["dmeo"], ["no command `dmeo`", "did you mean `demo`?", "flower run dmeo"]),
        (["demo", "--keep", "file"], ["file", "--keep"]),
        (["demo", "extra"], ["extra"]),
        (["hodl"], ["no command `hodl`", "did you mean `hold`?"]),
        (["realease"], ["did you mean `release`?"]),
        (["histroy"], ["did you mean `history`?"]),
        (["--notify", "'say it", TASK], ["--notify", "quotation"]),
        (["--notify", " ", TASK], ["--notify", "empty"]),
        (["show", "--generation", "0"], ["--generation", "above 0"]),
        (["release", "--asis"], ["--asis", "--as-is"]),
    ],
)
def test_bad_input_is_told_in_one_sentence_and_writes_nothing(
    arguments: list[str], parts: list[str], tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").write_text("mine\n")
    before = contents(tmp_path)

    done = flower(*arguments, cwd=folder, environment=environment)

    if arguments[:2] == ["demo", "--keep"]:
        done = Done(done.code, "", done.err)  # its first line is the demo's
    assert_one_sentence(done, 2, *parts)
    assert "Nothing was " in done.err  # what was kept
    assert contents(tmp_path) == before
    assert sorted(path.name for path in folder.iterdir()) == ["file"]


def test_a_bad_variable_is_named(workspace: Path, environment: dict[str, str]) -> None:
    done = flower(TASK, cwd=workspace, environment={**environment, "FLOWER_WINDOW": "big"})

    assert_one_sentence(done, 2, "FLOWER_WINDOW", "'big'")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_that_bypasses_permissions_is_refused_before_anything_starts(
    workspace: Path, environment: dict[str, str], model: ScriptedModel
) -> None:
    before = contents(workspace)

    done = flower(
        "--permission-mode", "bypassPermissions", TASK, cwd=workspace, environment={**environment, "IS_SANDBOX": "0"}
    )

    assert_one_sentence(done, 2, "root", "IS_SANDBOX=1")
    assert contents(workspace) == before
    assert model.requests == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_run_folder_that_cannot_be_read_is_refused(workspace: Path, environment: dict[str, str]) -> None:
    (workspace / "runs").mkdir(mode=0)

    done = flower(TASK, cwd=workspace, environment=environment)

    (workspace / "runs").chmod(0o700)
    assert_one_sentence(done, 2, "runs", "--run-dir")
    assert not (workspace / ".flower").exists()


def test_a_run_that_could_not_begin_leaves_nothing(workspace: Path, environment: dict[str, str]) -> None:
    (workspace / "runs").symlink_to(workspace / "gone" / "runs")

    done = flower(TASK, cwd=workspace, environment=environment)

    assert_one_sentence(done, 1, "runs", "not a folder")
    assert not (workspace / ".flower").exists()
    assert (workspace / "runs").is_symlink()


def test_a_workbench_that_leads_out_of_the_workspace_is_refused(workspace: Path, environment: dict[str, str]) -> None:
    (workspace / ".flower").symlink_to(workspace.parent)

    done = flower(TASK, cwd=workspace, environment=environment)

    assert_one_sentence(done, 1, ".flower", "link")
    assert not (workspace / "runs").exists()


def _in_process(program: str, workspace: Path, environment: dict[str, str]) -> Done:
    """`flower run TASK` in a process in which `program` has run first."""
    return run_in_process(program, ["run", TASK], workspace, environment)


def test_an_install_without_the_supervisor_says_what_to_type(workspace: Path, environment: dict[str, str]) -> None:
    before = contents(workspace)

    done = _in_process("sys.modules['claude_agent_sdk'] = None", workspace, environment)

    assert_one_sentence(done, 2, "claude-agent-sdk", "pip install 'flower-mcp[run]'")
    assert contents(workspace) == before


def test_native_windows_is_told_what_works_there(workspace: Path, environment: dict[str, str]) -> None:
    environment["FLOWER_CONFIG"] = "none.toml"  # finding the usual one takes a system that is Windows in earnest

    done = _in_process("import click; sys.platform = 'win32'", workspace, environment)

    assert_one_sentence(done, 2, "Windows", "WSL")


def test_a_mistake_of_ours_is_one_sentence_too(workspace: Path, environment: dict[str, str]) -> None:
    environment.pop("FLOWER_DEBUG", None)  # which the other tests set, so that such a mistake is seen
    program = "import flower_mcp.cli.options as o\no.RunOptions.policy = lambda self: 1 / 0"

    done = _in_process(program, workspace, environment)

    assert_one_sentence(done, 1, "ZeroDivisionError", "report")


@pytest.mark.e2e
def test_without_credentials_the_three_ways_are_told_and_nothing_is_left(
    workspace: Path, environment: dict[str, str]
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        del environment[name]
    before = contents(workspace)

    done = flower(TASK, cwd=workspace, environment={**environment, "HTTPS_PROXY": NOWHERE})

    assert_one_sentence(done, 4, "ANTHROPIC_API_KEY", "/login", "ANTHROPIC_AUTH_TOKEN", "flower demo")
    assert contents(workspace) == before
    assert not (workspace / ".flower").exists()
    assert not (workspace / "runs").exists()


@pytest.mark.e2e
def test_without_credentials_an_older_step_is_kept(workspace: Path, environment: dict[str, str]) -> None:
    assert flower(TASK, cwd=workspace, environment=environment).code == 0
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        del environment[name]

    done = flower("--step", "other", TASK, cwd=workspace, environment=environment)

    assert_one_sentence(done, 4, "The step is kept")
    rows = json.loads((workspace / "runs" / "manifest.json").read_text())
    assert [(row["step"], row["ok"]) for row in rows] == [("work", True), ("other", False)]


@pytest.mark.e2e
def test_refused_credentials_end_the_run_at_the_first_sign(
    workspace: Path, environment: dict[str, str], model: ScriptedModel
) -> None:
    model.script = failure(401, "authentication_error", "invalid x-api-key")

    done = flower("--json", TASK, cwd=workspace, environment=environment)

    assert done.code == 4
    assert "ANTHROPIC_API_KEY" in done.err.splitlines()[-1]
    assert done.lines[-1]["kind"] == "result"
    assert done.lines[-1]["state"] == "failed"
    main = [request for request in model.requests if request.messages]
    assert len(main) <= 3


@pytest.mark.e2e
def test_credentials_that_are_refused_in_the_middle_leave_the_summary_and_the_whole_command(
    workspace: Path, environment: dict[str, str], model: ScriptedModel
) -> None:
    model.script = Story([bash("echo one").at(40_000)], then=failure(401, "authentication_error", "expired"))

    done = flower("--step", "docs", "-r", "../books", TASK, cwd=workspace, environment=environment)

    assert done.code == 4
    assert "failed after" in done.out
    assert "session 1" in done.out
    assert "books" in done.out
    assert "go on     flower --step docs -r ../books" in done.out
    assert "The step is kept; `flower --step docs -r ../books` goes on with it." in done.err


@pytest.mark.e2e
@pytest.mark.parametrize("broken", ["{", "[1, 2", '{"steps": 3}', ""])
def test_broken_books_are_kept_aside_said_once_and_the_run_goes_on(
    broken: str, workspace: Path, environment: dict[str, str]
) -> None:
    runs, names = workspace / "runs", ("manifest.json", "lineage.json")
    runs.mkdir()
    for name in names:
        (runs / name).write_text(broken)

    done = flower(TASK, cwd=workspace, environment=environment)

    assert done.code == 0, done
    for name in names:
        (aside,) = runs.glob(f"{name}.broken-*")
        assert aside.read_text() == broken
        assert (done.out + done.err).count(aside.name) == 1
    assert json.loads((runs / "manifest.json").read_text())[-1]["ok"] is True
    assert list(json.loads((runs / "lineage.json").read_text())["steps"]) == ["work"]
