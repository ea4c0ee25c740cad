"""A save at any moment around a handoff is accounted for exactly once: in the prompt, or as a late edit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime, Workbench
from flower_mcp.demo.model import ScriptedModel, Story, each_session, text
from tests.e2e.editing import NEXT, Person, last_of, opening_of, pause
from tests.e2e.steps import DOCUMENT, archived, bash, document_path, is_asked, policy, run_step

pytestmark = [pytest.mark.e2e, pytest.mark.anyio, pytest.mark.slow]

# The handoff turn takes 2 s where a save comes before the freeze; the window 0.5 s; the successor works for 2.4 s.
MOMENTS = [
    *[("writing", later) for later in (0.0, 0.9, 1.8, 1.95, 2.0, 2.05)],
    *[("done", later) for later in (0.0, 0.2, 0.45, 0.5, 0.6)],
    *[("closed", later) for later in (0.0, 0.05, 0.15, 0.3)],
    *[("launched", later) for later in (0.0, 0.4, 1.0, 1.9)],
]


@pytest.fixture
def person() -> Iterator[Person]:
    """A person; what went wrong for him fails the test."""
    one = Person()
    yield one
    one.close()


@pytest.mark.parametrize(("moment", "later"), MOMENTS)
async def test_a_save_at_any_moment_is_accounted_for_exactly_once(
    model: ScriptedModel, workspace: Path, person: Person, moment: str, later: float
) -> None:
    writing = text(DOCUMENT).at(156_000).but(delay=2.0 if moment == "writing" else 0.0)
    first = Story([bash("echo one").at(40_000), bash("echo two").at(155_000)], branches=[(is_asked, writing)])
    rest = Story([*[bash("sleep 0.4; echo on").at(30_000 + each) for each in range(6)], text("Done.").at(31_000)])
    model.script = each_session(first, rest)
    Workbench(workspace).freeze("work", DOCUMENT.replace("3 of 7", "2 of 7"))
    path = document_path(workspace)
    mark = f"MARK-{os.urandom(4).hex()}"

    def save() -> None:
        path.write_text(path.read_text(encoding="utf-8").replace(NEXT, f"{mark} first"), encoding="utf-8")

    def during(_runtime: Runtime, event: Event) -> None:
        if event.payload.get("phase") == moment and not person.threads:
            person.does(pause(later), save)

    run = await run_step(workspace, handoff=policy(edit_window=0.5), during=during)
    assert run.result.ok, run.result.error
    sessions = [generation.session_id for generation in run.result.generations]
    told = [last_of(model, session).all_text().count(mark) for session in sessions]
    assert sum(told) == 1, (told, run.phases("edit"))
    in_prompt = mark in opening_of(model, sessions[1]).all_text()
    assert in_prompt == run.result.generations[0].edited
    late = run.of("edit", "late")
    assert len(late) == (0 if in_prompt else 1)
    assert all(event.payload["delivered"] for event in late)
    texts = [path.read_text(encoding="utf-8"), *[each.read_text(encoding="utf-8") for each in archived(workspace)]]
    assert any(mark in each for each in texts)
