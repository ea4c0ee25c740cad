"""A document that was not written on this machine is shown with a mark, and nobody takes over from it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from mcp import MCPError

from flower_mcp import Workbench
from flower_mcp.core.books import Generation, State
from flower_mcp.server.uris import document_uri, generation_uri
from tests.server.helpers import ERAS, HANDOFF, answer, body_of, client, complaint, live_step, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]
MARK = "NOT FROM THIS MACHINE"


@pytest.fixture
def cloned(workbench: Workbench, tmp_path: Path) -> Workbench:
    """A workbench with a document and words that nobody knows here."""
    workbench.freeze("work", HANDOFF)
    workbench.tasks.start("work", "Send the keys.")
    shutil.rmtree(tmp_path / "state")
    return workbench


async def test_it_is_shown_whole_and_marked(cloned: Workbench, era: str) -> None:
    document = cloned.documents.path("work").read_text()
    async with client(cloned, era) as connected:
        result = await answer(connected, "read_handoff")
        (resource,) = (await connected.read_resource(document_uri("work"))).contents
    assert MARK in text_of(result)
    assert "flower trust work" in text_of(result)
    assert body_of(result) == document
    shown = resource.model_dump()["text"]
    assert shown.startswith(MARK)
    assert shown.endswith(document)


async def test_a_named_generation_s_document_is_marked_like_the_current_one(cloned: Workbench, era: str) -> None:
    """In the archive and in its place alike; one that was frozen here is not marked, though the step is unknown."""
    old = cloned.documents.path("work")
    replaced = old.read_text()
    first = cloned.read("work")
    second = cloned.freeze("work", HANDOFF.doing + "\n\n## 下一步 · Next\n\nOurs.")
    assert first is not None
    generations = (Generation(1, "s1", frozen=first.revision), Generation(2, "s2", frozen=second.revision))
    cloned.lives.write(live_step("work", State.DONE, *generations))
    async with client(cloned, era) as connected:
        result = await answer(connected, "read_handoff", generation="1")
        assert MARK in text_of(result)
        assert "the account of generation" not in text_of(result)
        assert body_of(result) == replaced
        (resource,) = (await connected.read_resource(generation_uri("work", 1))).contents
        assert resource.model_dump()["text"].startswith(MARK)
        assert resource.model_dump()["text"].endswith(replaced)
        assert MARK not in text_of(await answer(connected, "read_handoff", generation="2"))
        (resource,) = (await connected.read_resource(generation_uri("work", 2))).contents
        assert MARK not in resource.model_dump()["text"]


async def test_a_section_that_an_error_repeats_is_marked(cloned: Workbench, era: str) -> None:
    async with client(cloned, era) as connected:
        said = await complaint(connected, "edit_section", section="next", text="Go on.", expected_revision="0" * 12)
        assert HANDOFF.next in said
        assert MARK in said
        cloned.known.remember(cloned.workspace, "work")
        said = await complaint(connected, "edit_section", section="next", text="Go on.", expected_revision="0" * 12)
        assert HANDOFF.next in said
        assert MARK not in said


async def test_nobody_takes_over_from_it(cloned: Workbench, era: str) -> None:
    async with client(cloned, era) as connected:
        with pytest.raises(MCPError, match=r"was not written on this machine.*flower trust work"):
            await connected.get_prompt("TAKEOVER_PROMPT", {"step": "work"})
        cloned.known.remember(cloned.workspace, "work")
        message = (await connected.get_prompt("TAKEOVER_PROMPT", {"step": "work"})).messages[0]
        assert MARK not in text_of(await answer(connected, "read_handoff"))
    assert HANDOFF.doing in message.content.model_dump()["text"]


async def test_an_edit_does_not_make_it_known_and_a_new_document_is(cloned: Workbench, era: str) -> None:
    async with client(cloned, era) as connected:
        await answer(connected, "edit_section", section="next", text="Go on.")
        assert MARK in text_of(await answer(connected, "read_handoff"))
        await answer(connected, "write_handoff", doing="Mine.", next="Mine too.")
        assert MARK not in text_of(await answer(connected, "read_handoff"))
        message = (await connected.get_prompt("TAKEOVER_PROMPT", {"step": "work"})).messages[0]
    assert "Send the keys." not in message.content.model_dump()["text"]
