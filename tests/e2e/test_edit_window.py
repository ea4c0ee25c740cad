"""The edit window: how long it stays open, what is launched, and what is said about it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from flower_mcp import Event, Runtime, Workbench
from flower_mcp.demo.model import ScriptedModel
from flower_mcp.runtime import edits
from flower_mcp.workbench.known import Known
from tests.e2e.editing import (
    EDITED,
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
)
from tests.e2e.steps import document_path, policy, run_step

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]


# How long


async def test_a_window_that_nobody_uses_lasts_its_seconds_and_no_longer(model: ScriptedModel, workspace: Path) -> None:
    story(model)
    times: dict[str, float] = {}

    def clock(_runtime: Runtime, event: Event) -> None:
        if event.kind in ("edit", "handoff"):
            times.setdefault(str(event.payload.get("phase")), time.monotonic())

    run = await run_step(workspace, handoff=policy(edit_window=0.6), during=clock)
    assert run.result.ok, run.result.error
    assert phases(run) == ["open", "closed"]
    assert 0.55 <= times["closed"] - times["done"] < 1.1
    closed = run.of("edit", "closed")[0].payload
    assert closed == {"phase": "closed", "revision": run.result.generations[0].frozen, "edited": False, "sections": []}
    opened = run.of("edit", "open")[0].payload
    assert (opened["path"], opened["seconds"]) == (str(document_path(workspace)), 0.6)
    assert opened["closes_at"].endswith("Z")


async def test_without_a_window_nothing_is_watched_nothing_is_said_and_an_edit_still_counts(
    model: ScriptedModel, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story(model)
    monkeypatch.setattr(edits, "watch", None)
    monkeypatch.setattr(edits, "anyio", SimpleNamespace(**{**vars(anyio), "sleep": None}))

    def edit(_runtime: Runtime, event: Event) -> None:
        if event.kind == "handoff" and event.payload["phase"] == "done":
            replace_words(document_path(workspace))

    run = await run_step(workspace, handoff=policy(edit_window=0), during=edit)
    assert run.result.ok, run.result.error
    assert phases(run) == ["seen"]
    assert EDITED in opening_of(model, run.result.session_id).all_text()
    assert run.result.generations[0].edited


async def test_a_save_keeps_the_window_open_until_it_has_been_quiet(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    story(model)
    path = document_path(workspace)
    saved: list[float] = []

    def saves(path: Path) -> None:
        def save(word: str) -> Callable[[], None]:
            def act() -> None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(f"{word}\n")
                saved.append(time.monotonic())

            return act

        person.does(pause(0.5), save("one"), pause(0.5), save("two"))

    closed: list[float] = []

    def during(runtime: Runtime, event: Event) -> None:
        at_open(saves, workspace)(runtime, event)
        if event.payload.get("phase") == "closed":
            closed.append(time.monotonic())

    run = await run_step(workspace, handoff=policy(edit_window=0.8), during=during)
    assert closed[0] - saved[-1] >= 0.8
    assert path.read_text(encoding="utf-8").rstrip().endswith("one\ntwo")
    assert path.read_text(encoding="utf-8") in opening_of(model, run.result.session_id).all_text()
    assert run.result.generations[0].sections_edited == ("scene",)


async def test_the_limit_ends_a_window_in_which_somebody_saves_on_and_on(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    story(model)

    def saves(path: Path) -> None:
        over = time.monotonic() + 1.2
        person.does(*[pause(0.1), lambda: path.write_text(path.read_text() + "x\n")] * 12, lambda: over)

    began = time.monotonic()
    run = await run_step(workspace, handoff=policy(edit_window=0.5, edit_limit=1.0), during=at_open(saves, workspace))
    assert run.result.ok, run.result.error
    assert time.monotonic() - began < 15
    assert phases(run)[-1] in ("closed", "late")
    assert run.result.generations[0].edited


async def test_an_open_lease_keeps_the_window_open_until_it_is_given_back(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    story(model)
    holds = Workbench(workspace).holds
    ends: list[float] = []

    def edits_for_long(path: Path) -> None:
        def act() -> None:
            with holds.lease("work"):
                time.sleep(1.5)
                replace_words(path)
            ends.append(time.time())

        person.does(act)

    run = await run_step(workspace, handoff=policy(edit_window=0.3), during=at_open(edits_for_long, workspace))
    assert EDITED in opening_of(model, run.result.session_id).all_text()
    assert opening_of(model, run.result.session_id).at > ends[0]


# Hold, release, launch now


async def test_a_hold_from_another_process_lasts_until_it_is_released_from_another(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    story(model)
    seen: list[dict[str, object]] = []
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-q", "--allow-empty", "-m"]

    def hold(path: Path) -> None:
        person.does(
            lambda: elsewhere(workspace, "holds.hold('work', 'Ann')"),
            wait(lambda: live(workspace).get("state") == "held"),
            lambda: seen.append(live(workspace)),
            pause(0.6),
            lambda: subprocess.run([*git, "While it was held"], cwd=workspace, check=True),
            lambda: replace_words(path),
            lambda: elsewhere(workspace, "assert holds.state('work').by == 'Ann'; assert holds.release('work')"),
        )

    run = await run_step(workspace, handoff=policy(edit_window=3.0), during=at_open(hold, workspace))
    assert run.result.ok, run.result.error
    assert [phase for phase in phases(run) if phase != "seen"] == ["open", "held", "released", "closed"]
    held = run.of("edit", "held")[0].payload
    assert (held["by"], held["since"]) == ("Ann", seen[0]["held_since"])
    assert run.of("edit", "released")[0].payload["as_is"] is False
    opening = opening_of(model, run.result.session_id)
    assert EDITED in opening.all_text()
    assert "While it was held" in str(opening.body)  # a process started ahead would not know the commit
    assert live(workspace)["held_since"] is None
    assert not (workspace / ".flower" / "live" / "work.hold").exists()


async def test_a_hold_from_before_the_window_counts(model: ScriptedModel, workspace: Path, person: Person) -> None:
    story(model)
    Known().remember(workspace, "work")
    holds = Workbench(workspace).holds
    holds.hold("work", "Ann")
    person.does(
        wait(lambda: live(workspace).get("state") == "held"),
        lambda: replace_words(document_path(workspace)),
        lambda: holds.release("work"),
    )
    run = await run_step(workspace, handoff=policy(edit_window=0))
    assert run.result.ok, run.result.error
    assert EDITED in opening_of(model, run.result.session_id).all_text()
    assert run.result.generations[0].edited


@pytest.mark.parametrize("workbench", [True, False])
async def test_review_holds_at_every_handoff_until_the_runs_own_release(
    model: ScriptedModel, workspace: Path, workbench: bool
) -> None:
    story(model)
    events: list[Event] = []

    def take(event: Event) -> None:
        events.append(event)

    async with Runtime(
        workspace=workspace, run_dir=workspace.parent / "runs", handoff=policy(), workbench=workbench, review=True
    ) as runtime:
        from tests.e2e.steps import TASK, spec

        async with anyio.create_task_group() as tasks:

            async def release() -> None:
                while not any(event.payload.get("phase") == "held" for event in events):
                    await anyio.sleep(0.01)
                with anyio.move_on_after(0.5):
                    while not any(event.payload.get("phase") == "launched" for event in events):
                        await anyio.sleep(0.01)
                assert not any(event.payload.get("phase") == "launched" for event in events)
                runtime.release()

            tasks.start_soon(release)
            with anyio.fail_after(60):
                result = await runtime.run(spec(), TASK, on_event=take)
    assert result.ok, result.error
    assert len(result.generations) == 2


async def test_launch_now_closes_the_window_at_once(model: ScriptedModel, workspace: Path) -> None:
    story(model)

    def enter(runtime: Runtime, event: Event) -> None:
        if event.kind == "edit" and event.payload.get("phase") == "open":
            replace_words(document_path(workspace))
            runtime.launch_now()

    with anyio.fail_after(30):
        run = await run_step(workspace, handoff=policy(edit_window=600), during=enter)
    assert run.result.ok, run.result.error
    assert EDITED in opening_of(model, run.result.session_id).all_text()
    assert run.of("edit", "released")[0].payload["as_is"] is True


async def test_a_document_that_waits_for_the_next_run_stays_held(
    model: ScriptedModel, workspace: Path, person: Person
) -> None:
    story(model)
    Known().remember(workspace, "work")
    holds = Workbench(workspace).holds

    def stop(runtime: Runtime, event: Event) -> None:
        if event.kind == "edit" and event.payload.get("phase") == "held":
            runtime.stop()

    holds.hold("work", "Ann")
    first = await run_step(workspace, handoff=policy(edit_window=0.2), during=stop)
    assert first.result.state == "stopped"
    assert holds.state("work") is not None
    person.does(
        wait(lambda: live(workspace).get("state") == "held" and live(workspace)["row"]["run"] != first.result.run),
        lambda: replace_words(document_path(workspace)),
        lambda: holds.release("work"),
    )
    second = await run_step(workspace, "")
    assert second.result.ok, second.result.error
    assert EDITED in opening_of(model, second.result.session_id).all_text()
