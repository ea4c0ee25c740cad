"""What is said to a step: kept word for word, told once, and known to every later session, through deaths too."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime, Workbench
from flower_mcp.core.books import iso
from flower_mcp.demo.model import ScriptedModel, Story, each_session, text
from flower_mcp.workbench.inbox import Asks, Message
from flower_mcp.workbench.locks import RunLock, is_held
from flower_mcp.workbench.tasks import By
from tests.e2e.editing import last_of, opening_of
from tests.e2e.harness import alive, command, marked, wait_until
from tests.e2e.steps import CUT_OFF, DOCUMENT, TASK, Run, bash, handing_over, is_asked, run_step
from tests.e2e.test_continuity import claude_pids, run_of, supervisor

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

LONG = "x" * 5000  # more than a prompt shows of the person's words
Act = Callable[[Runtime], object]


def put(workspace: Path, words: str = "", kind: Asks = Asks.SAY) -> None:
    """What another process does."""
    Workbench(workspace).lives.put("work", Message(iso(0), "me@here", kind, words))


def words_of(workspace: Path) -> str:
    return (workspace / ".flower" / "notes" / "任务-work.md").read_text(encoding="utf-8")


def waiting(workspace: Path) -> list[str]:
    return [one.message.text for one in Workbench(workspace).lives.waiting("work")]


def acting(acts: dict[str, list[Act]]) -> Callable[[Runtime, Event], None]:
    """For run_step's `during`: act at the events of these names ("tool", "handoff writing"), one act each."""

    def during(runtime: Runtime, event: Event) -> None:
        due = acts.get(f"{event.kind} {event.payload.get('phase', '')}".strip())
        if due:
            due.pop(0)(runtime)

    return during


def burning() -> Story:
    """A session that hands over after two tools."""
    return handing_over(bash("sleep 0.3; echo one").at(40_000), bash("echo two").at(155_000))


async def test_every_later_word_reaches_every_successor_once(model: ScriptedModel, workspace: Path) -> None:
    third = Story(
        [bash("echo").at(30_000), text("All ported.").at(31_000), bash("echo more").at(156_000)],
        branches=[(is_asked, text(DOCUMENT).at(157_000))],
    )
    model.script = each_session(burning(), burning(), third, text("Done, too.").at(30_000))
    acts: dict[str, list[Act]] = {
        "tool": [
            lambda _: put(workspace, "Use tabs."),
            lambda runtime: runtime.say("No, spaces.", by=By.INTERRUPT),  # just before the break: nobody is told now
            lambda _: put(workspace, "/etc stays as it is."),
        ],
        "handoff writing": [lambda _: put(workspace, "Said while it wrote.")],
        "session launched": [lambda _: put(workspace, LONG)],
    }
    run = await run_step(workspace, during=acting(acts))
    assert run.result.ok, run.result.error
    ids = [generation.session_id for generation in run.result.generations]
    said = ["Use tabs.", "No, spaces.", "Said while it wrote.", "/etc stays as it is."]

    def heard(session: str) -> list[int]:
        return [last_of(model, session).all_text().count(words) for words in said]

    assert heard(ids[0])[0] == 1
    assert heard(ids[0])[2:] == [0, 0]
    assert heard(ids[1]) == [1, 1, 1, 1]
    assert [words in opening_of(model, ids[1]).all_text() for words in said] == [True, True, True, False]
    assert last_of(model, ids[1]).all_text().count(LONG) == 1  # told in full, since no prompt could carry it
    assert f"all of them are in `{workspace}/.flower/notes/任务-work.md`" in opening_of(model, ids[2]).all_text()
    assert last_of(model, ids[2]).all_text().count("/etc stays as it is.") == 1
    assert waiting(workspace) == []
    assert all(words_of(workspace).count(words) == 1 for words in said)
    assert "· say\n\nUse tabs." in words_of(workspace)
    assert "· interrupt\n\nNo, spaces." in words_of(workspace)
    again = await run_step(workspace, "One more thing.")
    assert again.result.ok, again.result.error
    assert "wake 1" in again.of("session", "resumed")[0].text
    last = [generation.session_id for generation in again.result.generations]
    assert last[0] == ids[2]
    assert [last_of(model, each).all_text().count("One more thing.") for each in last] == [1, 1]


async def test_short_words_are_in_the_prompt_of_every_later_session(model: ScriptedModel, workspace: Path) -> None:
    model.script = each_session(burning(), burning(), burning(), text("Done.").at(30_000))
    acts: dict[str, list[Act]] = {
        "tool": [lambda _: put(workspace, "Use tabs."), lambda runtime: runtime.say("No, spaces.", by=By.INTERRUPT)]
    }
    run = await run_step(workspace, during=acting(acts))
    assert run.result.ok, run.result.error
    for generation in run.result.generations[1:]:
        opening = opening_of(model, generation.session_id).all_text()
        assert [opening.count(words) for words in (TASK, "Use tabs.", "No, spaces.")] == [1, 1, 1]


async def test_words_in_a_turn_without_tools_begin_a_turn_and_words_after_the_end_wait_for_the_next_run(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = Story([
        text("All ported.").at(31_000).but(delay=0.8), text("With tabs now.").at(32_000), text("More.").at(33_000),
    ])  # fmt: skip
    run = await run_step(workspace, during=acting({"session started": [lambda _: put(workspace, "Use tabs.")]}))
    assert run.result.ok, run.result.error
    assert run.result.text == "With tabs now."
    put(workspace, kind=Asks.STOP)  # for the run that is over: it must not stop the next one
    put(workspace, "Said too late.")
    (workspace / ".flower" / "live" / "work.inbox" / "20261129T160512.123456Z.json").write_text("{")
    again = await run_step(workspace, "")
    assert again.result.text == "More."
    assert last_of(model, again.result.session_id).all_text().count("Said too late.") == 1
    assert waiting(workspace) == []
    assert any("could not be read" in error for error in again.result.errors)


async def test_a_handoff_and_a_stop_are_asked_for_from_outside(model: ScriptedModel, workspace: Path) -> None:
    first = handing_over(bash("sleep 0.3; echo one").at(40_000), bash("echo never").at(50_000))
    model.script = each_session(first, Story([bash("sleep 0.3; touch ended").at(30_000), text("No.").at(31_000)]))
    acts: dict[str, list[Act]] = {
        "tool": [lambda _: put(workspace, kind=Asks.HANDOFF), lambda _: put(workspace, kind=Asks.STOP)]
    }
    run = await run_step(workspace, during=acting(acts))
    assert run.result.state == "stopped"
    assert len(run.result.generations) == 2
    assert run.phases() == ["near", "writing", "done"]
    assert (workspace / "ended").exists()
    assert waiting(workspace) == []


async def test_a_kill_of_all_three_loses_no_word_repeats_none_and_its_processes_end_at_the_next_start(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    detached = "setsid nohup sh -c 'echo $$ > server.pid; exec sleep 60' > /dev/null 2>&1 &"
    endless = bash("touch endless; exec tail -f /dev/null")
    model.script = Story(
        [bash(f"{detached} sleep 0.6; echo a").at(30_000), endless.at(30_001), text("Done.").at(31_000)]
    )
    with supervisor(workspace, TASK, environment) as process:
        wait_until((workspace / "server.pid").exists, 30)
        put(workspace, "Taken in before the kill.")
        wait_until((workspace / "endless").exists, 30)
        put(workspace, "Heard by nobody.")
        wait_until(lambda: "Heard by nobody." in words_of(workspace), 5)
        run = run_of(workspace)
        claude = claude_pids(run)[0]
        keepers = [pid for pid in marked("FLOWER_KEEPER_FOLDER=") if "keeper.py" in command(pid)]
        for pid in (process.pid, *keepers, claude):
            os.kill(pid, signal.SIGKILL)
    server = int((workspace / "server.pid").read_text())
    assert alive(server)
    assert list((workspace.parent / "runs").glob("keeper-*"))
    again = await run_step(workspace, "")
    assert again.result.ok, again.result.error
    told = last_of(model, again.result.session_id).all_text()
    assert (told.count("Taken in before the kill."), told.count("Heard by nobody."), told.count(CUT_OFF)) == (1, 1, 1)
    assert words_of(workspace).count("Heard by nobody.") == 1
    assert waiting(workspace) == []
    assert not alive(server)
    assert list((workspace.parent / "runs").glob("keeper-*")) == []


async def test_a_workbench_that_is_deleted_midway_lets_no_second_supervisor_in(
    model: ScriptedModel, workspace: Path
) -> None:
    lock = Workbench(workspace).lives.run_lock("work").path
    refused: list[bool] = []

    def delete(_runtime: Runtime) -> None:
        shutil.rmtree(workspace / ".flower")

    model.script = Story([bash("sleep 0.8; echo a").at(30_000), bash("echo b").at(30_001), text("Done.").at(31_000)])
    acts: dict[str, list[Act]] = {
        "tool": [delete, lambda _: refused.append(not RunLock(lock).acquire())],
    }
    run = await run_step(workspace, during=acting(acts))
    assert run.result.ok, run.result.error
    assert refused == [True]
    assert not is_held(lock)


async def test_a_supervisor_that_has_lost_its_step_to_another_stops_and_writes_nothing_over(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = Story([bash("sleep 0.8; echo a").at(30_000), text("Not reached.").at(31_000)])
    state = workspace / ".flower" / "live" / "work.json"
    other = Workbench(workspace).lives.run_lock("work")

    def take_over(_runtime: Runtime) -> None:
        shutil.rmtree(workspace / ".flower")
        assert other.acquire()

    def write(_runtime: Runtime) -> None:
        state.write_text("the other's")

    acts: dict[str, list[Act]] = {"tool": [take_over], "result": [write]}
    run: Run = await run_step(workspace, during=acting(acts))
    other.release()
    assert run.result.state == "stopped"
    assert "another supervisor has taken the step" in (run.result.error or "")
    assert state.read_text() == "the other's"


async def test_a_session_that_cannot_be_resumed_leaves_its_draft_else_a_degraded_document(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    def forget(run: Run) -> None:
        for transcript in Path(environment["CLAUDE_CONFIG_DIR"]).rglob(f"{run.result.session_id}.jsonl"):
            transcript.unlink()

    model.script = text("Done.").at(30_000)
    first = await run_step(workspace)
    forget(first)
    second = await run_step(workspace, "Go on.")
    assert second.result.ok, second.result.error
    assert any("交接降级(its transcript is gone)" in error for error in second.result.errors)
    opening = opening_of(model, second.result.session_id).all_text()
    assert TASK in opening
    assert "Go on." in opening
    assert second.result.retired == (first.result.session_id,)
    assert [generation.n for generation in second.result.generations] == [1, 2]
    forget(second)
    Workbench(workspace).lives.write_draft("work", DOCUMENT.replace("3 of 7 done", "all of it drafted"))
    third = await run_step(workspace, "")
    assert third.result.ok, third.result.error
    assert "all of it drafted" in opening_of(model, third.result.session_id).all_text()
    assert third.result.generations[0].written_by == "draft"
    assert Workbench(workspace).lives.read_draft("work") is None


async def test_what_the_cli_refuses_to_resume_is_never_tried_again_and_the_document_goes_on(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = each_session(burning(), text("Done.").at(30_000), text("Done again.").at(30_000))
    first = await run_step(workspace)
    for transcript in Path(environment["CLAUDE_CONFIG_DIR"]).rglob(f"{first.result.session_id}.jsonl"):
        transcript.write_text("")
    run = await run_step(workspace, "Go on.")
    assert run.result.ok, run.result.error
    assert [generation.n for generation in run.result.generations] == [2, 3]
    assert run.result.session_id not in (first.result.session_id, *first.result.retired)
    assert "Go on." in opening_of(model, run.result.session_id).all_text()
    assert run.result.generations[0].why == "the CLI refused to go on with it"


async def test_beginning_afresh_moves_what_was_said_and_drafted_into_the_archive(
    model: ScriptedModel, workspace: Path
) -> None:
    model.script = text("Done.").at(30_000)
    await run_step(workspace, "The old task.")
    put(workspace, "Said to the old one.")
    Workbench(workspace).lives.write_draft("work", DOCUMENT)
    run = await run_step(workspace, "The new task.", fresh=True)
    assert run.result.ok, run.result.error
    archive = workspace / ".flower" / "notes" / "archive"
    assert ["Said to the old one." in each.read_text() for each in (archive / "任务").iterdir()] == [True]
    assert [each.read_text() for each in (archive / "交接").iterdir()] == [DOCUMENT]
    assert words_of(workspace) == "The new task."
    assert "Said to the old one." not in last_of(model, run.result.session_id).all_text()
    assert waiting(workspace) == []
