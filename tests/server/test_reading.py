"""read_handoff: pages, whose account it is, earlier generations."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flower_mcp import Workbench
from flower_mcp.core.books import Generation, State, WrittenBy
from flower_mcp.core.decode import decode
from flower_mcp.server.pages import PAGE, age_text, page, tokens
from tests.server.helpers import ERAS, HANDOFF, answer, body_of, client, complaint, live_step, text_of

DOCUMENTS = sorted((Path(__file__).parent.parent / "data" / "documents").glob("*.md"))

pytestmark = pytest.mark.anyio
both_eras = pytest.mark.parametrize("era", ERAS)


@both_eras
async def test_a_document_is_markdown_without_structure(workbench: Workbench, era: str) -> None:
    frozen = workbench.freeze("work", HANDOFF)
    async with client(workbench, era) as connected:
        result = await answer(connected, "read_handoff")
        tools = {tool.name: tool for tool in (await connected.list_tools()).tools}
    assert result.structured_content is None
    assert tools["read_handoff"].output_schema is None
    assert body_of(result) == frozen.path.read_text()
    assert re.search(rf"revision {frozen.revision}, written \d+ seconds? ago; complete", text_of(result))
    assert "NEXT PAGE" not in text_of(result)


async def pages_of(workbench: Workbench, era: str) -> list[str]:
    """All pages, each fetched as the one before it says."""
    pages: list[str] = []
    following: dict[str, str] = {}
    async with client(workbench, era) as connected:
        while True:
            result = await answer(connected, "read_handoff", **following)
            assert tokens(text_of(result)) < 8_000
            pages.append(body_of(result))
            found = re.search(r'NEXT PAGE: call read_handoff again with .*offset "(\d+)"', text_of(result))
            if found is None:
                return pages
            following = {"offset": found[1]}


@pytest.mark.parametrize("era", ["auto"])
@pytest.mark.parametrize("name", [path.name for path in DOCUMENTS])
async def test_joined_pages_are_the_file_whatever_is_in_it(workbench: Workbench, era: str, name: str) -> None:
    data = (DOCUMENTS[0].parent / name).read_bytes()
    workbench.freeze("work", HANDOFF)
    workbench.documents.path("work").write_bytes(data)
    assert "".join(await pages_of(workbench, era)) == decode(data).text


@both_eras
async def test_a_long_chinese_document_has_more_pages_than_an_english_one(workbench: Workbench, era: str) -> None:
    workbench.freeze("work", HANDOFF)
    numbers = []
    for line in ("english words in a line of text\n", "一行中文的文字在这里,还有更多的文字\n"):
        workbench.documents.path("work").write_text("## Doing\n" + line * (60_000 // len(line)))
        pages = await pages_of(workbench, era)
        assert all(each.endswith("\n") for each in pages)
        numbers.append(len(pages))
    assert 1 < numbers[0] < numbers[1]


@given(text=st.text(alphabet="ab\n中🌷", max_size=400), limit=st.integers(2, 60))
@settings(max_examples=200, deadline=None)
def test_pages_cover_any_text_once_and_stay_within_their_limit(text: str, limit: int) -> None:
    at, pieces = 0, []
    while True:
        shown = page(text, at, limit)
        assert shown.start == at
        assert tokens(shown.text) <= limit + 1
        pieces.append(shown.text)
        at = shown.end
        if shown.is_last:
            break
        assert shown.text
    assert "".join(pieces) == text


def test_the_estimate_is_careful() -> None:
    assert tokens("word " * 1000) >= 1_600
    assert tokens("中" * 30_000) >= 30_000
    assert PAGE + 300 < 8_000


@both_eras
@pytest.mark.parametrize("offset", ["-1", "x", "1.5", "99999999999", "１"])
async def test_an_offset_that_is_none_is_refused(workbench: Workbench, era: str, offset: str) -> None:
    workbench.freeze("work", HANDOFF)
    async with client(workbench, era) as connected:
        assert "offset" in await complaint(connected, "read_handoff", offset=offset)


@both_eras
async def test_numbers_may_be_numbers(workbench: Workbench, era: str) -> None:
    workbench.freeze("work", HANDOFF)
    async with client(workbench, era) as connected:
        whole = body_of(await answer(connected, "read_handoff"))
        assert body_of(await answer(connected, "read_handoff", offset=5)) == whole[5:]
        assert "offset" in await complaint(connected, "read_handoff", offset=len(whole))
        assert "generation" in await complaint(connected, "read_handoff", generation=0)


@both_eras
async def test_the_header_says_whose_account_it_is(workbench: Workbench, era: str) -> None:
    frozen = workbench.freeze("work", HANDOFF)
    generations = (
        Generation(1, "session-one", frozen="0" * 12, launched="0" * 12),
        Generation(2, "session-two", frozen=frozen.revision, written_by=WrittenBy.SESSION),
    )
    workbench.lives.write(live_step("work", State.DONE, *generations))
    async with client(workbench, era) as connected:
        header = text_of(await answer(connected, "read_handoff")).split("# 交接")[0]
        assert "the account of generation 2 (session session-two), as it was left" in header
        workbench.edit("work", "next", "Mine.")
        header = text_of(await answer(connected, "read_handoff")).split("# 交接")[0]
        assert "newer than the account of generation 2" in header
        assert "a person" in header
        os.utime(workbench.documents.path("work"), (time.time() - 7_300,) * 2)
        assert "written 2 hours ago" in text_of(await answer(connected, "read_handoff"))


@both_eras
async def test_an_incomplete_document_is_marked(workbench: Workbench, era: str) -> None:
    workbench.freeze("work", "## Doing\n\nx\n")
    async with client(workbench, era) as connected:
        assert "without next" in text_of(await answer(connected, "read_handoff"))


@both_eras
async def test_a_generation_s_document_is_what_its_successor_was_given(workbench: Workbench, era: str) -> None:
    frozen = workbench.freeze("work", HANDOFF)
    launched = workbench.edit("work", "next", "A person's words.")
    workbench.freeze("work", "## Doing\n\nlater\n\n## Next\n\nlater\n")
    last = workbench.edit("work", "next", "last of all")
    first = Generation(1, "one", frozen=frozen.revision, launched=launched.revision)
    workbench.lives.write(live_step("work", State.DONE, first, Generation(2, "two", frozen="f" * 12)))
    async with client(workbench, era) as connected:
        result = await answer(connected, "read_handoff", generation="1")
        assert body_of(result) == launched.text
        assert "generation 1 (session one), as the session after it was given it" in text_of(result)
        assert body_of(await answer(connected, "read_handoff", generation=2)) == last.text
        said = await complaint(connected, "read_handoff", generation="3")
        assert "they know 1, 2" in said
        workbench.lives.write(live_step("work", State.DONE, Generation(1, "one", frozen="e" * 12, launched="e" * 12)))
        assert "not on disk any more" in await complaint(connected, "read_handoff", generation="1")


@both_eras
async def test_a_document_that_vanished_is_an_error_and_the_server_lives_on(workbench: Workbench, era: str) -> None:
    frozen = workbench.freeze("work", HANDOFF)
    workbench.lives.write(live_step())
    async with client(workbench, era) as connected:
        await answer(connected, "read_handoff")
        frozen.path.unlink()
        assert "no document" in await complaint(connected, "read_handoff")
        frozen.path.mkdir()
        assert "is not a file" in await complaint(connected, "read_handoff")
        frozen.path.rmdir()
        frozen.path.symlink_to("/etc/hostname")
        assert "link" in await complaint(connected, "read_handoff")
        frozen.path.unlink()
        await answer(connected, "write_handoff", doing="a", next="b")
        await answer(connected, "read_handoff")


@both_eras
async def test_a_changed_document_is_read_anew_at_once(workbench: Workbench, era: str) -> None:
    path = workbench.freeze("work", HANDOFF).path
    async with client(workbench, era) as connected:
        for number in range(20):
            path.write_text(f"## Doing\n\nround {number:02}\n\n## Next\n\nx\n")
            assert f"round {number:02}" in body_of(await answer(connected, "read_handoff"))


@both_eras
async def test_a_change_that_leaves_size_and_time_as_they_were_is_read_while_the_file_is_young(
    workbench: Workbench, era: str
) -> None:
    path = workbench.freeze("work", HANDOFF).path
    young = time.time_ns() + 10**10
    async with client(workbench, era) as connected:
        for word in ("one", "two", "six"):
            path.write_text(f"## Doing\n\n{word}\n\n## Next\n\nx\n")
            os.utime(path, ns=(young, young))
            assert word in body_of(await answer(connected, "read_handoff"))


@both_eras
async def test_a_draft_that_waits_is_named_when_there_is_no_document(workbench: Workbench, era: str) -> None:
    with workbench.run_lock("work"):
        workbench.lives.write(live_step())
        draft = workbench.lives.write_draft("work", HANDOFF.to_markdown())
        async with client(workbench, era) as connected:
            assert str(draft.path) in await complaint(connected, "read_handoff")


def test_ages_are_for_people() -> None:
    assert [age_text(seconds) for seconds in (-1, 5, 119, 120, 7_200, 200_000)] == [
        "0 seconds ago",
        "5 seconds ago",
        "119 seconds ago",
        "2 minutes ago",
        "2 hours ago",
        "2 days ago",
    ]
