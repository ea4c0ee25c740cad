"""`flower edit`: which editor, the lease, nothing lost, and what is said about the document afterwards."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.cli.editor import editor_command
from flower_mcp.core.books import State
from flower_mcp.core.errors import Usage
from tests.cli.processes import FLOWER, flower, flower_at_terminal
from tests.cli.steps import DOCUMENT, EDITED, begun, replacing, scripted_editor, with_editor
from tests.e2e.harness import wait_until


@pytest.fixture
def workbench(workspace: Path) -> Workbench:
    """A step with a document."""
    workbench = begun(workspace)
    workbench.freeze("work", DOCUMENT)
    return workbench


def test_the_editor_is_given_its_arguments_and_the_document(
    workbench: Workbench, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    editor = scripted_editor(tmp_path, replacing() + "(path.parent.parent.parent / 'seen').write_text(sys.argv[1])")
    before = workbench.read("work")
    assert before is not None

    done = flower("edit", cwd=workspace, environment=with_editor(environment, editor))

    after = workbench.read("work")
    assert (done.code, done.err) == (0, ""), done
    assert done.out == "work: edited; the next session reads it\n"
    assert (workspace / "seen").read_text() == "--an-argument"
    assert after is not None
    assert EDITED in after.text
    assert [version.data() for version in workbench.history("work")] == [before.data]


def test_while_the_editor_is_open_the_document_counts_as_open(
    workbench: Workbench, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    editor = scripted_editor(tmp_path, "open('begun', 'w').close()\nwhile not Path('go').exists(): time.sleep(0.02)\n")
    with subprocess.Popen([*FLOWER, "edit"], cwd=workspace, env=with_editor(environment, editor)) as process:
        wait_until((workspace / "begun").exists, 20)
        leased = workbench.holds.is_leased("work")
        (workspace / "go").touch()
        process.wait(timeout=20)

    assert leased
    assert not workbench.holds.is_leased("work")


def test_a_document_that_was_not_changed_is_said_to_be_so(
    workbench: Workbench, workspace: Path, environment: dict[str, str]
) -> None:
    done = flower("edit", "work", cwd=workspace, environment=with_editor(environment, "true"))

    assert (done.code, done.out) == (0, "work: nothing was changed\n")


@pytest.mark.parametrize(
    ("program", "parts"),
    [
        (
            replacing("Run pytest -q tests/test_export.py; port test_resume next.", ""),
            ["line 13: the section", "Next", "is empty", "flower edit work"],
        ),
        (
            "path.write_text('<<<<<<< ours\\n' + path.read_text(encoding='utf-8'), encoding='utf-8')",
            ["line 1: a conflict mark of git: <<<<<<< ours"],
        ),
        ("path.write_text('')", ["line 1: the file is empty"]),
        ("path.unlink()", ["the file is gone"]),
    ],
)
def test_what_is_broken_afterwards_is_shown_with_its_line(
    program: str, parts: list[str], workbench: Workbench, environment: dict[str, str], tmp_path: Path
) -> None:
    done = flower(
        "edit", cwd=workbench.workspace, environment=with_editor(environment, scripted_editor(tmp_path, program + "\n"))
    )

    assert done.code == 1, done
    assert "work: the document is broken:" in done.out
    for part in parts:
        assert part in done.out
    assert "flower release" not in done.out


def test_a_broken_document_that_waits_may_be_launched_as_it_stands(
    workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    workbench = begun(workspace, state=State.HELD)
    workbench.freeze("work", DOCUMENT)
    editor = scripted_editor(tmp_path, "path.write_text('')\n")

    with workbench.run_lock("work"):
        done = flower("edit", cwd=workspace, environment=with_editor(environment, editor))

    assert "flower release work --as-is" in done.out


def test_a_session_at_work_is_told_of_the_edit(workspace: Path, environment: dict[str, str], tmp_path: Path) -> None:
    workbench = begun(workspace, state=State.WORKING)
    workbench.freeze("work", DOCUMENT)

    with workbench.run_lock("work"):
        done = flower(
            "edit", cwd=workspace, environment=with_editor(environment, scripted_editor(tmp_path, replacing()))
        )

    assert done.out == "work: edited; the session at work is told at its next message boundary\n"


def test_an_editor_that_fails_is_said(workbench: Workbench, workspace: Path, environment: dict[str, str]) -> None:
    done = flower("edit", cwd=workspace, environment=with_editor(environment, "false"))

    assert done.code == 1
    assert "false ended with exit code 1" in done.out


@pytest.mark.parametrize("value", ["no-such-editor", "'unfinished", "", "  "])
def test_without_an_editor_it_says_what_to_set(
    value: str, workbench: Workbench, workspace: Path, environment: dict[str, str]
) -> None:
    done = flower("edit", cwd=workspace, environment=with_editor(environment, value))

    assert done.code == 2, done
    assert "EDITOR" in done.err
    assert len(done.err.splitlines()) == 1
    assert workbench.history("work") == ()


def test_without_a_document_there_is_nothing_to_edit(workspace: Path, environment: dict[str, str]) -> None:
    begun(workspace)

    done = flower("edit", cwd=workspace, environment=with_editor(environment, "true"))

    assert done.code == 5
    assert "no document" in done.err


def test_ctrl_c_is_the_editors(
    workbench: Workbench, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    program = (
        "import signal\nsignal.signal(signal.SIGINT, lambda *_: os.write(1, b'MINE'))\n"
        "print('OPEN', flush=True)\ntyped()\n"
    )
    editor = scripted_editor(tmp_path, program + replacing())

    with flower_at_terminal("edit", cwd=workspace, environment=with_editor(environment, editor)) as terminal:
        terminal.wait_for("OPEN")
        terminal.type("\x03")
        terminal.wait_for("MINE")
        terminal.type("\n")
        code = terminal.end()

    assert code == 0, terminal.shown
    assert "work: edited" in terminal.shown


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm", "VISUAL": "cat -v", "EDITOR": "true"}, ["cat", "-v"]),
        ({"TERM": "dumb", "VISUAL": "cat -v", "EDITOR": "true"}, ["true"]),
        ({"TERM": "dumb", "VISUAL": "cat -v"}, ["cat", "-v"]),
        ({"TERM": "xterm", "VISUAL": " ", "EDITOR": "cat 'a b'"}, ["cat", "a b"]),
    ],
)
def test_visual_comes_before_editor_where_there_is_a_screen(environ: dict[str, str], expected: list[str]) -> None:
    program, *arguments = editor_command(environ)

    assert [Path(program).name, *arguments] == expected
    assert Path(program).is_absolute()


def test_no_shell_reads_the_variable() -> None:
    assert editor_command({"EDITOR": "cat $HOME; `false`"})[1:] == ["$HOME;", "`false`"]


def test_nobody_at_a_terminal_gets_no_editor_of_our_choice() -> None:
    assert not os.isatty(0)
    with pytest.raises(Usage, match="no editor"):
        editor_command({"TERM": "xterm"})


def test_vi_is_the_editor_of_somebody_who_names_none(
    workbench: Workbench, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "vi").write_text('#!/bin/sh\necho "VI OPENED"\n')
    (programs / "vi").chmod(0o755)
    own = {**environment, "TERM": "xterm", "PATH": f"{programs}{os.pathsep}{environment['PATH']}"}

    with flower_at_terminal("edit", cwd=workspace, environment=own) as terminal:
        code = terminal.end()

    assert code == 0
    assert "VI OPENED" in terminal.shown
