"""The documents as resources."""

from __future__ import annotations

import json

import pytest
from mcp import Client, MCPError
from mcp.types import TextResourceContents

from flower_mcp import Workbench
from flower_mcp.core.books import Generation, State
from flower_mcp.server.uris import document_uri
from tests.server.helpers import ERAS, HANDOFF, answer, client, live_step, value_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]

NAMES = ("work", "status", "移植 测试", "a/b", "100%", "..", "Work", "x?y#z")


async def read(connected: Client, uri: str) -> tuple[str, str]:
    """A resource's text and type."""
    (content,) = (await connected.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text, content.mime_type or ""


async def test_each_document_is_listed_and_can_be_read_whatever_its_step_is_called(
    workbench: Workbench, era: str
) -> None:
    for name in NAMES:
        workbench.freeze(name, HANDOFF)
        workbench.lives.write(live_step(name))
    async with client(workbench, era) as connected:
        listed = {each.uri: each for each in (await connected.list_resources()).resources}
        assert len(listed) == len(NAMES) + 1
        for name in NAMES:
            document = workbench.read(name)
            assert document is not None
            entry = listed[document_uri(name)]
            assert (entry.mime_type, entry.size, entry.name) == ("text/markdown", len(document.data), name)
            assert await read(connected, entry.uri) == (document.text, "text/markdown")


async def test_the_overview_is_what_the_tool_gives(workbench: Workbench, era: str) -> None:
    workbench.freeze("work", HANDOFF)
    async with client(workbench, era) as connected:
        text, kind = await read(connected, "handoff://status")
        assert kind == "application/json"
        assert json.loads(text) == value_of(await answer(connected, "handoff_status"))


async def test_generations_are_listed_and_read_as_they_were_launched(workbench: Workbench, era: str) -> None:
    frozen = workbench.freeze("work", HANDOFF)
    launched = workbench.edit("work", "next", "A person's.")
    workbench.freeze("work", "## Doing\n\nx\n\n## Next\n\ny\n")
    generation = Generation(1, "one", frozen=frozen.revision, launched=launched.revision)
    workbench.lives.write(live_step("work", State.DONE, generation))
    async with client(workbench, era) as connected:
        assert "handoff://work/1" in {each.uri for each in (await connected.list_resources()).resources}
        assert await read(connected, "handoff://work/1") == (launched.text, "text/markdown")


async def test_templates_tell_how_to_name_the_others(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        templates = (await connected.list_resource_templates()).resource_templates
    assert [each.uri_template for each in templates] == ["handoff://{step}", "handoff://{step}/{generation}"]


@pytest.mark.parametrize(
    "uri", ["handoff://nope", "handoff://work/7", "handoff://work/x", "handoff://", "handoff://%00", "other://work"]
)
async def test_what_is_not_there_is_unknown(workbench: Workbench, era: str, uri: str) -> None:
    workbench.freeze("work", HANDOFF)
    async with client(workbench, era) as connected:
        with pytest.raises(MCPError) as caught:
            await connected.read_resource(uri)
        assert caught.value.code == -32602
        assert caught.value.data == {"uri": uri}


async def test_a_document_that_vanishes_between_list_and_read_is_unknown(workbench: Workbench, era: str) -> None:
    frozen = workbench.freeze("work", HANDOFF)
    async with client(workbench, era) as connected:
        (uri,) = [each.uri for each in (await connected.list_resources()).resources if "status" not in each.uri]
        frozen.path.unlink()
        with pytest.raises(MCPError) as caught:
            await connected.read_resource(uri)
        assert caught.value.code == -32602
        frozen.path.write_bytes(bytes(range(128, 256)))
        with pytest.raises(MCPError, match="not a text file"):
            await connected.read_resource(uri)
