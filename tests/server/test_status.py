"""handoff_status: what it tells of a step, of many, and which step a caller means."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace

import pytest

from flower_mcp import Workbench
from flower_mcp.core.books import FORMAT, Generation, LiveStep, State, as_json
from tests.server.helpers import ERAS, HANDOFF, answer, client, complaint, live_step, plain, text_of, value_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]


async def test_a_step_is_given_as_its_live_state_with_the_document_as_it_lies_there(
    workbench: Workbench, era: str
) -> None:
    frozen = workbench.freeze("work", HANDOFF)
    generation = Generation(1, "one", context=152_000, frozen=frozen.revision)
    live = replace(
        live_step("work", State.DONE, generation, context=152_000, window=200_000, session_id="one", cost_usd=1.25),
        at=150_000,
        max_generations=8,
    )
    workbench.lives.write(live)
    async with client(workbench, era) as connected:
        result = await answer(connected, "handoff_status", step="work")
        value = dict(value_of(result))
        document = workbench.read("work")
        assert document is not None
        assert value.pop("caller") is None
        assert value == plain(as_json(replace(live, document=document.state())))
        text = text_of(result)
        for words in ("done", "152.0K/200K", "generation 1", "1.25 USD", frozen.revision, "doing 31", "150.0K"):
            assert words in text
        edited = workbench.edit("work", "next", "A person's.")
        value = dict(value_of(await answer(connected, "handoff_status", step="work")))
    assert (value["document"]["revision"], value["document"]["edited"]) == (edited.revision, True)


async def test_lost_is_told_for_a_step_that_nobody_runs(workbench: Workbench, era: str) -> None:
    workbench.lives.write(live_step(state=State.WORKING))
    async with client(workbench, era) as connected:
        assert value_of(await answer(connected, "handoff_status", step="work"))["state"] == "lost"
        with workbench.run_lock("work"):
            assert value_of(await answer(connected, "handoff_status", step="work"))["state"] == "working"


async def test_an_overview_is_whole_for_20_short_for_200_and_a_count_for_the_rest(
    workbench: Workbench, era: str
) -> None:
    workbench.lives.prepare()
    for number in range(230):
        state = State.WORKING if number % 2 else State.DONE
        path = workbench.lives.folder / f"s{number}.json"
        path.write_text(json.dumps(plain(as_json(live_step(f"s{number}", state)))))
        os.utime(path, (1_000_000 + number,) * 2)
    async with client(workbench, era) as connected:
        result = await answer(connected, "handoff_status")
    value = value_of(result)
    assert [each["step"] for each in value["steps"]] == [f"s{number}" for number in range(229, 209, -1)]
    assert value["steps"][0].keys() == plain(as_json(live_step())).keys()  # type: ignore[attr-defined]
    assert value["more"][0] == {"step": "s209", "state": "lost"}
    assert value["more"][1] == {"step": "s208", "state": "done"}
    assert (len(value["more"]), value["rest"]) == (200, 10)
    assert "s209 (lost)" in text_of(result)
    assert "and 10 more" in text_of(result)


async def test_steps_with_a_document_alone_are_there_too(workbench: Workbench, era: str) -> None:
    workbench.freeze("notes", HANDOFF)
    async with client(workbench, era) as connected:
        (step,) = value_of(await answer(connected, "handoff_status"))["steps"]
        assert (step["step"], step["state"], step["document"]["complete"]) == ("notes", "idle", True)
        assert value_of(await answer(connected, "handoff_status", step="notes"))["state"] == "idle"


async def test_files_that_are_no_live_state_hide_nothing(workbench: Workbench, era: str) -> None:
    workbench.lives.write(live_step("good"))
    folder = workbench.lives.folder
    (folder / "bad.json").write_text("{")
    (folder / "other.json").write_text(json.dumps({"step": "something else", "state": "done"}))
    (folder / "newer.json").write_text(json.dumps({"v": FORMAT + 1, "step": "newer", "state": "done", "x": 1}))
    (folder / "odd.json").write_text(json.dumps({"step": "odd", "state": "no such state"}))
    async with client(workbench, era) as connected:
        value = value_of(await answer(connected, "handoff_status"))
    assert [each["step"] for each in value["steps"]] == ["good"]


async def test_an_overview_follows_changes(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        for state in (State.WORKING, State.DONE, State.FAILED, State.STOPPED):
            workbench.lives.write(live_step(state=state))
            with workbench.run_lock("work"):
                (step,) = value_of(await answer(connected, "handoff_status"))["steps"]
            assert step["state"] == state


# Which step is meant


async def test_without_a_step_the_first_one_is_work(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        await answer(connected, "write_handoff", doing="a", next="b")
    assert workbench.documents.path("work").exists()


async def test_without_a_step_the_first_one_is_the_one_that_the_server_was_told(workbench: Workbench, era: str) -> None:
    async with client(workbench, era, step="port") as connected:
        await answer(connected, "write_handoff", doing="a", next="b")
    assert workbench.documents.path("port").exists()


async def test_without_a_step_the_only_one_is_meant(workbench: Workbench, era: str) -> None:
    workbench.freeze("alone", HANDOFF)
    async with client(workbench, era) as connected:
        assert "'alone'" in text_of(await answer(connected, "read_handoff"))


async def test_the_step_that_the_server_was_told_is_meant_though_another_is_the_only_one(
    workbench: Workbench, era: str
) -> None:
    before = workbench.freeze("alone", HANDOFF)
    async with client(workbench, era, step="docs") as connected:
        for tool, given in (("read_handoff", {}), ("edit_section", {"section": "next", "text": "c"})):
            said = await complaint(connected, tool, **given)
            assert "'docs'" in said
            assert "alone" in said
        assert value_of(await answer(connected, "write_handoff", doing="a", next="b"))["step"] == "docs"
    document = workbench.read("alone")
    assert document is not None
    assert document.revision == before.revision


async def test_without_a_step_several_are_an_error_that_lists_them(workbench: Workbench, era: str) -> None:
    workbench.freeze("one", HANDOFF)
    workbench.lives.write(live_step("two"))
    async with client(workbench, era) as connected:
        for tool, given in (
            ("read_handoff", {}),
            ("write_handoff", {"doing": "a", "next": "b"}),
            ("edit_section", {"section": "next", "text": "b"}),
        ):
            said = await complaint(connected, tool, **given)
            assert "one" in said
            assert "two" in said
            assert "`step`" in said


async def test_of_several_the_one_that_the_server_was_told_is_meant(workbench: Workbench, era: str) -> None:
    workbench.freeze("one", HANDOFF)
    workbench.freeze("two", HANDOFF)
    async with client(workbench, era, step="two") as connected:
        assert "'two'" in text_of(await answer(connected, "read_handoff"))


async def test_a_step_that_is_not_there_is_an_error_with_those_that_are(workbench: Workbench, era: str) -> None:
    for number in range(30):
        workbench.lives.write(live_step(f"step{number}"))
    async with client(workbench, era) as connected:
        for tool in ("read_handoff", "handoff_status"):
            said = await complaint(connected, tool, step="nope")
            assert "'nope'" in said
            assert "step29" in said
            assert "and 10 more" in said


async def test_a_running_supervisor_s_overview_costs_no_more_than_its_files(workbench: Workbench, era: str) -> None:
    """A thousand steps are listed in a time that a person does not notice, from the second call on."""
    workbench.lives.prepare()
    for number in range(1_000):
        live: LiveStep = live_step(f"s{number}")
        (workbench.lives.folder / f"s{number}.json").write_text(json.dumps(plain(as_json(live))))
        os.utime(workbench.lives.folder / f"s{number}.json", (1_000_000 + number,) * 2)
    async with client(workbench, era) as connected:
        await answer(connected, "handoff_status")
        times = []
        for _ in range(5):
            start = time.perf_counter()
            await answer(connected, "handoff_status")
            times.append(time.perf_counter() - start)
    assert min(times) < 0.25


async def test_a_step_that_came_went_or_was_replaced_in_a_listed_folder_is_seen(workbench: Workbench, era: str) -> None:
    def set_back(seconds: float) -> None:
        for folder in (workbench.lives.folder, workbench.notes):
            for path in (folder, *folder.iterdir()):
                os.utime(path, (time.time() - seconds,) * 2)

    workbench.lives.write(live_step("one"))
    workbench.freeze("alone", HANDOFF)
    set_back(60)  # nothing here changed just now, so the listing is kept
    async with client(workbench, era) as connected:

        async def states() -> dict[str, str]:
            value = value_of(await answer(connected, "handoff_status"))
            return {step["step"]: step["state"] for step in value["steps"]}

        assert await states() == {"one": "done", "alone": "idle"}
        workbench.lives.write(live_step("one", State.STOPPED))
        assert (await states())["one"] == "stopped"
        workbench.lives.write(live_step("two"))
        workbench.documents.path("alone").unlink()
        assert await states() == {"one": "stopped", "two": "done"}
        set_back(30)
        assert set(await states()) == {"one", "two"}
        workbench.documents.path("later").write_text(HANDOFF.to_markdown())
        assert set(await states()) == {"one", "two", "later"}
        workbench.documents.path("later").unlink()
        (workbench.lives.folder / "two.json").unlink()
        assert set(await states()) == {"one"}
