"""The supervisor's own part of a document's scene: what git says, what was stopped, what lives on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from flower_mcp.runtime import scene
from flower_mcp.runtime.keeping import Running
from flower_mcp.runtime.scene import (
    HEAD,
    MOST_LINES,
    add_to_scene,
    git_lines,
    last_line,
    running_lines,
    stopped_lines,
)
from flower_mcp.runtime.signals import BackgroundTask

IDENTITY = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def plain_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of this machine or of an outer git."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "README.md").write_text("# Here\n")
    git(folder, "add", ".")
    git(folder, *IDENTITY, "commit", "-q", "-m", "Begin the work")
    return folder


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.anyio
async def test_a_clean_repository_is_one_line_with_branch_and_head(repository: Path) -> None:
    short = git(repository, "rev-parse", "--short", "HEAD").strip()
    assert await git_lines(repository) == [f"- git: main, head {short} Begin the work"]


@pytest.mark.anyio
async def test_changed_and_new_files_follow_one_a_line(repository: Path) -> None:
    (repository / "README.md").write_text("# Changed\n")
    (repository / "新.txt").write_text("")
    lines = await git_lines(repository)
    assert lines[1] == "- git:  M README.md"
    assert len(lines) == 3
    assert lines[2].startswith("- git: ?? ")


@pytest.mark.anyio
async def test_paths_lead_from_the_workspace_to_a_file_or_are_marked_gone(repository: Path) -> None:
    for name in ("kept.py", "gone.py", "old.py", "一 \n two.py"):
        (repository / name).write_text(f"{name} is here\n" * 9)
    git(repository, "add", ".")
    git(repository, *IDENTITY, "commit", "-q", "-m", "More")
    git(repository, "mv", "old.py", "new.py")
    (repository / "gone.py").unlink()
    (repository / "一 \n two.py").write_text("")
    (repository / "link").symlink_to("nowhere")
    (repository / "made").mkdir()
    (repository / "made" / "x").write_text("")
    assert (await git_lines(repository))[1:] == [
        "- git:  D gone.py (gone)", "- git: R  new.py", "- git:  M 一 two.py", "- git: ?? link", "- git: ?? made/",
    ]  # fmt: skip
    lines = await git_lines(repository / "made")
    assert lines[1:3] == ["- git:  D ../gone.py (gone)", "- git: R  ../new.py"]
    assert (repository / "made" / "../new.py").exists()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("count", "last"), [(20, "- git: ?? 19.txt"), (27, "- git: and 7 more changed files (git status)")]
)
async def test_from_the_21st_changed_file_on_they_are_counted_and_not_listed(
    repository: Path, count: int, last: str
) -> None:
    for number in range(count):
        (repository / f"{number:02}.txt").write_text("")
    lines = await git_lines(repository)
    assert lines[20] == "- git: ?? 19.txt"
    assert lines[-1] == last
    assert len(lines) <= 22


@pytest.mark.anyio
async def test_a_repository_without_a_commit_says_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    assert await git_lines(tmp_path) == ["- git: No commits yet on main, head (no commit yet)"]


@pytest.mark.anyio
async def test_a_folder_that_is_no_repository_gives_no_lines(tmp_path: Path) -> None:
    assert await git_lines(tmp_path) == []


@pytest.mark.anyio
async def test_a_git_that_hangs_is_asked_nothing_more_and_what_it_told_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, git_itself = tmp_path / "asked", tmp_path / "bin" / "git"
    git_itself.parent.mkdir()
    git_itself.write_text(
        f"#!/bin/sh\necho x >> '{asked}'\n"
        'case "$*" in *status*) printf "## main\\000 M README.md\\000";; *) exec sleep 60;; esac\n'
    )
    git_itself.chmod(0o755)
    monkeypatch.setenv("PATH", str(git_itself.parent), prepend=os.pathsep)
    monkeypatch.setattr(scene, "GIT_TIMEOUT", 1.0)
    assert await git_lines(tmp_path) == ["- git: main"]
    assert asked.read_text() == "x\nx\n"


@pytest.mark.anyio
async def test_without_git_there_are_no_lines(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    assert await git_lines(repository) == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("setting", "value", "proof"),
    [
        ("core.fsmonitor", "program", ["status"]),
        ("core.hooksPath", "hooks", ["update-index", "--refresh"]),
        ("gpg.program", "program", ["log", "-1"]),
    ],
)
async def test_looking_runs_no_program_that_the_workspaces_settings_name(
    repository: Path, tmp_path: Path, setting: str, value: str, proof: list[str]
) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    program.chmod(0o700)
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "post-index-change").symlink_to(program)
    seem_signed(repository)
    git(repository, "config", "log.showSignature", "true")
    git(repository, "config", setting, str(tmp_path / value))
    os.utime(repository / "README.md", (1, 1))
    ran.unlink(missing_ok=True)
    assert len(await git_lines(repository)) == 1
    assert not ran.exists()
    git(repository, *proof)
    assert ran.exists(), "git runs no program for this setting: the test shows nothing"


def seem_signed(repository: Path) -> None:
    """Give the head a signature, which git would have checked by a program."""
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    signed = git(repository, "cat-file", "commit", "HEAD").replace("\n\n", f"\n{signature}\n\n", 1)
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=repository, check=True, capture_output=True, text=True, input=signed,
    )  # fmt: skip
    git(repository, "update-ref", "refs/heads/main", made.stdout.strip())


@pytest.mark.parametrize(
    ("content", "last"),
    [
        (b"one\ntwo\n\n  \n", "two"),
        (b"no end", "no end"),
        (b"", ""),
        (b"\n\n", ""),
        (b"x" * 9_000 + b"\nthe end\n", "the end"),
        (b"y" * 9_000, "y" * 160),
        ("你好\n".encode(), "你好"),
        (b"\xff\xfe broken\n", "\ufffd\ufffd broken"),
    ],
)
def test_the_last_line_of_an_output_is_the_last_that_says_something(tmp_path: Path, content: bytes, last: str) -> None:
    (tmp_path / "a.output").write_bytes(content)
    assert last_line(str(tmp_path / "a.output")) == last


@pytest.mark.parametrize("path", [None, "", "gone.output", "."])
def test_an_output_that_cannot_be_read_has_no_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    assert last_line(path) == ""


def test_what_ends_with_the_session_is_recorded_as_stopped_with_its_pointers(tmp_path: Path) -> None:
    output = tmp_path / "b1.output"
    output.write_text("12 passed\n")
    tasks = [
        BackgroundTask("a1", "local_agent", "Read the manual"),
        BackgroundTask("b1", "local_bash", "Run the tests", "pytest  -x\n tests", str(output)),
        BackgroundTask("b2", "local_bash", "Wait", "sleep 60", str(tmp_path / "gone.output")),
    ]
    assert stopped_lines(tasks) == [
        "- stopped at the handoff, agent: Read the manual",
        f"- stopped at the handoff, shell: Run the tests (pytest -x tests); output in {output}; last line: 12 passed",
        f"- stopped at the handoff, shell: Wait (sleep 60); output in {tmp_path}/gone.output (gone)",
    ]


def test_what_lives_on_is_recorded_with_its_pid() -> None:
    assert running_lines([Running(7, "npm run dev")]) == ["- still running: pid 7: npm run dev"]


def test_nothing_to_record_leaves_the_scene_as_it_is() -> None:
    assert add_to_scene("src/ is the place\n", []) == "src/ is the place\n"


def test_the_supervisors_part_stands_below_the_sessions_and_says_whose_it_is() -> None:
    assert add_to_scene("\nsrc/\n", ["- git: main"]) == f"src/\n\n{HEAD}\n- git: main"
    assert add_to_scene("", ["- git: main"]) == f"{HEAD}\n- git: main"
    assert "code" in HEAD


@pytest.mark.parametrize(("count", "last"), [(39, "- 38"), (40, "- and 2 more"), (100, "- and 62 more")])
def test_the_supervisors_part_has_40_lines_at_most_and_counts_the_rest(count: int, last: str) -> None:
    lines = add_to_scene("", [f"- {number}" for number in range(count)]).splitlines()
    assert len(lines) == MOST_LINES
    assert lines[-1] == last
