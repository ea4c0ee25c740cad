"""Late edits: what a person saves after the launch is told to the session at work, once; its own changes are not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime, Workbench
from flower_mcp.demo.model import Reply, ScriptedModel, Story, each_session, text, tool
from flower_mcp.demo.request import texts
from flower_mcp.workbench.files import revision
from tests.e2e.editing import NEXT, Person, last_of, live, opening_of, pause, replace_words, story, wait
from tests.e2e.steps import TASK, Run, archived, bash, document_path, handing_over, run_step

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

LATE = "a person changed the handoff document"
EDITED = "port test_batch FIRST"


def after_launch(act, *, tools: int = 0):  # type: ignore[no-untyped-def]  # a listener for run_step
    """Act once when the successor is launched, or has used so many tools."""
    used: list[str] = []
    done: list[bool] = []

    def during(_runtime: Runtime, event: Event) -> None:
        if event.payload.get("phase") == "launched":
            used.append("launched")
        elif used and event.kind == "tool":
            used.append("tool")
        if len(used) == tools + 1 and not done:
            done.append(True)
            act()

    return during


def handing(model: ScriptedModel, *work: Reply) -> None:
    """A session that hands over, and a successor that does this."""
    model.script = each_session(
        handing_over(bash("echo one").at(40_000), bash("echo two").at(155_000)),
        Story([*work, text("Ported.").at(31_000)]),
    )


def lates(run: Run) -> list[tuple[str, bool]]:
    return [(str(event.payload["section"]), bool(event.payload["delivered"])) for event in run.of("edit", "late")]


async def test_a_save_after_the_launch_is_told_at_the_next_boundary_with_old_and_new_text(
    model: ScriptedModel, workspace: Path
) -> None:
    story(model, work=3)
    path = document_path(workspace)
    run = await run_step(workspace, during=after_launch(lambda: replace_words(path), tools=1))
    assert run.result.ok, run.result.error
    assert run.result.text == "All ported."
    requests = [request for request in model.requests if request.session == run.result.session_id]
    assert [LATE in request.all_text() for request in requests] == [False, True, True, True]
    told = requests[-1].all_text()
    assert told.count(LATE) == 1
    words = told.partition(LATE)[2]
    assert "下一步 · Next" in words
    assert words.index(NEXT) < words.index(EDITED)
    assert str(path) in words
    assert "走不通的" not in words
    assert lates(run) == [("next", True)]
    assert live(workspace)["document"]["edited"]
    assert Workbench(workspace).taken.read("work") == revision(path.read_bytes())
    assert run.result.generations[0].edited is False


async def test_each_save_is_told_once(model: ScriptedModel, workspace: Path, person: Person) -> None:
    story(model, work=5, seconds=0.5)
    path = document_path(workspace)
    told: list[Event] = []

    def during(_runtime: Runtime, event: Event) -> None:
        if event.payload.get("phase") == "launched":
            save = [
                lambda: replace_words(path, NEXT, "A1"),
                wait(lambda: told),
                lambda: replace_words(path, "A1", "B2"),
            ]
            person.does(*save)
        elif event.payload.get("phase") == "late":
            told.append(event)

    run = await run_step(workspace, during=during)
    words = last_of(model, run.result.session_id).all_text()
    assert words.count(LATE) == 2
    assert (words.count("A1"), words.count("B2")) == (2, 1)  # the first as new and as old text
    assert lates(run) == [("next", True)] * 2


async def test_a_long_save_is_capped(model: ScriptedModel, workspace: Path) -> None:
    story(model, work=2)
    path = document_path(workspace)
    run = await run_step(workspace, during=after_launch(lambda: replace_words(path, NEXT, "z" * 200_000), tools=1))
    told = last_of(model, run.result.session_id).all_text()
    assert 1_000 < told.count("z" * 1000) * 1000 + 1_001 < 10_000
    assert "left out here" in told
    assert lates(run) == [("next", True)]


async def test_a_save_in_a_turn_without_tools_begins_a_turn_of_its_own(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    first = handing_over(bash("echo one").at(40_000), bash("echo two").at(155_000))
    answer = text("I have seen the change.").at(32_000)
    model.script = each_session(first, Story([text("All ported.").at(31_000).but(delay=1.5), answer]))
    path = document_path(workspace)
    run = await run_step(workspace, during=after_launch(lambda: person.does(pause(0.3), lambda: replace_words(path))))
    assert run.result.ok, run.result.error
    assert run.result.text == "I have seen the change."
    assert last_of(model, run.result.session_id).all_text().count(EDITED) == 1
    assert lates(run) == [("next", True)]


async def test_when_the_session_has_ended_the_books_say_that_nobody_was_told(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    story(model)
    path = document_path(workspace)
    person.does(wait(lambda: live(workspace).get("state") == "done", 60), lambda: replace_words(path))
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert lates(run) == [("next", False)]
    assert any("nobody was told" in error for error in run.result.errors)
    assert EDITED in path.read_text(encoding="utf-8")


async def test_a_sessions_own_changes_are_not_a_persons(model: ScriptedModel, workspace: Path) -> None:
    path = document_path(workspace)
    read = tool("Read", file_path=str(path))
    edit = tool("Edit", file_path=str(path), old_string=NEXT, new_string="port test_edited next")
    written = "# 交接\n\n## Doing\n\nOwn.\n\n## Next\n\nport test_written next\n"
    write = tool("Write", file_path=str(path), content=written)
    sed = bash("sed -i 's/test_written/test_own/' .flower/notes/*.md")
    handing(model, *[each.at(30_000 + n) for n, each in enumerate([read, edit, read, write, sed, bash("echo on")])])
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    assert path.read_text(encoding="utf-8") == written.replace("test_written", "test_own")
    assert Workbench(workspace).taken.read("work") == revision(path.read_bytes())
    again = await run_step(workspace, "One more thing.")
    assert again.result.session_id == run.result.session_id
    requests = [request for request in model.requests if request.session == run.result.session_id]
    assert "test_edited" in requests[-1].all_text()
    assert [LATE in request.all_text() for request in requests] == [False] * len(requests)
    assert lates(run) == lates(again) == []
    kept = [each.read_text(encoding="utf-8") for each in archived(workspace)]
    assert any(NEXT in each for each in kept)


async def test_a_persons_save_beside_the_sessions_own_edit_is_told_all_the_same(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    path = document_path(workspace)
    own = tool("Edit", file_path=str(path), old_string="3 of 7 done", new_string="4 of 7 done")
    handing(
        model,
        tool("Read", file_path=str(path)).at(30_000),
        (own + bash("sleep 1; echo on")).at(30_001),
        bash("echo on").at(30_002),
    )

    def save() -> None:
        person.does(wait(lambda: "4 of 7" in path.read_text(encoding="utf-8")), pause(0.2), lambda: replace_words(path))

    run = await run_step(workspace, during=after_launch(save))
    assert run.result.ok, run.result.error
    assert "4 of 7" in path.read_text(encoding="utf-8")
    told = last_of(model, run.result.session_id).all_text()
    assert told.count(LATE) == 1  # the CLI has words of its own for a file that the session has read
    assert EDITED in told.partition(LATE)[2]
    assert ("next", True) in lates(run)


async def test_a_save_while_a_command_runs_that_has_nothing_to_do_with_the_file_is_a_persons(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    handing(model, bash("sleep 0.8; echo on").at(30_000), bash("echo on").at(30_001))
    path = document_path(workspace)
    run = await run_step(workspace, during=after_launch(lambda: person.does(pause(0.4), lambda: replace_words(path))))
    assert lates(run) == [("next", True)]


async def test_a_save_of_the_old_document_just_before_the_freeze_is_told_to_the_successor(
    model: ScriptedModel, workspace: Path
) -> None:
    Workbench(workspace).freeze("work", "# 交接\n\n## Doing\n\nOld.\n\n## Next\n\nport test_resume next\n")
    story(model, work=2)

    def during(_runtime: Runtime, event: Event) -> None:
        if event.kind == "handoff" and event.payload["phase"] == "writing":
            replace_words(document_path(workspace))

    run = await run_step(workspace, during=during)
    assert run.result.ok, run.result.error
    first, second = (generation.session_id for generation in run.result.generations)
    assert EDITED not in last_of(model, first).all_text()
    assert EDITED not in opening_of(model, second).all_text()
    assert last_of(model, second).all_text().count(EDITED) == 1
    assert lates(run) == [("next", True)]


async def test_a_resumed_session_is_told_what_a_person_changed_while_nobody_ran(
    model: ScriptedModel, workspace: Path
) -> None:
    first = handing_over(bash("echo one").at(40_000), bash("echo two").at(155_000))
    model.script = each_session(
        first,
        Story([text("First part done.").at(31_000), bash("echo more").at(32_000), text("More done.").at(33_000)]),
    )
    before = await run_step(workspace, TASK)
    assert lates(before) == []
    replace_words(document_path(workspace))
    again = await run_step(workspace, "One more thing.")
    assert again.result.ok, again.result.error
    assert again.result.session_id == before.result.session_id
    told = last_of(model, again.result.session_id).all_text().partition("One more thing.")[2]
    assert told.count(EDITED) == 1
    assert "Before: nothing, or not known." in told  # the editor wrote over it, and nobody was there to keep it
    assert ("next", True) in lates(again)


async def test_a_resumed_session_is_shown_the_old_text_where_the_archive_has_it(
    model: ScriptedModel, workspace: Path
) -> None:
    first = handing_over(bash("echo one").at(40_000), bash("echo two").at(155_000))
    model.script = each_session(first, Story([text("Done.").at(31_000), text("More.").at(32_000), text("Seen.")]))
    await run_step(workspace, TASK)
    Workbench(workspace).edit("work", "next", EDITED)
    again = await run_step(workspace, "One more thing.")
    told = last_of(model, again.result.session_id).all_text().partition(LATE)[2]
    assert told.index(NEXT) < told.index(EDITED)
    assert lates(again) == [("next", True)]
    assert again.result.text == "Seen."


async def test_a_document_that_nobody_changed_is_never_told_of(model: ScriptedModel, workspace: Path) -> None:
    story(model, work=4)
    path = document_path(workspace)
    run = await run_step(workspace, during=after_launch(path.touch, tools=1))
    assert LATE not in last_of(model, run.result.session_id).all_text()
    assert lates(run) == []
    assert time.time() - path.stat().st_mtime < 60


async def test_a_save_before_a_command_of_the_session_that_names_the_file_is_a_persons(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    own = bash(f"sleep 0.3; sed -i 's/{NEXT}/none/; s/{EDITED}/{EDITED}, then mine/' .flower/notes/*.md")
    thinking = own.at(30_001).but(delay=1.2)
    handing(model, bash("echo on").at(30_000), thinking, bash("echo on").at(30_002))
    path = document_path(workspace)
    save = after_launch(lambda: person.does(pause(0.4), lambda: replace_words(path)), tools=1)
    run = await run_step(workspace, during=save)
    assert run.result.ok, run.result.error
    assert f"{EDITED}, then mine" in path.read_text(encoding="utf-8")
    assert lates(run) == [("next", True)]
    blocks = [block for each in last_of(model, run.result.session_id).messages for block in texts(each.get("content"))]
    told = [block for block in blocks if LATE in block]
    assert len(told) == 1
    assert (
        "then mine" not in told[0]
    )  # on a slow machine it is told before the command, whose words then stand behind it
