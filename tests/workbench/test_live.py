"""live/: the state of a step, what happened, its draft and its inbox."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from flower_mcp.core.books import DocumentState, Generation, LiveStep, State, StepResult, Supervisor, as_json
from flower_mcp.workbench import journal
from flower_mcp.workbench.files import create
from flower_mcp.workbench.inbox import Asks, Message
from flower_mcp.workbench.live import Live

forkserver = multiprocessing.get_context("forkserver")
forkserver.set_forkserver_preload(["flower_mcp.workbench.workbench", "flower_mcp.core.masking", "pytest"])
SECRET = "ghp_" + "a1B2" * 9


def live_step(step: str = "work", state: State = State.WORKING, **row: object) -> LiveStep:
    return LiveStep(step, state, StepResult(run="r1", step=step, **row))  # type: ignore[arg-type]


def append_lines(folder: Path, name: str) -> None:
    live = Live(folder)
    for n in range(50):
        live.append([{"name": name, "n": n, "text": "x" * 3000}])


@pytest.fixture
def live(tmp_path: Path) -> Live:
    return Live(tmp_path / "home" / "live", home=tmp_path / "home", archive=tmp_path / "home" / "archive")


def test_a_state_reads_back_as_it_was_written(live: Live) -> None:
    full = LiveStep(
        "设计/1",
        State.EDITING,
        StepResult(run="r1", step="设计/1", generations=(Generation(1, "s1", cost_usd=0.5),), retired=("s0",)),
        document=DocumentState("p", "abc", complete=False, missing=("next",), sections={"doing": 3}),
        supervisor=Supervisor(1, "here", "2026-11-29T16:05:12.123456Z"),
    )

    with live.run_lock("设计/1"):
        live.write(full)
        assert live.read("设计/1") == full
        assert live.read("设计/1", owner=True) == full

    assert live.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in live.folder.iterdir()} == {0o600}
    assert (live.home / ".gitignore").read_text() == "*\n"


def test_a_step_that_nobody_runs_any_more_is_lost(live: Live) -> None:
    live.write(live_step())

    read, owned = live.read("work"), live.read("work", owner=True)

    assert read is not None
    assert read.state is State.LOST
    assert owned is not None
    assert owned.state is State.WORKING


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.STOPPED, State.IDLE])
def test_a_step_that_ended_or_never_began_is_not_lost(state: State, live: Live) -> None:
    live.write(live_step(state=state))

    read = live.read("work")

    assert read is not None
    assert read.state is state


def test_a_step_that_ends_between_two_looks_is_not_lost(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.write(live_step())

    def end_now(_path: Path) -> bool:
        live.write(live_step(state=State.DONE))
        return False

    monkeypatch.setattr("flower_mcp.workbench.live.is_held", end_now)
    read = live.read("work")

    assert read is not None
    assert read.state is State.DONE


def write_often(folder: Path) -> None:
    for n in range(100):
        Live(folder).write(live_step(text="some words\n" * 5_000, num_turns=n, state=State.DONE))


def test_a_reader_at_any_instant_finds_a_whole_state(tmp_path: Path) -> None:
    told: list[str] = []
    live = Live(tmp_path, say=told.append)
    live.write(live_step(state=State.DONE))
    process = forkserver.Process(target=write_often, args=(tmp_path,))
    process.start()
    seen = set()
    while process.is_alive():
        read = live.read("work")
        assert read is not None
        seen.add(read.row.num_turns)
    process.join()

    assert process.exitcode == 0
    assert len(seen) > 5
    assert told == []


def test_reading_touches_nothing(live: Live) -> None:
    assert live.read("work") is None
    assert live.read_draft("work") is None
    assert live.take("work") == ()
    assert live.tail(3) == ()
    assert live.steps() == ()
    assert not live.remove_draft("work")
    assert not live.home.exists()


@pytest.mark.parametrize("broken", [b"", b"[]", b'{"step": "work"', b'{"step": "work", "state": "odd", "row": {}}'])
def test_a_broken_state_is_set_aside_and_told(broken: bytes, tmp_path: Path) -> None:
    told: list[str] = []
    live = Live(tmp_path, say=told.append)
    (tmp_path / "work.json").write_bytes(broken)

    assert live.read("work") is None
    assert live.read("work") is None

    assert [path.read_bytes() for path in tmp_path.glob("work.json.broken-*")] == [broken]
    assert len(told) == 1


def test_a_running_steps_file_is_not_taken_away_from_its_supervisor(tmp_path: Path) -> None:
    live = Live(tmp_path)
    (tmp_path / "work.json").write_bytes(b"broken")

    with live.run_lock("work"):
        assert live.read("work") is None
        assert (tmp_path / "work.json").exists()
        assert live.read("work", owner=True) is None
        assert not (tmp_path / "work.json").exists()


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    told: list[str] = []
    live = Live(tmp_path, say=told.append)
    (tmp_path / "work.json").write_text(json.dumps({**as_json(live_step()), "v": 99, "unheard_of": 1}))

    assert live.read("work") is None

    assert (tmp_path / "work.json").exists()
    assert "newer" in told[0]


def test_steps_are_listed_by_their_true_names_newest_first(live: Live) -> None:
    for n, step in enumerate(("a", "B/b", "设计")):
        live.write(live_step(step))
        path = next(path for path in live.folder.glob("*.json") if json.loads(path.read_text())["step"] == step)
        os.utime(path, (1000 + n, 1000 + n))
    (live.folder / "broken.json").write_text("{")
    (live.folder / "other.json").write_text('{"step": "a"}')

    assert live.steps() == ("设计", "B/b", "a")


def test_secrets_in_state_events_and_drafts_are_masked(live: Live) -> None:
    live.write(live_step(text=f"key {SECRET}"))
    live.append([{"kind": "tool", "input": {"command": ["export", f"A={SECRET}"]}}])
    draft = live.write_draft("work", f"use {SECRET}\0")

    assert draft.masked == 1
    for path in live.folder.iterdir():
        assert SECRET.encode() not in path.read_bytes()


def test_events_of_many_processes_stay_whole_lines(tmp_path: Path) -> None:
    processes = [forkserver.Process(target=append_lines, args=(tmp_path, f"p{n}")) for n in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    events = Live(tmp_path).tail(1000)

    assert sorted((event["name"], event["n"]) for event in events) == [
        (f"p{p}", n) for p in range(4) for n in range(50)
    ]
    assert [event["n"] for event in events if event["name"] == "p0"] == list(range(50))


def test_a_torn_line_of_a_killed_writer_costs_no_other_line(tmp_path: Path) -> None:
    live = Live(tmp_path)
    live.append([{"n": 1}, {"n": 2}])
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b'{"n": 3, "te')
    assert live.tail(5) == ({"n": 1}, {"n": 2})

    live.append([{"n": 4}])

    assert live.tail(2) == ({"n": 2}, {"n": 4})
    assert (tmp_path / "events.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_hole_behind_the_last_events_is_not_read_to_its_beginning(tmp_path: Path) -> None:
    live = Live(tmp_path / "live")
    live.append([{"n": 1}])
    with live.events_path.open("r+b") as file:
        file.truncate(2 * journal.MOST)  # as a loss of power may leave it
    live.append([{"n": 2}, {"n": 3}])

    assert live.tail(5) == ({"n": 2}, {"n": 3})


def test_a_replaced_draft_is_kept_in_the_archive(live: Live) -> None:
    first = live.write_draft("work", "first")
    second = live.write_draft("work", "second")

    read = live.read_draft("work")

    assert read is not None
    assert (read.text, read.revision) == ("second", second.revision)
    assert live.archive is not None
    assert [path.read_text() for path in live.archive.glob("work-*.md")] == ["first"]
    assert not live.remove_draft("work", first.revision)
    assert live.remove_draft("work", second.revision)
    assert live.read_draft("work") is None


def test_without_an_archive_a_draft_is_replaced(tmp_path: Path) -> None:
    live = Live(tmp_path / "live", home=tmp_path)
    live.write_draft("work", "first")
    live.write_draft("work", "second")

    draft = live.read_draft("work")

    assert draft is not None
    assert draft.text == "second"


def test_messages_come_in_the_order_in_which_they_were_left(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1000.0, 1000.0, 900.0, 1000.0])
    monkeypatch.setattr("flower_mcp.workbench.inbox.time.time", lambda: next(clock))
    messages = tuple(Message("2026-11-29T16:05:12.123456Z", "me", Asks.SAY, str(n)) for n in range(4))
    for message in messages:
        live.put("work", message)

    assert live.take("work") == messages
    assert live.take("work") == ()


@pytest.mark.parametrize(
    "name", ["20261345T120000.000000Z", "20260101T996000.000000Z", "00000101T000000.000000Z", "99991231T235959.999999Z"]
)
def test_a_file_whose_name_is_no_moment_is_in_nobodys_way(name: str, live: Live) -> None:
    first = live.put("work", Message("", "me", Asks.SAY, "one"))
    (first.parent / f"{name}.json").write_text('{"kind": "stop"}')
    live.put("work", Message("", "me", Asks.SAY, "two"))

    assert [one.message.text for one in live.waiting("work")] == ["one", "two"]
    assert all(one.at for one in live.waiting("work"))


def test_a_message_is_removed_only_when_it_is_recorded(live: Live) -> None:
    for kind in (Asks.SAY, Asks.HANDOFF, Asks.STOP):
        live.put("work", Message("", "me", kind, f"a secret {SECRET}"))
    seen: list[Message] = []

    def record(message: Message) -> None:
        if len(seen) == 1:
            raise RuntimeError("killed")
        seen.append(message)

    with pytest.raises(RuntimeError):
        live.take("work", record)

    rest = live.take("work")
    assert [message.kind for message in (*seen, *rest)] == [Asks.SAY, Asks.HANDOFF, Asks.STOP]
    assert rest[0].text == f"a secret {SECRET}"


def test_a_message_that_cannot_be_read_is_kept_and_told(tmp_path: Path) -> None:
    told: list[str] = []
    live = Live(tmp_path, say=told.append)
    path = live.put("work", Message("", "me", Asks.SAY, "hello"))
    path.unlink()
    create(path, b'{"kind": "dance", "text": "words"}')
    live.put("work", Message("", "me", Asks.STOP))

    assert [message.kind for message in live.take("work")] == [Asks.STOP]

    assert len(told) == 1
    assert [kept.read_bytes() for kept in path.parent.iterdir()] == [b'{"kind": "dance", "text": "words"}']
