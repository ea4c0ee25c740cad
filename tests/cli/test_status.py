"""`flower status`, `list` and `clean`: what they print, that they change nothing, and what clean may remove."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.cli.bar import EMPTY, FULL, LINE, context_bar, plain
from flower_mcp.cli.choosing import local_time
from flower_mcp.cli.clean import old_versions
from flower_mcp.cli.status import cells, step_lines, waits_until
from flower_mcp.cli.words import Language, Words
from flower_mcp.core.books import Generation, LiveStep, State, StepResult, Supervisor, seconds
from flower_mcp.workbench.names import timestamp
from tests.cli.processes import FLOWER, Terminal, contents, flower, flower_at_terminal
from tests.cli.steps import DOCUMENT, begun

DAY = 86_400.0


def working(step: str = "work", context: int = 96_400) -> LiveStep:
    """A step that its books say is at work."""
    row = StepResult(
        "run-1", step, state=State.WORKING, session_id="s2", generations=(Generation(2, "s2"),), context=context,
        window=200_000, window_source="reported", cost_usd=1.25, num_turns=41,
    )  # fmt: skip
    return LiveStep(
        step, State.WORKING, row, at=150_000, warn_at=130_000, updated_at="2026-11-29T16:05:12.000000Z",
        supervisor=Supervisor(4711, "here", "2026-11-29T16:00:00.000000Z"),
    )  # fmt: skip


def test_status_imports_no_large_library_but_the_one_that_checks_what_it_reads(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    begun(tmp_path).freeze("work", DOCUMENT)
    program = (
        "import sys; from flower_mcp.cli.commands import answer; code = answer(['status']);"
        "heavy = {'anyio', 'claude_agent_sdk', 'mcp', 'platformdirs', 'rich'};"
        "print(code, *heavy & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )

    assert "work  stopped" in done.stdout
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.parametrize("width", [0, 10, 31, 200])
def test_a_bar_is_as_wide_as_asked_and_shows_how_full_the_window_is(width: int) -> None:
    empty, half, full, over = (context_bar(n, 1000, width=width) for n in (0, 500, 1000, 5000))
    assert {len(bar) for bar in (empty, half, full, over)} == {max(10, width)}
    assert set(empty) == {EMPTY}
    assert set(full) == set(over) == {FULL}
    assert half.count(FULL) == round(max(10, width) / 2)


def test_a_bar_marks_its_lines_and_has_an_ascii_form() -> None:
    bar = context_bar(100, 200, (130, 150, 900, None), width=20)
    assert [place for place, cell in enumerate(bar) if cell == LINE] == [13, 15]
    assert plain(bar) == "##########---|-|----"
    assert context_bar(5, 0, width=12) == EMPTY * 12


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_working_step_is_told_within_the_width(language: Language, width: int) -> None:
    lines = step_lines(Words(language), working("设计"), width=width)
    text = "\n".join(lines)
    for part in ("设计", "96.4K/200K", "150.0K", "$1.25", "41", "s2", "4711", "here"):
        assert part in text
    assert all(cells(line) <= max(width, 60) for line in lines)
    assert cells("设计 a\u0301") == 6


def test_status_shows_all_steps_or_one_and_changes_nothing(workspace: Path, environment: dict[str, str]) -> None:
    workbench = begun(workspace, "work", state=State.DONE)
    workbench.freeze("work", DOCUMENT)
    workbench.lives.write(working("docs"))
    before = contents(workspace)

    both = flower("status", cwd=workspace, environment=environment)
    one = flower("status", "work", cwd=workspace, environment=environment)
    as_json = flower("status", "--json", cwd=workspace, environment=environment)

    assert both.code == one.code == as_json.code == 0
    assert "lost" in both.out
    assert FULL in both.out
    assert "docs" not in one.out
    assert "complete" in one.out
    assert {line["step"]: line["state"] for line in as_json.lines} == {"docs": "lost", "work": "done"}
    assert contents(workspace) == before


def test_a_locale_without_the_bars_characters_gets_an_ascii_bar(workspace: Path, environment: dict[str, str]) -> None:
    begun(workspace, "work").lives.write(working())
    done = flower("status", cwd=workspace, environment={**environment, "PYTHONIOENCODING": "ascii"})
    assert "####" in done.out
    assert "?" not in done.out


def test_list_has_a_line_a_step_the_newest_first(workspace: Path, environment: dict[str, str]) -> None:
    begun(workspace, "设计", state=State.DONE)
    begun(workspace, "work", state=State.FAILED)
    done = flower("list", cwd=workspace, environment=environment)
    first, second = done.out.splitlines()
    assert first.startswith("work  failed ")
    assert second.startswith("设计  done ")
    as_json = flower("list", "--json", cwd=workspace, environment=environment)
    assert [line["step"] for line in as_json.lines] == ["work", "设计"]
    assert all(abs(seconds(line["changed_at"]) - time.time()) < 3_600 for line in as_json.lines)


@pytest.mark.parametrize("command", ["status", "list"])
def test_where_there_is_no_step_the_command_says_how_to_begin_one(
    command: str, workspace: Path, environment: dict[str, str]
) -> None:
    done = flower(command, cwd=workspace, environment=environment)
    assert (done.code, done.out) == (5, "")
    assert "flower 'TASK'" in done.err
    assert not (workspace / ".flower").exists()


def test_following_tells_each_change_and_ends_with_the_work(workspace: Path, environment: dict[str, str]) -> None:
    workbench = begun(workspace)
    lock = workbench.run_lock("work")
    assert lock.acquire()
    workbench.lives.write(working())
    with flower_at_terminal("status", "--follow", "--json", cwd=workspace, environment=environment) as terminal:
        terminal.wait_for('"context": 96400')
        workbench.lives.write(working(context=97_000))
        terminal.wait_for('"context": 97000')
        workbench.lives.write(LiveStep("work", State.DONE, StepResult("run-1", "work", ok=True, state=State.DONE)))
        assert terminal.end() == 0
    lock.release()
    assert [json.loads(line)["state"] for line in terminal.shown.splitlines()] == ["working", "working", "done"]


def with_archive(workspace: Path, ages: dict[str, list[float]]) -> Workbench:
    """A workbench whose archive has versions of these ages, in days."""
    workbench = begun(workspace)
    folder = workbench.notes / "archive" / "交接"
    folder.mkdir(parents=True, exist_ok=True)
    for step, days in ages.items():
        for age in days:
            (folder / f"{step}-{timestamp(time.time() - age * DAY)}.md").write_text(f"{step} {age}\n")
    return workbench


def test_old_versions_are_those_over_the_age_without_each_steps_newest(workspace: Path) -> None:
    workbench = with_archive(workspace, {"work": [1, 40, 50, 60], "work-2": [100, 200]})
    (workbench.notes / "archive" / "交接" / "a remark.md").write_text("a person's")
    (workbench.notes / "archive" / "交接" / "work-20261345T120000.000000Z.md").write_text("no date")
    outside = workspace / "outside.md"
    outside.write_text("kept")
    (workbench.notes / "archive" / "交接" / f"work-{timestamp(0)}.md").symlink_to(outside)

    old = old_versions(workbench, before=time.time() - 30 * DAY, keep=1)

    assert sorted(each.path.read_text() for each in old) == ["work 40\n", "work 50\n", "work 60\n", "work-2 200\n"]
    for keep in (4, 5, 6, 9):
        assert old_versions(workbench, before=time.time() - 30 * DAY, keep=keep) == []
    assert len(old_versions(workbench, before=time.time(), keep=0)) == 6


def test_clean_asks_first_and_a_no_keeps_everything(workspace: Path, environment: dict[str, str]) -> None:
    with_archive(workspace, {"work": [40, 50, 60, 70]})
    before = contents(workspace)

    nobody = flower("clean", cwd=workspace, environment=environment)
    look = flower("clean", "--dry-run", cwd=workspace, environment=environment)
    with Terminal([*FLOWER, "clean"], workspace, environment) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("n\n")
        assert terminal.end() == 0

    assert (nobody.code, nobody.out) == (2, "")
    assert "--yes" in nobody.err
    assert look.code == 0
    assert len(look.out.splitlines()) == 2
    assert contents(workspace) == before


def test_clean_with_yes_removes_what_is_old_and_nothing_else(workspace: Path, environment: dict[str, str]) -> None:
    workbench = with_archive(workspace, {"work": [1, 40, 50, 60, 70]})
    workbench.freeze("work", DOCUMENT)
    workbench.tasks.start("work", "Port the tests.")
    before = contents(workspace)

    done = flower("clean", "--yes", "--keep-newest", "2", cwd=workspace, environment=environment)
    again = flower("clean", "--yes", "--keep-newest", "2", cwd=workspace, environment=environment)

    assert done.code == again.code == 0, done
    assert "3 old versions removed" in done.out
    assert "nothing to remove" in again.out
    after = contents(workspace)
    assert {name: data for name, data in before.items() if name in after} == after
    assert sorted(data.decode() for name, data in before.items() if name not in after) == [
        "work 50\n", "work 60\n", "work 70\n",
    ]  # fmt: skip


def test_a_step_that_waits_tells_until_when(workspace: Path) -> None:
    workbench, waiting = Workbench(workspace), replace(working(), state=State.WAITING)
    opened = {"step": "work", "kind": "wait", "phase": "open"}
    workbench.lives.append(
        [
            {**opened, "until": "2026-11-29T16:30:00.000000Z"},
            {**opened, "until": "2026-11-29T17:30:00.000000Z"},
            {**opened, "step": "docs", "until": "2026-11-29T18:30:00.000000Z"},
            {"step": "work", "kind": "text"},
        ]
    )

    until = waits_until(workbench, waiting)

    assert until == "2026-11-29T17:30:00.000000Z"
    assert waits_until(workbench, working()) == ""
    assert waits_until(workbench, replace(waiting, step="other")) == ""
    assert f"  waits    until {local_time(until)}" in step_lines(Words(), waiting, until=until)
    assert not any("waits" in line for line in step_lines(Words(), waiting))
