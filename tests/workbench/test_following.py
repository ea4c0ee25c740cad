"""Following one document: what it says now, and that the version before is kept."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from flower_mcp import Handoff, Workbench
from flower_mcp.core.errors import Conflict
from flower_mcp.core.faults import FaultKind
from flower_mcp.workbench import following
from flower_mcp.workbench.files import revision
from flower_mcp.workbench.following import NOTHING, Follower, Seen

HANDOFF = Handoff(step="work", doing="Porting.", next="Run it.")


@pytest.fixture
def workbench(tmp_path: Path) -> Workbench:
    """A workbench with a document."""
    bench = Workbench(tmp_path)
    bench.freeze("work", HANDOFF)
    return bench


@pytest.fixture
def follower(workbench: Workbench) -> Follower:
    """Follows it, and has seen it."""
    one = Follower(workbench.documents, "work", pytest.fail)
    one.look()
    return one


def kept(workbench: Workbench) -> list[bytes]:
    return [version.data() for version in workbench.history("work")]


def test_a_version_that_an_editor_wrote_over_is_kept_once(workbench: Workbench, follower: Follower) -> None:
    first = follower.path.read_bytes()
    follower.path.write_bytes(first + b"more\n")
    assert follower.look().data == first + b"more\n"
    assert kept(workbench) == [first]
    follower.look(sure=True)
    assert kept(workbench) == [first]
    follower.path.write_bytes(first)
    follower.look()
    assert kept(workbench) == [first, first + b"more\n"]
    follower.path.write_bytes(b"third")
    follower.look()
    assert kept(workbench) == [first, first + b"more\n"]


def test_a_version_that_a_tool_swapped_out_is_not_kept_twice(workbench: Workbench, follower: Follower) -> None:
    first = follower.path.read_bytes()
    workbench.edit("work", "next", "Stop.")
    assert follower.look().handoff.next == "Stop."
    assert kept(workbench) == [first]


def test_a_change_of_equal_size_within_one_tick_of_the_clock_is_seen(follower: Follower) -> None:
    facts = follower.path.stat()
    changed = follower.path.read_bytes().replace(b"Run it.", b"Stop it")
    for _ in range(50):
        follower.path.write_bytes(changed)
        os.utime(follower.path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        assert follower.look().data == changed
        changed = (
            changed.replace(b"Stop it", b"Run it.")
            if b"Stop it" in changed
            else changed.replace(b"Run it.", b"Stop it")
        )


def test_a_fresh_file_is_read_again_although_its_facts_are_the_same(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel's clock ticks; two saves within one tick look alike."""
    now = time.time_ns()
    monkeypatch.setattr(follower, "_facts", lambda: (now, 1, 1, now))
    follower.look()
    follower.path.write_bytes(follower.path.read_bytes().replace(b"Run it.", b"Stop it"))
    assert follower.look().handoff.next == "Stop it"


def test_a_file_that_has_settled_is_not_read_again(follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_SETTLED", -1)
    follower.look()
    monkeypatch.setattr(following, "read_with_time", None)
    assert follower.look().handoff.next == "Run it."
    with pytest.raises(TypeError):
        follower.look(sure=True)


def test_no_file_and_one_that_cannot_be_read_say_why(follower: Follower) -> None:
    moved = follower.path.with_name("moved.md")
    follower.path.rename(moved)
    gone = follower.look()
    assert gone.absent is not None
    assert (gone.data, gone.revision, gone.absent.kind) == (None, "", FaultKind.DELETED)
    follower.path.symlink_to(moved)
    link = follower.look()
    assert link.absent is not None
    assert link.absent.kind is FaultKind.UNREADABLE
    assert "link" in link.absent.what
    follower.path.unlink()
    moved.rename(follower.path)
    assert follower.look().handoff.next == "Run it."


def test_an_earlier_version_is_put_back_only_in_place_of_the_one_that_was_meant(
    workbench: Workbench, follower: Follower
) -> None:
    good = follower.look()
    follower.path.write_bytes(b"broken")
    broken = follower.look()
    follower.path.write_bytes(b"broken again")
    with pytest.raises(Conflict):
        follower.put_back(good, broken.revision)
    where = follower.put_back(good, follower.look().revision)
    assert where is not None
    assert Path(where).read_bytes() == b"broken again"
    assert follower.path.read_bytes() == good.data
    follower.path.unlink()
    assert follower.put_back(good, "") is None
    assert follower.path.read_bytes() == good.data


def test_an_archived_version_is_found_by_its_revision(workbench: Workbench, follower: Follower) -> None:
    first = follower.path.read_bytes()
    workbench.edit("work", "next", "Stop.")
    found = follower.archived(revision(first))
    assert found is not None
    assert found.handoff.next == "Run it."
    assert follower.archived("0" * 12) is None


def test_what_was_wrong_before_is_no_fault_and_nothing_at_all_is_one() -> None:
    whole = Seen.of(HANDOFF.to_markdown().encode(), "work")
    half = Seen.of(Handoff(doing="Porting.").to_markdown().encode(), "work")
    assert whole.faults_since(half) == ()
    assert [fault.kind for fault in half.faults_since(whole)] == [FaultKind.INCOMPLETE]
    assert half.faults_since(half) == ()
    assert [fault.kind for fault in NOTHING.faults_since(whole)] == [FaultKind.DELETED]
    assert not NOTHING.has_text
    assert not Seen.of(b"\xef\xbb\xbf \r\n", "work").has_text
