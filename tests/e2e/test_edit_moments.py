"""A save at any moment around a handoff is accounted for exactly once: in the prompt, or as a late edit.

A run has several handoffs and shows a moment at each of them, so that a session more is all that a moment costs. A save
while a session writes falls into the document before it: it changes another section, and no two of these follow each
other, since what a section says is told whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime, Workbench
from flower_mcp.demo.model import Reply, ScriptedModel, Story, each_session, text
from tests.e2e.editing import NEXT, Person, last_of, opening_of, pause
from tests.e2e.steps import DOCUMENT, archived, bash, document_path, is_asked, policy, run_step

pytestmark = [pytest.mark.e2e, pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]

WRITING, WINDOW = 2.0, 0.5  # seconds: of the handoff turn where a save comes before the freeze, and of the edit window
DECIDED = "since the old setUp hides state"
RUNS = [
    [("writing", 0.0), ("done", 0.0), ("closed", 0.0), ("writing", 0.9), ("launched", 0.0), ("done", 0.2)],
    [("writing", 1.8), ("done", 0.45), ("closed", 0.05), ("writing", 1.95), ("launched", 0.4), ("done", 0.5)],
    [("writing", 2.0), ("done", 0.6), ("closed", 0.15), ("writing", 2.05), ("launched", 1.0), ("closed", 0.3)],
    [("launched", 1.9)],
]


@dataclass(slots=True)
class Moment:
    """A save, so many seconds after an event of the n-th handoff, counted from 1."""

    number: int
    phase: str
    later: float
    folder: Path
    mark: str = field(default_factory=lambda: f"MARK-{os.urandom(4).hex()}")

    @property
    def saved(self) -> Path:
        """A file that is there once the document was saved."""
        return self.folder / f"saved-{self.number}"

    def save(self, document: Path) -> None:
        """Change the document as it is now."""
        old, content = DECIDED if self.phase == "writing" else NEXT, document.read_text(encoding="utf-8")
        assert old in content
        document.write_text(content.replace(old, f"{self.mark} first"), encoding="utf-8")
        self.saved.touch()

    def work(self) -> list[Reply]:
        """What the successor does: it goes on until the save was made, and a little longer."""
        work = [bash("sleep 0.4; echo on") for _ in range(6 if self.phase == "launched" else 2)]
        waits = bash(f"until [ -e '{self.saved}' ]; do sleep 0.05; done; echo on")
        return [each.at(30_000 + number) for number, each in enumerate([*work, waits, bash("echo on")])]


def stories(moments: list[Moment]) -> Iterator[Story]:
    """The sessions: each but the last hands over, each but the first is a successor."""
    work = [bash("echo one").at(40_000)]
    for moment in moments:
        writing = text(DOCUMENT).at(156_000).but(delay=WRITING if moment.phase == "writing" else 0.0)
        yield Story([*work, bash("echo two").at(155_000)], branches=[(is_asked, writing)])
        work = moment.work()
    yield Story([*work, text("Done.").at(31_000)])


@pytest.mark.parametrize("run_of", RUNS, ids=["first", "second", "third", "last"])
async def test_a_save_at_any_moment_is_accounted_for_exactly_once(
    model: ScriptedModel, workspace: Path, person: Person, run_of: list[tuple[str, float]]
) -> None:
    moments = [Moment(number, *each, workspace.parent) for number, each in enumerate(run_of, start=1)]
    model.script = each_session(*stories(moments))
    Workbench(workspace).freeze("work", DOCUMENT.replace("3 of 7", "2 of 7"))
    path, begun = document_path(workspace), 0

    def during(_runtime: Runtime, event: Event) -> None:
        nonlocal begun
        phase = event.payload.get("phase")
        begun += (event.kind, phase) == ("handoff", "writing")
        if len(person.threads) < begun and phase == moments[begun - 1].phase:
            moment = moments[begun - 1]
            person.does(pause(moment.later), partial(moment.save, path))

    run = await run_step(workspace, handoff=policy(edit_window=WINDOW), during=during, limit=240)
    assert run.result.ok, run.result.error
    sessions = [generation.session_id for generation in run.result.generations]
    assert len(sessions) == len(moments) + 1
    texts = [path.read_text(encoding="utf-8"), *[each.read_text(encoding="utf-8") for each in archived(workspace)]]
    late = 0
    for moment, generation in zip(moments, run.result.generations, strict=False):
        told = [last_of(model, session).all_text().count(moment.mark) for session in sessions]
        assert sum(told) == 1, (moment, told, run.phases("edit"))
        in_prompt = moment.mark in opening_of(model, sessions[moment.number]).all_text()
        assert in_prompt == generation.edited, moment
        late += not in_prompt
        assert any(moment.mark in each for each in texts), moment
    assert [event.payload["delivered"] for event in run.of("edit", "late")] == [True] * late
