"""What was given of a document, and what is kept of interactive sessions: marks on a real disk."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.core.errors import FilesError
from flower_mcp.workbench.sessions import LASTS, Noted, Sessions
from flower_mcp.workbench.taken import Taken

REVISION, OTHER = "0123456789ab", "ba9876543210"


@pytest.fixture
def taken(tmp_path: Path) -> Taken:
    return Workbench(tmp_path).taken


def test_nothing_is_made_by_looking(taken: Taken, tmp_path: Path) -> None:
    assert taken.read("work") == ""
    assert not (tmp_path / ".flower").exists()


def test_a_revision_can_be_claimed_once_and_the_next_one_again(taken: Taken, tmp_path: Path) -> None:
    assert taken.claim("work", REVISION)
    assert not taken.claim("work", REVISION)
    assert taken.claim("other", REVISION)
    taken.mark("work", OTHER)
    assert taken.read("work") == OTHER
    assert not taken.claim("work", OTHER)
    assert (tmp_path / ".flower" / "live" / "work.taken").read_bytes() == f"{OTHER}\n".encode()


def test_of_many_that_claim_at_once_one_gets_it(tmp_path: Path) -> None:
    program = (
        "import sys; from flower_mcp import Workbench; from flower_mcp.core.errors import LockTimeout\n"
        "taken = Workbench(sys.argv[1]).taken; sys.stdin.read()\n"
        "while True:\n"
        "    try: print(taken.claim('work', 'a' * 12)); break\n"
        "    except LockTimeout: pass\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    got = []
    for process in processes:
        assert process.stdout is not None
        with process.stdout as stdout:
            got.append(stdout.read().strip())
        process.wait(30)
    assert sorted(got) == ["False"] * 3 + ["True"]


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"a b", b"x" * 5_000, "交接".encode() * 3], ids=range(5))
def test_a_mark_that_says_nothing_legible_is_none(taken: Taken, tmp_path: Path, data: bytes) -> None:
    taken.mark("work", REVISION)
    (tmp_path / ".flower" / "live" / "work.taken").write_bytes(data)
    assert taken.read("work") == ""


def test_no_link_is_followed(taken: Taken, tmp_path: Path) -> None:
    taken.mark("other", REVISION)
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    (tmp_path / ".flower" / "live" / "work.taken").symlink_to(outside)
    with pytest.raises(FilesError):
        taken.mark("work", REVISION)
    assert outside.read_text() == "theirs"


def test_a_notice_is_said_once_a_session(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    assert not sessions.is_said("one")
    assert sessions.say("one")
    assert sessions.is_said("one")
    assert not sessions.say("one")
    assert sessions.say("two")


@pytest.mark.parametrize("session_id", ["", "../up", "a/b", ".", "x" * 101, "一"])
def test_an_id_that_is_no_plain_name_is_never_kept_and_gets_no_notice(tmp_path: Path, session_id: str) -> None:
    sessions = Sessions(tmp_path / "state")
    assert sessions.is_said(session_id)
    assert not sessions.say(session_id)
    sessions.note(session_id, Noted(1, 1))
    assert sessions.noted(session_id) == Noted()
    assert not (tmp_path / "state").exists()


def test_what_the_status_line_told_is_kept_and_garbage_counts_for_nothing(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    sessions.note("one", Noted(200_000, 5_000))
    assert sessions.noted("one") == Noted(200_000, 5_000)
    for garbage in (b"{", b"[1]", b'{"window": "many", "context": true}', b"[" * 100_000):
        (tmp_path / "sessions" / "one.json").write_bytes(garbage)
        assert sessions.noted("one") == Noted()


def test_where_nothing_can_be_kept_nothing_is_said_and_nothing_raised(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("a file")
    sessions = Sessions(tmp_path)
    assert not sessions.say("one")
    sessions.note("one", Noted(1, 1))
    sessions.clean()
    assert (tmp_path / "sessions").read_text() == "a file"


def test_old_marks_are_removed_and_nothing_else(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    for name in ("old", "new"):
        sessions.say(name)
        sessions.note(name, Noted(1, 1))
    kept = tmp_path / "sessions" / "old.txt"
    kept.write_text("somebody's")
    past = time.time() - LASTS - 60
    for path in (tmp_path / "sessions").glob("old*"):
        os.utime(path, (past, past))
    sessions.clean()
    assert {path.name for path in (tmp_path / "sessions").iterdir()} == {"new.said", "new.json", "old.txt"}
