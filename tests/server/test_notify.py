"""An edit on disk reaches every connected client, whatever its era; our own writes are not told as a person's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import watchfiles
from mcp import Client, MCPDeprecationWarning
from mcp.client.subscriptions import ListenNotSupportedError, ResourcesListChanged, ResourceUpdated
from mcp.types import ResourceListChangedNotification, ResourceUpdatedNotification

from flower_mcp import Workbench
from flower_mcp.core.books import State
from flower_mcp.core.errors import Usage
from flower_mcp.server import watch
from flower_mcp.server.app import FlowerServer, build
from tests.server.helpers import ERAS, HANDOFF, answer, live_step

pytestmark = pytest.mark.anyio

LIMIT = 10.0
URI = "handoff://work"
UPDATED, LISTS = f"updated {URI}", "list changed"


class Heard:
    """What a client was told, in order."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._more = anyio.Event()

    def hear(self, note: str) -> None:
        """Take in one notice."""
        self.notes.append(note)
        self._more.set()
        self._more = anyio.Event()

    async def until(self, *wanted: str) -> None:
        """Wait until all of these have come."""
        with anyio.fail_after(LIMIT):
            while not set(wanted) <= set(self.notes):
                await self._more.wait()


@asynccontextmanager
async def listening(server: FlowerServer | str, era: str, *uris: str) -> AsyncIterator[tuple[Client, Heard]]:
    """A client that listens to these resources and to the list."""
    heard = Heard()

    async def on_message(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.hear(f"updated {message.params.uri}")
        elif isinstance(message, ResourceListChangedNotification):
            heard.hear(LISTS)

    if era == "legacy":
        async with Client(server, mode="legacy", message_handler=on_message) as client:
            for uri in uris:
                with pytest.warns(MCPDeprecationWarning):
                    await client.subscribe_resource(uri)
            yield client, heard
        return
    async with (
        Client(server) as client,
        client.listen(resource_subscriptions=list(uris), resources_list_changed=True) as stream,
        anyio.create_task_group() as group,
    ):

        async def pump() -> None:
            async for event in stream:
                if isinstance(event, ResourceUpdated):
                    heard.hear(f"updated {event.uri}")
                elif isinstance(event, ResourcesListChanged):
                    heard.hear(LISTS)

        group.start_soon(pump)
        yield client, heard
        group.cancel_scope.cancel()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("how", ["in place", "renamed over"])
async def test_a_person_s_edit_is_told_as_an_update_and_as_a_changed_list(
    workbench: Workbench, era: str, how: str
) -> None:
    path = workbench.freeze("work", HANDOFF).path
    async with listening(build(workbench), era, URI) as (_, heard):
        save(path, "## Doing\n\nedited\n", how)
        await heard.until(UPDATED, LISTS)
        heard.notes.clear()
        save(path, "## Doing\n\nedited again\n", how)
        await heard.until(UPDATED, LISTS)


def save(path: Path, text: str, how: str) -> None:
    """Save as editors do."""
    if how == "in place":
        path.write_text(text)
        return
    temporary = path.with_name("4913")
    temporary.write_text(text)
    temporary.replace(path)


@pytest.mark.parametrize("era", ERAS)
async def test_our_own_writes_are_told_once_and_not_as_a_changed_list(workbench: Workbench, era: str) -> None:
    path = workbench.freeze("work", HANDOFF).path
    async with listening(build(workbench), era, URI) as (client, heard):
        save(path, "## Doing\n\nx\n\n## Next\n\ny\n", "in place")
        await heard.until(UPDATED, LISTS)  # the watch stands
        heard.notes.clear()
        await answer(client, "edit_section", section="next", text="by the server")
        await answer(client, "write_handoff", doing="by the server", next="z")
        workbench.freeze("other", HANDOFF)  # somebody else's, told last
        await heard.until(LISTS)
    assert heard.notes == [UPDATED, UPDATED, LISTS]


@pytest.mark.parametrize("era", ERAS)
async def test_a_new_document_of_ours_changes_the_list(workbench: Workbench, era: str) -> None:
    async with listening(build(workbench), era, URI) as (client, heard):
        await answer(client, "write_handoff", doing="a", next="b")
        await heard.until(UPDATED, LISTS)


@pytest.mark.parametrize("era", ERAS)
async def test_a_document_that_is_removed_is_told(workbench: Workbench, era: str) -> None:
    path = workbench.freeze("work", HANDOFF).path
    async with listening(build(workbench), era, URI) as (_, heard):
        save(path, "## Doing\n\nx\n", "in place")
        await heard.until(UPDATED, LISTS)
        heard.notes.clear()
        path.unlink()
        await heard.until(UPDATED, LISTS)


@pytest.mark.parametrize("era", ERAS)
async def test_a_workbench_that_did_not_exist_is_watched_once_it_does(workbench: Workbench, era: str) -> None:
    async with listening(build(workbench), era, URI) as (_, heard):
        other = Workbench(workbench.workspace)
        path = other.freeze("work", HANDOFF).path
        await heard.until(UPDATED, LISTS)
        heard.notes.clear()
        save(path, "## Doing\n\nx\n", "in place")
        await heard.until(UPDATED, LISTS)


@pytest.mark.parametrize("era", ERAS)
async def test_what_a_step_does_is_told_to_whoever_listens_to_the_overview(workbench: Workbench, era: str) -> None:
    workbench.lives.write(live_step(state=State.WORKING))
    async with listening(build(workbench), era, "handoff://status") as (_, heard):
        workbench.lives.write(live_step(state=State.DONE))
        await heard.until("updated handoff://status")
        assert heard.notes == ["updated handoff://status"]


async def test_one_edit_reaches_all_clients_of_a_server(workbench: Workbench) -> None:
    path = workbench.freeze("work", HANDOFF).path
    server = build(workbench)
    async with (
        listening(server, "auto", URI) as (_, one),
        listening(server, "legacy", URI) as (_, two),
        listening(server, "auto", URI) as (_, three),
        listening(server, "legacy") as (_, four),
    ):
        save(path, "## Doing\n\nx\n", "in place")
        for heard in (one, two, three):
            await heard.until(UPDATED, LISTS)
            assert heard.notes.count(UPDATED) == 1
        await four.until(LISTS)
        assert UPDATED not in four.notes


async def test_an_older_client_that_unsubscribed_is_not_told(workbench: Workbench) -> None:
    path = workbench.freeze("work", HANDOFF).path
    async with listening(build(workbench), "legacy", URI) as (client, heard):
        assert client.server_capabilities.resources is not None
        assert client.server_capabilities.resources.subscribe is True
        assert client.server_capabilities.resources.list_changed is True
        with pytest.warns(MCPDeprecationWarning):
            await client.unsubscribe_resource(URI)
        save(path, "## Doing\n\nx\n", "in place")
        await heard.until(LISTS)
        assert heard.notes == [LISTS]
        with pytest.raises(ListenNotSupportedError):
            async with client.listen(resources_list_changed=True):
                pass


async def test_a_closed_connection_is_forgotten(workbench: Workbench) -> None:
    server = build(workbench, watch=False)
    async with listening(server, "legacy", URI):
        assert len(server.notifier._older) == 1
    assert server.notifier._older == {}
    await server.notifier.list_changed()


async def test_where_nothing_is_reported_the_folder_is_polled(
    workbench: Workbench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def limited(*_paths: Path, **_options: Any) -> Any:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(watchfiles, "awatch", limited)
    monkeypatch.setattr(watch, "_POLL", 0.05)
    path = workbench.freeze("work", HANDOFF).path
    async with listening(build(workbench), "auto", URI) as (_, heard):
        for number in range(3):
            save(path, f"## Doing\n\n{number}\n", "in place")
            await heard.until(UPDATED, LISTS)
            heard.notes.clear()
    assert caplog.text.count("cannot be watched") == 1


async def test_without_a_workspace_there_is_nothing_to_watch_until_there_is_one(
    workbench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_POLL", 0.05)
    there: list[Workbench] = []

    def open_workbench() -> Workbench:
        if not there:
            raise Usage("Nowhere.")
        return there[0]

    async with listening(build(open_workbench), "auto", URI) as (_, heard):
        workbench.freeze("work", HANDOFF)
        there.append(workbench)
        await heard.until(UPDATED, LISTS)
