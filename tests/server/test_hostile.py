"""What clients, editors and other programs do to a server that nobody meant them to."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp import Workbench
from flower_mcp.server.wire import mended
from flower_mcp.workbench.swap import swap_if
from tests.e2e.harness import wait_until
from tests.examples import examples
from tests.server.helpers import HANDOFF, TOOLS, answer, body_of, client, complaint, live_step, snapshot, value_of
from tests.server.processes import Process, started

AT_ONCE = examples(400, 1_000)
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("write_handoff", {"doing": "a", "next": "b"}),
    ("read_handoff", {}),
    ("edit_section", {"section": "next", "text": "c"}),
    ("handoff_status", {}),
]
HALVES = st.characters(categories=["Cs"])
anyio = pytest.mark.anyio


def results(server: Process, since: int) -> list[dict[str, Any]]:
    """The results among the lines after the first `since`."""
    return [message["result"] for line in server.lines[since:] if "result" in (message := json.loads(line))]


def revisions(workbench: Workbench) -> set[str]:
    """All versions of the step that are on disk."""
    document = workbench.read("work")
    assert document is not None
    return {document.revision, *(version.revision() for version in workbench.history("work"))}


def is_written(result: dict[str, Any]) -> bool:
    """Whether a result tells of a document that was written."""
    return "revision" in result.get("structuredContent", {})


def test_hundreds_of_calls_at_once_are_all_answered(workspace: Path) -> None:
    workbench = Workbench(workspace)
    workbench.freeze("work", HANDOFF)
    with started(workspace) as server:
        server.request("tools/list")
        before = len(server.lines)
        for number in range(AT_ONCE):
            tool, arguments = CALLS[number % len(CALLS)]
            server.send("tools/call", name=tool, arguments=arguments)
        wait_until(lambda: len(server.lines) - before >= AT_ONCE, 60, "every call to be answered")
        answers = results(server, before)
        assert len(answers) == AT_ONCE
        assert not [answer for answer in answers if answer.get("isError")]
    assert {answer["structuredContent"]["revision"] for answer in answers if is_written(answer)} <= revisions(workbench)


def test_writers_behind_a_lock_that_is_never_given_back_are_refused_together_and_hold_up_nobody(
    workspace: Path,
) -> None:
    workbench = Workbench(workspace)
    workbench.freeze("work", HANDOFF)
    with (workbench.lives.folder / "work.write").open("w") as held, started(workspace) as server:
        fcntl.flock(held, fcntl.LOCK_EX)
        server.request("tools/list")
        before, began = len(server.lines), time.monotonic()
        for _ in range(100):
            server.send("tools/call", name="write_handoff", arguments={"doing": "a", "next": "b"})
        assert not server.call("handoff_status").get("isError")
        assert server.call("read_handoff")["content"]
        assert time.monotonic() - began < 4  # the writers wait for 5
        wait_until(lambda: len(server.lines) - before == 102, 20, "the writers to be answered")
        assert time.monotonic() - began < 10
        refused = [answer for answer in results(server, before) if answer.get("isError")]
        assert len(refused) == 100
        assert all("Another program has been writing" in each["content"][0]["text"] for each in refused)
        fcntl.flock(held, fcntl.LOCK_UN)
        assert not server.call("write_handoff", doing="a", next="b").get("isError")


def test_two_servers_that_write_lose_nothing(workspace: Path) -> None:
    told: list[str] = []

    def write(server: Process, name: str) -> None:
        for number in range(40):
            answered = server.call("write_handoff", doing=f"{name} {number}", next="b")
            told.append(answered["structuredContent"]["revision"])

    with started(workspace) as one, started(workspace) as other:
        writers = [threading.Thread(target=write, args=each) for each in ((one, "one"), (other, "other"))]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    assert len(set(told)) == 80
    assert set(told) <= revisions(Workbench(workspace))


def test_a_server_that_is_ended_in_the_middle_of_writing_has_what_it_told_on_disk(workspace: Path) -> None:
    workbench = Workbench(workspace)
    workbench.freeze("work", HANDOFF)
    for number in (1, 5, 20, 50):
        with started(workspace) as server:
            assert not server.call("write_handoff", doing="a", next="b").get("isError")  # also after the one before
            before = len(server.lines)
            for each in range(200):
                long = f"{number} {each} {'x' * 5_000}"
                server.send("tools/call", name="write_handoff", arguments={"doing": long, "next": "b"})
            wait_until(partial(has_answered, server, before + number), 30, "some writes")
            server.process.send_signal(signal.SIGTERM)
            assert server.ended_within(2) < 2
            told = {each["structuredContent"]["revision"] for each in results(server, before)}
        assert number <= len(told) < 200
        assert told <= revisions(workbench)
        document = workbench.read("work")
        assert document is not None
        assert document.handoff.complete()
    with started(workspace) as server:
        assert not server.call("write_handoff", doing="a", next="b").get("isError")


def has_answered(server: Process, lines: int) -> bool:
    """Whether so many lines have come."""
    return len(server.lines) >= lines


@pytest.mark.parametrize("how", ["end of stdin", "SIGTERM"])
def test_a_client_that_never_reads_does_not_keep_the_server_alive(workspace: Path, how: str) -> None:
    Workbench(workspace).freeze("work", "## Doing\n\n" + "x" * 20_000 + "\n\n## Next\n\ny\n")
    with started(workspace, reads=False) as server:
        for _ in range(100):
            server.send("tools/call", name="read_handoff", arguments={})
        assert server.process.stdout is not None
        first = os.read(server.process.stdout.fileno(), 1)  # it answers; the rest fills the pipe
        assert first == b"{"
        if how == "end of stdin":
            server.close()
        else:
            server.process.send_signal(signal.SIGTERM)
        assert server.ended_within(4) < 2


def test_half_a_character_is_answered_and_written_as_its_replacement(workspace: Path) -> None:
    with started(workspace) as server:
        assert not server.call("write_handoff", doing="cut \ud83d", next="whole \U0001f337").get("isError")
        text = server.call("read_handoff")["content"][1]["text"]
        assert "cut \ufffd\n" in text
        assert "whole \U0001f337\n" in text
        assert "no argument" in server.call("handoff_status", **{"\udfff": "x"})["content"][0]["text"]


@given(st.text(st.one_of(st.characters(exclude_categories=["Cs"]), HALVES, st.sampled_from('\\u"d8'))))
def test_mending_changes_halves_of_characters_and_nothing_else(text: str) -> None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for escaped in (True, False):
        line = json.dumps(whole, ensure_ascii=escaped)
        assert mended(line) == line
    found = json.loads(mended(json.dumps(text)))
    found.encode()
    assert found.replace("\ufffd", "") == "".join(sign for sign in joined(text) if sign not in "\ufffd")


def joined(text: str) -> str:
    """The text with neighbouring halves made one character, as JSON reads them, and the other halves gone."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def make_folder(path: Path) -> None:
    path.mkdir(parents=True)
    (path / "kept").write_text("by a person")


def make_pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


@anyio
@pytest.mark.parametrize("make", [make_folder, make_pipe])
async def test_what_is_no_file_in_a_document_s_place_is_named_and_stays(
    workbench: Workbench, make: Callable[[Path], None]
) -> None:
    path = workbench.documents.path("work")
    make(path)
    async with client(workbench) as connected:
        for tool, arguments in CALLS[:3]:
            assert f"{path} is not a file. Move it away." in await complaint(connected, tool, step="work", **arguments)
        assert f"{path} is not a file" in await complaint(connected, "handoff_status", step="work")
        assert value_of(await answer(connected, "handoff_status"))["more"] == [{"step": "work", "state": "idle"}]
    assert not path.is_file()
    assert not path.is_dir() or (path / "kept").read_text() == "by a person"


@anyio
@pytest.mark.parametrize("place", ["live/work.json", "live/work.write", "notes/archive", "live"])
async def test_a_folder_that_is_spoilt_is_named_and_nothing_is_lost(workbench: Workbench, place: str) -> None:
    path = workbench.folder / place
    path.parent.mkdir(parents=True)
    if place.startswith("live/"):
        make_folder(path)
    else:
        path.write_text("by a person")
    workbench.documents.path("work").parent.mkdir(exist_ok=True)
    workbench.documents.path("work").write_text(HANDOFF.to_markdown())
    before = snapshot(workbench.folder)
    async with client(workbench) as connected:
        for tool in TOOLS:
            result = await connected.call_tool(tool, dict(CALLS)[tool] | {"step": "work"})
            assert not result.is_error or str(path) in str(result.content[0])
        assert "work" in str((await answer(connected, "handoff_status")).content)
    after = snapshot(workbench.folder)
    assert {name for name in before if name not in after} == set()
    assert set(before.values()) <= set(after.values())


@anyio
async def test_a_step_that_cannot_be_read_hides_neither_the_others_nor_itself(workbench: Workbench) -> None:
    workbench.lives.write(live_step("good"))
    workbench.documents.path("bad").parent.mkdir(parents=True)
    workbench.documents.path("bad").symlink_to("/etc/hostname")
    async with client(workbench) as connected:
        status = value_of(await answer(connected, "handoff_status"))
        assert [step["step"] for step in status["steps"]] == ["good"]
        assert [step["step"] for step in status["more"]] == ["bad"]
        assert "is a link" in await complaint(connected, "handoff_status", step="bad")


@anyio
async def test_an_unknown_tool_is_refused_with_those_that_there_are(workbench: Workbench) -> None:
    async with client(workbench) as connected:
        told = await complaint(connected, "hand_off_status")
    assert all(tool in told for tool in TOOLS)


@anyio
async def test_an_edit_answers_what_it_wrote_and_not_what_a_person_saved_in_the_next_instant(
    workbench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbench.freeze("work", HANDOFF).path

    def then_a_person_saves(*arguments: Any) -> Any:
        done = swap_if(*arguments)
        path.write_text("## Doing\n\nby a person\n\n## Next\n\nx\n")
        return done

    monkeypatch.setattr("flower_mcp.workbench.documents.swap_if", then_a_person_saves)
    async with client(workbench) as connected:
        edited = value_of(await answer(connected, "edit_section", section="scene", text="ours"))
        assert edited["characters"]["scene"] == 4
        stale = await complaint(
            connected, "edit_section", section="next", text="x", expected_revision=edited["revision"]
        )
        assert f"not at revision '{edited['revision']}' any more" in stale
        assert "by a person" in body_of(await answer(connected, "read_handoff"))
