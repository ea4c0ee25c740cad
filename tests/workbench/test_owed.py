"""What is owed to the disk: kept in its order, made once, said once, and never in the way."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flower_mcp.core.errors import FilesError, LockTimeout
from flower_mcp.workbench.files import telling
from flower_mcp.workbench.live import Live
from flower_mcp.workbench.owed import PAUSE, REFUSALS, Debt, Owed, keep_elsewhere
from flower_mcp.workbench.workbench import Workbench
from tests.disks import fill, small_disk

PATH = Path("books.json")


class Disk:
    """A disk that refuses with `number` until it is None; what was written to it, and how often it was asked."""

    def __init__(self, number: int | None = None) -> None:
        self.number = number
        self.written: list[str] = []
        self.asked = 0

    def write(self, text: str) -> Callable[[], None]:
        def write() -> None:
            self.asked += 1
            if self.number is not None:
                with telling(PATH, "written"):
                    raise OSError(self.number, os.strerror(self.number))
            self.written.append(text)

        return write


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def ledger(clock: Clock | None = None) -> tuple[Owed, list[str], list[str]]:
    said: list[str] = []
    told: list[str] = []
    return Owed(said.append, told.append, clock or Clock()), said, told


def debt(disk: Disk, text: str, lane: str = "lane", **more: Any) -> Debt:
    return Debt(lane, "the books", PATH, disk.write(text), **more)


def test_a_disk_that_takes_it_is_written_at_once_and_nothing_is_said() -> None:
    owed, said, told = ledger()
    disk = Disk()

    assert owed.write(debt(disk, "one"))

    assert (disk.written, said, told, bool(owed)) == (["one"], [], [], False)


@pytest.mark.parametrize("number", sorted(REFUSALS), ids=lambda number: errno.errorcode[number])
def test_a_refusal_is_said_with_the_path_and_what_to_do(number: int) -> None:
    owed, said, _ = ledger()

    assert not owed.write(debt(Disk(number), "one"))

    assert len(said) == 1
    assert said[0].startswith(f"the books cannot be written to books.json: {os.strerror(number)}. It is kept in memory")
    assert said[0].split(". ")[-1].split()[0] in ("Free", "Raise", "Make", "Give", "Check")


def test_what_is_owed_is_paid_in_its_order_and_once() -> None:
    owed, _, told = ledger()
    disk = Disk(errno.ENOSPC)
    for text in ("one", "two", "three"):
        owed.write(debt(disk, text))
    disk.number = None

    assert owed.write(debt(disk, "four"), at_once=True)
    owed.pay(at_once=True)

    assert disk.written == ["one", "two", "three", "four"]
    assert told == ["written after all: the books, books.json"]
    assert not owed


def test_the_newest_stands_for_all_before_it_where_it_does() -> None:
    owed, _, _ = ledger()
    disk = Disk(errno.EROFS)
    for text in ("one", "two", "three"):
        owed.write(debt(disk, text, newest=True))
    disk.number = None
    owed.pay(at_once=True)

    assert disk.written == ["three"]


def test_a_lane_that_is_refused_does_not_keep_the_others_waiting() -> None:
    owed, _, _ = ledger()
    full, free = Disk(errno.ENOSPC), Disk(errno.ENOSPC)
    owed.write(debt(full, "one", "full"))
    owed.write(debt(free, "two", "free"))
    free.number = None
    owed.pay(at_once=True)

    assert free.written == ["two"]
    assert [each.lane for each in owed.left()] == ["full"]
    assert owed.write(debt(free, "three", "free"))


def test_a_full_disk_is_not_asked_all_the_time() -> None:
    clock = Clock()
    owed, _, _ = ledger(clock)
    disk = Disk(errno.ENOSPC)
    for _ in range(1_000):
        owed.write(debt(disk, "one", newest=True))
        clock.now += PAUSE / 100

    assert 5 < disk.asked < 15


def test_more_than_a_lane_may_keep_is_given_up_and_said() -> None:
    owed, _, told = ledger()
    disk = Disk(errno.ENOSPC)
    for n in range(10):
        owed.write(debt(disk, str(n), most=4))
    disk.number = None
    owed.pay(at_once=True)

    assert disk.written == ["6", "7", "8", "9"]
    assert "without the oldest 6" in told[0]


def test_a_write_that_writes_in_turn_is_made_once() -> None:
    clock = Clock()
    owed, _, _ = ledger(clock)
    disk = Disk(errno.ENOSPC)

    def both() -> None:
        disk.write("document")()
        owed.write(debt(disk, "state", "state", newest=True), at_once=True)

    owed.write(Debt("documents", "the document", PATH, both))
    owed.write(debt(disk, "old state", "state", newest=True))
    disk.number = None
    owed.pay(at_once=True)
    owed.pay(at_once=True)

    assert disk.written == ["document", "state"]
    clock.now += 100.0
    assert owed.write(Debt("documents", "the document", PATH, both))
    assert disk.written == ["document", "state"] * 2


def test_somebody_elses_lock_is_waited_for_in_silence_as_long_as_a_writer_waits_and_said_in_its_own_words() -> None:
    clock, is_held, written = Clock(), True, []
    owed, said, told = ledger(clock)

    def write() -> None:
        if is_held:
            raise LockTimeout("Another program holds the lock.", kept="Nothing was written.", next="Look for it.")
        written.append("text")

    owed.write(Debt("lane", "the books", PATH, write))
    clock.now = 4.9
    owed.pay(at_once=True)
    assert (said, told) == ([], [])
    is_held = False
    owed.pay(at_once=True)
    assert (written, said, told) == (["text"], [], []), "it was only late, and nobody need know"

    is_held = True
    owed.write(Debt("lane", "the books", PATH, write))
    clock.now += 5.0
    owed.pay(at_once=True)
    is_held = False
    owed.pay(at_once=True)
    assert written == ["text", "text"]
    assert told == ["written after all: the books, books.json"]
    assert "Another program holds the lock. It is kept in memory and written once that works. Look for it." in said[0]


def test_documents_that_were_owed_are_all_there_once_and_in_order(tmp_path: Path) -> None:
    owed, _, _ = ledger()
    with small_disk(tmp_path / "disk") as disk:
        (disk / "workspace").mkdir()
        bench = Workbench(disk / "workspace")
        bench.freeze("work", "version 0\n")
        filler = fill(disk)
        for n in (1, 2, 3):
            text = f"version {n}\n"
            owed.write(Debt("documents", "it", PATH, partial(bench.freeze, "work", text)), at_once=True)
        current = bench.read("work")
        assert current is not None
        assert current.text == "version 0\n"
        filler.unlink()
        owed.pay(at_once=True)

        document = bench.read("work")
        assert document is not None
        versions = [version.data().decode() for version in bench.history("work")]
        assert [*versions, document.text] == [f"version {n}\n" for n in range(4)]


def test_events_that_meet_a_full_disk_are_in_their_order_and_none_is_double(tmp_path: Path) -> None:
    owed, _, _ = ledger()
    chance = random.Random(7)
    with small_disk(tmp_path / "disk") as disk:
        lives = Live(disk / "live")
        filler = disk / "filler"
        for n in range(200):
            if chance.random() < 0.1:
                filler.unlink(missing_ok=True)
            elif chance.random() < 0.1:
                fill(disk)
            line = {"n": n, "text": "x" * chance.randrange(2_000)}
            owed.write(Debt("events", "it", PATH, partial(lives.append, (line,))), at_once=chance.random() < 0.3)
        assert filler.exists() or not owed
        filler.unlink(missing_ok=True)
        owed.pay(at_once=True)

        assert [line["n"] for line in lives.tail(999)] == list(range(200))


def test_what_finds_no_place_is_kept_elsewhere(tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    text = Debt("documents", "it", PATH, lambda: None, data="全部".encode(), name="交接-work.md")

    where = keep_elsewhere(text, [no_folder / "below", tmp_path / "state"])

    assert where is not None
    assert where.parent == tmp_path / "state"
    assert where.name.startswith("交接-work-")
    assert where.read_text(encoding="utf-8") == "全部"
    assert where.stat().st_mode & 0o777 == 0o600
    assert keep_elsewhere(text, [no_folder]) is None


def test_the_users_state_folder_is_the_first_to_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWER_STATE_DIR", str(tmp_path))

    where = keep_elsewhere(Debt("documents", "it", PATH, lambda: None, data=b"all", name="a.md"))

    assert where is not None
    assert where.parent == tmp_path / "unwritten"


def test_a_mistake_of_ours_is_not_taken_for_the_disks() -> None:
    owed, _, _ = ledger()

    def write() -> None:
        raise KeyError("ours")

    with pytest.raises(KeyError):
        owed.write(Debt("lane", "the books", PATH, write))
    with pytest.raises(FilesError), telling(PATH, "written"):
        raise OSError(errno.EIO, "broken")
