"""Documents that a person broke in the edit window, and the guarantee that does not rest on the watcher."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from flower_mcp import Event, Runtime, Workbench
from flower_mcp.core.faults import FaultKind
from flower_mcp.demo.model import ScriptedModel, Story, each_session, text
from flower_mcp.runtime import edits
from tests.e2e.editing import (
    EDITED,
    NEXT,
    Person,
    at_open,
    elsewhere,
    live,
    opening_of,
    pause,
    phases,
    replace_words,
    story,
    wait,
    without_next,
)
from tests.e2e.steps import archived, bash, document_path, handing_over, policy, run_step

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]


# Broken documents

Breaker = Callable[[Path], object]


def with_conflict(path: Path) -> None:
    replace_words(path, NEXT, "\n<<<<<<< HEAD\nport a\n=======\nport b\n>>>>>>> other\n")


BREAKERS: dict[FaultKind, Breaker] = {
    FaultKind.INCOMPLETE: without_next,
    FaultKind.CONFLICT: with_conflict,
    FaultKind.EMPTY: lambda path: path.write_bytes(b""),
}


async def test_at_the_limit_a_broken_document_is_kept_and_the_last_good_one_launched(
    model: ScriptedModel, workspace: Path
) -> None:
    """One way to break it at each handoff of a run."""
    work = [bash("echo one").at(40_000), bash("echo two").at(155_000)]
    model.script = each_session(*[handing_over(*work) for _ in BREAKERS], Story([text("All ported.").at(31_000)]))
    path, due = document_path(workspace), list(BREAKERS.values())
    broken: list[bytes] = []
    launched: list[str] = []

    def during(_runtime: Runtime, event: Event) -> None:
        if (event.kind, event.payload.get("phase")) == ("edit", "open"):
            due.pop(0)(path)
            broken.append(path.read_bytes())
        elif event.payload.get("phase") == "launched":
            launched.append(path.read_text(encoding="utf-8"))

    run = await run_step(workspace, handoff=policy(edit_window=0.3, edit_limit=1.6), during=during)
    assert run.result.ok, run.result.error
    assert phases(run) == ["open", "broken", "closed"] * len(BREAKERS)
    kept = [each.read_bytes() for each in archived(workspace)]
    told = [event.payload for event in run.of("edit", "broken")]
    pairs = pairwise(run.result.generations)
    for kind, found, was, now, (one, two) in zip(BREAKERS, told, broken, launched, pairs, strict=True):
        assert found["path"] == str(path), kind
        assert found["faults"][0]["what"], kind
        assert found["faults"][0]["line"] is not None, kind
        opening = opening_of(model, two.session_id).all_text()
        assert NEXT in opening, kind
        assert "<<<<<<<" not in opening, kind
        assert NEXT in now, kind
        assert was in kept, kind
        assert (one.launched, one.edited) == (one.frozen, False), kind
    assert len([error for error in run.result.errors if "was broken" in error]) == len(BREAKERS)


async def test_the_last_good_version_may_be_a_persons_own(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    story(model)

    def edit_and_break(path: Path) -> None:
        replace_words(path)
        person.does(wait(lambda: live(workspace)["document"]["edited"]), lambda: without_next(path))

    run = await run_step(
        workspace, handoff=policy(edit_window=0.5, edit_limit=2.0), during=at_open(edit_and_break, workspace)
    )
    assert run.result.ok, run.result.error
    assert phases(run) == ["open", "seen", "broken", "closed"]
    assert EDITED in opening_of(model, run.result.session_id).all_text()
    assert EDITED in document_path(workspace).read_text(encoding="utf-8")
    assert run.result.generations[0].sections_edited == ("next",)


async def test_a_broken_document_that_is_mended_is_launched(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    story(model)

    def break_it(path: Path) -> None:
        good = path.read_text(encoding="utf-8")
        without_next(path)
        person.does(
            wait(lambda: not live(workspace)["document"]["complete"]),
            lambda: path.write_text(good.replace(NEXT, EDITED), encoding="utf-8"),
        )

    run = await run_step(workspace, handoff=policy(edit_window=0.3), during=at_open(break_it, workspace))
    assert run.result.ok, run.result.error
    assert phases(run) == ["open", "broken", "seen", "closed"]
    assert EDITED in opening_of(model, run.result.session_id).all_text()
    assert run.result.errors == ()


async def test_a_broken_document_is_launched_as_it_stands_when_a_person_says_so(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    story(model)

    def break_it(path: Path) -> None:
        with_conflict(path)
        person.does(
            wait(lambda: live(workspace)["document"]["edited"]),
            pause(0.5),
            lambda: elsewhere(workspace, "assert holds.release('work', as_is=True)"),
        )

    run = await run_step(workspace, handoff=policy(edit_window=0.2), during=at_open(break_it, workspace))
    assert run.result.ok, run.result.error
    assert phases(run) == ["open", "broken", "released", "closed"]
    assert "<<<<<<< HEAD" in opening_of(model, run.result.session_id).all_text()
    assert not (workspace / ".flower" / "live" / "work.hold").exists()


async def test_a_deleted_document_means_the_frozen_one_at_once(model: ScriptedModel, workspace: Path) -> None:
    story(model)
    with anyio.fail_after(30):
        run = await run_step(
            workspace, handoff=policy(edit_window=0.8), during=at_open(lambda path: path.unlink(), workspace)
        )
    assert run.result.ok, run.result.error
    assert NEXT in opening_of(model, run.result.session_id).all_text()
    assert NEXT in document_path(workspace).read_text()
    assert any("the file is gone" in error for error in run.result.errors)


async def test_a_document_that_cannot_be_read_is_waited_for_and_then_the_last_good_one_launched(
    model: ScriptedModel, workspace: Path
) -> None:
    story(model)

    def lead_away(path: Path) -> None:
        path.rename(path.with_name("mine.md"))
        path.symlink_to("/etc/hostname")

    run = await run_step(
        workspace, handoff=policy(edit_window=0.2, edit_limit=1.2), during=at_open(lead_away, workspace)
    )
    assert run.result.ok, run.result.error
    assert phases(run) == ["open", "broken", "closed"]
    assert NEXT in opening_of(model, run.result.session_id).all_text()
    assert document_path(workspace).is_symlink()


async def test_a_save_in_two_steps_is_one_edit(model: ScriptedModel, workspace: Path, person: Person) -> None:
    story(model)

    def save(path: Path) -> None:
        content = path.read_text(encoding="utf-8").replace(NEXT, EDITED).encode()

        def slowly() -> None:
            with path.open("wb") as file:
                for part in (content[:200], content[200:500], content[500:]):
                    time.sleep(0.05)
                    file.write(part)
                    file.flush()

        person.does(slowly)

    run = await run_step(workspace, handoff=policy(edit_window=0.5), during=at_open(save, workspace))
    assert phases(run) == ["open", "seen", "closed"]
    assert run.of("edit", "seen")[0].payload["sections"] == ["next"]
    assert EDITED in opening_of(model, run.result.session_id).all_text()


# The guarantee


async def test_with_the_watcher_dead_the_edit_still_reaches_the_successor(
    model: ScriptedModel, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story(model)

    async def dead(*_given: object) -> None:
        return None

    monkeypatch.setattr(edits, "watch", dead)
    monkeypatch.setattr(edits, "TICK", 1e6)  # nobody looks in between either
    run = await run_step(workspace, handoff=policy(edit_window=0.5), during=at_open(replace_words, workspace))
    assert EDITED in opening_of(model, run.result.session_id).all_text()
    one = run.result.generations[0]
    assert (one.edited, one.sections_edited) == (True, ("next",))
    assert one.launched != one.frozen


async def test_a_save_between_the_window_and_the_prompt_is_in_the_prompt(model: ScriptedModel, workspace: Path) -> None:
    story(model, work=2)

    def edit(_runtime: Runtime, event: Event) -> None:
        if event.payload.get("phase") == "closed":
            replace_words(document_path(workspace))

    run = await run_step(workspace, handoff=policy(edit_window=0.2), during=edit)
    assert run.result.ok, run.result.error
    assert EDITED in opening_of(model, run.result.session_id).all_text()
    assert phases(run) == ["open", "closed"]
    one = run.result.generations[0]
    assert (one.edited, one.sections_edited) == (True, ("next",))
    assert one.launched == Workbench(workspace).read("work").revision  # type: ignore[union-attr]


async def test_the_version_that_an_editor_wrote_over_is_in_the_archive(model: ScriptedModel, workspace: Path) -> None:
    story(model)
    frozen: list[bytes] = []

    def edit(path: Path) -> None:
        frozen.append(path.read_bytes())
        replace_words(path)

    await run_step(workspace, handoff=policy(edit_window=0.3), during=at_open(edit, workspace))
    assert frozen[0] in [path.read_bytes() for path in archived(workspace)]
