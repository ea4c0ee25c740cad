"""The demo's scripted person: the edit arrives in the second session's first prompt, or the demo fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flower_mcp import AgentSpec, Event, Handoff, HandoffPolicy, Runtime, StepResult, Workbench
from flower_mcp.demo.documents import FIRST
from flower_mcp.demo.model import ScriptedModel
from flower_mcp.demo.person import LINE, Person
from flower_mcp.demo.story import DemoWorld, prepare, script, verify
from tests.demo.conftest import ODD


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the package runs on."""
    return "asyncio"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model in a thread; a script that raises fails the test."""
    with ScriptedModel("Nothing.").in_thread() as started:
        yield started
        assert started.errors == []


async def tell(
    world: DemoWorld, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, events: list[Event], person: Person
) -> StepResult:
    """Run the story with the person at the document, the way a caller is told to."""
    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    model.script = script(world.workspace, pace=0, person=person)

    def take(event: Event) -> None:
        events.append(event)
        if event.kind == "edit" and event.payload.get("phase") == "open":
            person.edit(Path(str(event.payload["path"])))

    spec = AgentSpec(model=world.model, permission_mode="bypassPermissions", env=world.environment)
    policy = HandoffPolicy(window=world.window, edit_window=0.3)
    async with Runtime(workspace=world.workspace, run_dir=world.run_dir, handoff=policy) as runtime:
        return await runtime.run(spec, world.task, step=world.step, on_event=take)


@pytest.mark.e2e
@pytest.mark.anyio
async def test_the_second_session_says_where_the_edit_arrived_and_does_what_it_asks(
    tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, events = prepare(tmp_path / ODD, model.url), []  # type: tuple[DemoWorld, list[Event]]
    result = await tell(world, model, monkeypatch, events, Person())
    assert (result.ok, result.error, result.errors, result.attempts) == (True, None, (), 1)
    assert verify(world) == []
    said = [event.text for event in events if event.kind == "text"]
    assert sum("A person edited the document while it waited" in text for text in said) == 1
    assert [each.sections_edited for each in result.generations[:2]] == [("next",), ()]
    assert [event.payload["sections"] for event in events if event.payload.get("phase") == "seen"] == [["next"]]
    second = next(request for request in model.requests if request.session == result.generations[1].session_id)
    assert LINE in second.last_text()
    assert any("data/plants.csv && git commit" in event.text for event in events if event.kind == "tool")
    archived = Workbench(world.workspace).history(world.step)
    assert any(LINE in version.data().decode() for version in archived)


@pytest.mark.e2e
@pytest.mark.anyio
async def test_an_edit_that_does_not_arrive_makes_the_demo_fail(
    tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Forgetful(Person):
        def edit(self, path: Path) -> bool:
            self.has_edited = True
            return path.exists()

    result = await tell(prepare(tmp_path / ODD, model.url), model, monkeypatch, [], Forgetful())
    assert not result.ok
    assert "session 2 should have been told" in str(result.error)


def test_the_person_adds_one_line_once_and_changes_nothing_else(tmp_path: Path) -> None:
    path, person = tmp_path / "doc.md", Person()
    path.write_text(FIRST, encoding="utf-8")
    assert person.edit(path) is True
    assert person.edit(path) is False
    after = Handoff.from_markdown(path.read_text(encoding="utf-8"))
    before = Handoff.from_markdown(FIRST)
    assert after.next == f"{before.next}\n\n{LINE}"
    assert (after.doing, after.decided, after.deadends, after.scene) == (
        before.doing,
        before.decided,
        before.deadends,
        before.scene,
    )
