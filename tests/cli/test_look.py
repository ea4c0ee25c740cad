"""`flower show`, `history` and `diff`: what they print, how versions are named, and that they change nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.core.books import Generation, StepResult, WrittenBy
from flower_mcp.workbench.ledger import Manifest
from tests.cli.processes import Done, contents, flower, flower_at_terminal
from tests.cli.steps import DOCUMENT, EDITED, NEXT, begun

FIRST = DOCUMENT
SECOND = DOCUMENT.replace("3 of 7", "5 of 7")
LAST = DOCUMENT.replace("3 of 7", "7 of 7")


def said(done: Done, code: int, *parts: str) -> None:
    """The command ended with the code, and one sentence on stderr holds the parts."""
    assert (done.code, done.out) == (code, ""), done
    assert len(done.err.strip().splitlines()) == 1, done.err
    for part in parts:
        assert part in done.err


@pytest.fixture
def workbench(workspace: Path) -> Workbench:
    """Two generations that left a document each; the first was edited before it was launched. Now: a third text."""
    workbench = Workbench(workspace)
    first = workbench.freeze("work", FIRST).revision
    edited = workbench.freeze("work", FIRST.replace(NEXT, EDITED)).revision
    second = workbench.freeze("work", SECOND).revision
    workbench.freeze("work", LAST)
    begun(
        workspace,
        "work",
        Generation(1, "s1", frozen=first, launched=edited, edited=True, sections_edited=("next",),
                   written_by=WrittenBy.SESSION),
        Generation(2, "s2", frozen=second, launched=second, written_by=WrittenBy.DRAFT),
        Generation(3, "s3"),
    )  # fmt: skip
    return workbench


def test_show_prints_the_document_as_it_is(workbench: Workbench, workspace: Path, environment: dict[str, str]) -> None:
    before = contents(workspace)

    done = flower("show", cwd=workspace, environment=environment)

    document = workbench.read("work")
    assert document is not None
    assert (done.code, done.out, done.err) == (0, document.text, "")
    assert contents(workspace) == before


def test_what_was_not_written_on_this_machine_is_marked_beside_it(
    workbench: Workbench, workspace: Path, environment: dict[str, str]
) -> None:
    shutil.rmtree(workbench.known.path.parent)

    done = flower("show", cwd=workspace, environment=environment)
    document = workbench.read("work")
    assert document is not None
    assert (done.code, done.out) == (0, document.text)
    assert f"{document.path} was not written on this machine" in done.err
    for given in (("show", "--generation", "1"), ("diff", "1", "2")):
        done = flower(*given, cwd=workspace, environment=environment)
        assert done.code == 0
        assert "archive" in done.err
        assert "was not written on this machine" in done.err


def test_show_gives_what_was_launched_for_a_generation(
    workbench: Workbench, workspace: Path, environment: dict[str, str]
) -> None:
    first = flower("show", "--generation", "1", cwd=workspace, environment=environment)
    second = flower("show", "work", "--generation", "2", cwd=workspace, environment=environment)

    assert EDITED in first.out
    assert "3 of 7" in first.out
    assert "5 of 7" in second.out
    said(flower("show", "--generation", "3", cwd=workspace, environment=environment), 5, "generation 3", "1, 2")


def test_a_generation_that_was_not_launched_yet_is_shown_as_it_lies_there(
    workspace: Path, environment: dict[str, str]
) -> None:
    workbench = Workbench(workspace)
    frozen = workbench.freeze("work", FIRST).revision
    begun(workspace, "work", Generation(1, "s1", frozen=frozen))
    path = workbench.documents.path("work")
    path.write_text(path.read_text(encoding="utf-8").replace(NEXT, EDITED), encoding="utf-8")

    done = flower("show", "--generation", "1", cwd=workspace, environment=environment)

    assert EDITED in done.out


def test_generations_of_earlier_runs_come_from_the_manifest(workspace: Path, environment: dict[str, str]) -> None:
    workbench = Workbench(workspace)
    frozen = workbench.freeze("work", FIRST).revision
    workbench.freeze("work", LAST)
    begun(workspace)
    elsewhere = workspace.parent / "books"
    row = StepResult("r0", "work", generations=(Generation(1, "s1", frozen=frozen, launched=frozen),))
    Manifest(elsewhere).put(row)
    Manifest(elsewhere).put(StepResult("r1", "other", generations=(Generation(2, "s2", frozen=frozen),)))

    done = flower("show", "--generation", "1", "-r", str(elsewhere), cwd=workspace, environment=environment)

    assert "3 of 7" in done.out
    said(flower("show", "--generation", "2", "-r", str(elsewhere), cwd=workspace, environment=environment), 5)
    said(flower("show", "--generation", "1", cwd=workspace, environment=environment), 5, "They know none")


def test_a_tilde_in_a_variable_or_a_config_file_is_the_home_folder_for_every_command(
    workspace: Path, environment: dict[str, str]
) -> None:
    """A shell takes care of one that is typed, and of none in quotes, in a file or in a client's configuration."""
    home = Path(environment["HOME"])
    site = home / "site"
    site.mkdir(parents=True)
    frozen = Workbench(site).freeze("work", FIRST).revision
    Manifest(home / "books").put(StepResult("r0", "work", generations=(Generation(1, "s1", frozen=frozen),)))
    (site / ".flower.toml").write_text("notify = 'evil'\n")
    config = home / "flower.toml"
    config.write_text('workspace = "~/site"\n')
    variables = {**environment, "FLOWER_CONFIG": "~/flower.toml", "FLOWER_RUN_DIR": "~/books"}

    assert "3 of 7" in flower("show", "--generation", "1", cwd=workspace, environment=variables).out
    said(flower("run", "Go on.", cwd=workspace, environment=variables), 2, "sets 'notify', which a workspace may not")
    doctor = flower("doctor", cwd=workspace, environment=variables)
    assert "sets 'notify', which a workspace may not" in doctor.out
    assert "books ~/books, runs: 1" in doctor.out
    done = flower("show", "-w", "~nobody-of-this-name/x", cwd=workspace, environment=environment)
    said(done, 2, "begins with a home folder that there is not")
    assert not list(workspace.glob("~*"))


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        '[{"step": "work", "generations": [3, {"n": "x", "frozen": "a"}, {"n": 1, "bad": 2, "frozen": "b"}]}]',
        "[7]",
    ],
)
def test_broken_books_are_left_alone(
    broken: str, workbench: Workbench, workspace: Path, environment: dict[str, str]
) -> None:
    (workspace / "runs").mkdir()
    (workspace / "runs" / "manifest.json").write_text(broken)

    done = flower("history", cwd=workspace, environment=environment)

    assert done.code == 0, done
    assert len(done.out.splitlines()) == 4
    assert [path.name for path in (workspace / "runs").iterdir()] == ["manifest.json"]


def test_history_lists_the_versions_oldest_first(
    workbench: Workbench, workspace: Path, environment: dict[str, str]
) -> None:
    done = flower("history", cwd=workspace, environment={**environment, "TZ": "UTC"})

    rows = [re.split(r"\s{2,}", line, maxsplit=3) for line in done.out.splitlines()]
    assert done.code == 0, done
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", row[1]) for row in rows)
    revisions = [version.revision() for version in workbench.history("work")]
    current = workbench.read("work")
    assert current is not None
    assert [row[2] for row in rows] == [*revisions, current.revision]
    assert [" ".join(row[3].split()) for row in rows] == [
        "g1 session 1",
        "g1 a person: next, launched",
        "g2 session 2, by tool, launched",
        "- not in the books, the document now",
    ]


def test_what_a_person_saved_in_the_window_is_a_persons(
    workbench: Workbench, workspace: Path, environment: dict[str, str]
) -> None:
    current = workbench.read("work")
    assert current is not None
    workbench.lives.append([{"kind": "edit", "phase": "seen", "step": "work", "revision": current.revision}])

    done = flower("history", cwd=workspace, environment=environment)

    assert done.out.splitlines()[-1].endswith("a person, the document now")


def test_an_unchanged_document_that_was_opened_in_an_editor_is_one_version(
    workspace: Path, environment: dict[str, str]
) -> None:
    workbench = begun(workspace)
    workbench.freeze("work", FIRST)
    flower("edit", cwd=workspace, environment={**environment, "EDITOR": "true"})

    done = flower("history", cwd=workspace, environment=environment)

    assert len(done.out.splitlines()) == 1


def test_diff_shows_what_became_of_what_a_session_left_last(
    workbench: Workbench, workspace: Path, environment: dict[str, str]
) -> None:
    done = flower("diff", cwd=workspace, environment=environment)

    lines = done.out.splitlines()
    assert done.code == 0, done
    assert lines[0].startswith("--- work 3 ")
    assert lines[1].startswith("+++ work 4 ")
    assert "-Porting tests/test_export.py, 5 of 7 done." in lines
    assert "+Porting tests/test_export.py, 7 of 7 done." in lines
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["1", "2"], (1, 2)),
        (["g1", "g2"], (2, 3)),
        (["work", "g1"], (2, 4)),
        (["work"], (3, 4)),
        (["1"], (1, 4)),
        (["work", "4", "1"], (4, 1)),
        (["{0}", "{1}"], (1, 2)),
        (["work", "{2}", "G1"], (3, 2)),
    ],
)
def test_versions_are_named_by_number_generation_or_revision(
    names: list[str], numbers: tuple[int, int], workbench: Workbench, workspace: Path, environment: dict[str, str]
) -> None:
    revisions = [version.revision()[:6] for version in workbench.history("work")]

    done = flower("diff", *(name.format(*revisions) for name in names), cwd=workspace, environment=environment)

    assert done.code == 0, done
    assert re.findall(r"^(?:---|\+\+\+) work (\d)", done.out, re.MULTILINE) == [str(number) for number in numbers]


@pytest.mark.parametrize(
    ("names", "code", "parts"),
    [
        (["9"], 5, ["no version '9'", "flower history work"]),
        (["g7"], 5, ["generation 7"]),
        (["ffff"], 5, ["no version 'ffff'"]),
        (["nothing"], 5, ["no step 'nothing'", "work"]),
        (["nothing", "1", "2"], 5, ["no step 'nothing'"]),
        (["1", "2", "3", "4"], 2, ["two versions at most"]),
        (["work", "ab"], 5, ["no version 'ab'"]),
    ],
)
def test_a_version_that_is_not_there_is_told(
    names: list[str], code: int, parts: list[str], workbench: Workbench, environment: dict[str, str]
) -> None:
    said(flower("diff", *names, cwd=workbench.workspace, environment=environment), code, *parts)


def test_without_books_the_version_before_is_compared(workspace: Path, environment: dict[str, str]) -> None:
    workbench = Workbench(workspace)
    workbench.freeze("work", FIRST)
    said(flower("diff", cwd=workspace, environment=environment), 5, "only one version")
    workbench.freeze("work", LAST)

    done = flower("diff", cwd=workspace, environment=environment)

    assert "+Porting tests/test_export.py, 7 of 7 done." in done.out


@pytest.mark.parametrize(("own", "coloured"), [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False)])
def test_a_terminal_gets_colours_and_no_escape_of_the_documents(
    own: dict[str, str], coloured: bool, workbench: Workbench, workspace: Path, environment: dict[str, str]
) -> None:
    path = workbench.documents.path("work")
    path.write_text(path.read_text(encoding="utf-8") + "\x1b]0;title\x07 and \x1b[31mred\n", encoding="utf-8")

    with flower_at_terminal("diff", cwd=workspace, environment={**environment, **own}) as terminal:
        code = terminal.end()

    assert code == 0
    assert ("\x1b[32m+Porting tests/test_export.py, 7 of 7 done.\x1b[0m" in terminal.shown) is coloured
    assert "\x1b]0;" not in terminal.shown
    assert "\x07" not in terminal.shown
    assert "\x1b[31mred" not in terminal.shown


@pytest.mark.parametrize("command", ["show", "history", "diff", "edit", "hold", "release"])
def test_a_step_that_is_not_named_must_be_the_only_one(
    command: str, workspace: Path, environment: dict[str, str]
) -> None:
    before = contents(workspace)
    said(flower(command, cwd=workspace, environment=environment), 5, "no steps", "flower 'TASK'")
    assert contents(workspace) == before
    for step in ("docs", "work"):
        begun(workspace, step)

    said(flower(command, cwd=workspace, environment=environment), 2, "2 steps", "docs", f"flower {command} STEP")
    said(flower(command, "wrok", cwd=workspace, environment=environment), 5, "'wrok'", "docs")
    named = flower(command, cwd=workspace, environment={**environment, "FLOWER_STEP": "docs", "EDITOR": "true"})
    assert "docs" in named.out + named.err
    assert "2 steps" not in named.err


@pytest.mark.parametrize("command", ["show", "history", "diff", "edit"])
def test_a_step_without_a_document_says_so(command: str, workspace: Path, environment: dict[str, str]) -> None:
    begun(workspace)

    said(flower(command, cwd=workspace, environment={**environment, "EDITOR": "true"}), 5, "'work' has no document")


@pytest.mark.parametrize("name", ["nowhere", "file", ""])
def test_a_workspace_that_is_none_is_told(name: str, tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "file").touch()

    said(flower("show", "-w", name, cwd=tmp_path, environment=environment), 2, "workspace")


def test_the_workspace_may_be_elsewhere(workbench: Workbench, workspace: Path, environment: dict[str, str]) -> None:
    done = flower("show", "-w", str(workspace), cwd=workspace.parent, environment=environment)

    assert "7 of 7" in done.out
    assert json.loads((workspace / ".flower" / "live" / "work.json").read_text())["step"] == "work"
    assert not os.path.lexists(workspace.parent / "runs")
