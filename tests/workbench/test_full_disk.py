"""A disk that refuses, a real one: nothing that is there is harmed, no litter, a sentence, and the next write works."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from flower_mcp.core.books import LiveStep, State, StepResult
from flower_mcp.core.errors import FilesError
from flower_mcp.workbench.inbox import Asks, Message
from flower_mcp.workbench.ledger import Lineage, Manifest
from flower_mcp.workbench.owed import refusal
from flower_mcp.workbench.tasks import By
from flower_mcp.workbench.workbench import Workbench
from tests.disks import BLOCK, files, fill, read_only, small_disk

forkserver = multiprocessing.get_context("forkserver")
forkserver.set_forkserver_preload(["flower_mcp.workbench.workbench", "flower_mcp.core.masking", "pytest"])

NOBODY = 65534
LONG = "words\n" * (2 * BLOCK // 6)  # more than two blocks, so that no last block has room for it
DOCUMENT = f"# 交接 · work\n\n## Doing now\n\n{LONG}\n## Next\n\ngo on\n"


def row(run: str) -> StepResult:
    return StepResult(run=run, step="work", text=LONG)


def live(run: str) -> LiveStep:
    return LiveStep("work", State.WORKING, row(run))


WRITES: dict[str, Callable[[Workbench, Path, str], object]] = {
    "freeze": lambda bench, _runs, mark: bench.freeze("work", f"{DOCUMENT}{mark}\n"),
    "edit": lambda bench, _runs, mark: bench.edit("work", "scene", f"{LONG}{mark}"),
    "a person's first words": lambda bench, _runs, mark: bench.tasks.start("work", LONG + mark),
    "a person's later words": lambda bench, _runs, mark: bench.tasks.add("work", LONG + mark, By.SAY, "now"),
    "draft": lambda bench, _runs, mark: bench.lives.write_draft("work", DOCUMENT + mark),
    "live state": lambda bench, _runs, mark: bench.lives.write(live(mark), durable=True),
    "events": lambda bench, _runs, mark: bench.lives.append(({"kind": "text", "text": LONG, "mark": mark},)),
    "message": lambda bench, _runs, mark: bench.lives.put("work", Message("now", "me", Asks.SAY, LONG + mark)),
    "row": lambda _bench, runs, mark: Manifest(runs).put(row(mark)),
    "lineage": lambda _bench, runs, mark: Lineage(runs, "/w").remember(LONG, mark),
}


def prepare(place: Path) -> tuple[Workbench, Path]:
    """A workspace and a run folder in which everything has been written once."""
    (place / "workspace").mkdir()
    bench, runs = Workbench(place / "workspace"), place / "runs"
    for write in WRITES.values():
        write(bench, runs, "before")
    return bench, runs


@contextmanager
def full(disk: Path) -> Iterator[None]:
    filler = fill(disk)
    try:
        yield
    finally:
        filler.unlink()


@pytest.mark.parametrize("refusing", [full, read_only])
def test_a_refused_write_harms_nothing_is_told_and_works_later(
    refusing: Callable[[Path], AbstractContextManager[None]], tmp_path: Path
) -> None:
    number = errno.ENOSPC if refusing is full else errno.EROFS
    with small_disk(tmp_path / "disk") as disk:
        bench, runs = prepare(disk)
        before = files(disk)
        with refusing(disk):
            for name, write in WRITES.items():
                with pytest.raises(FilesError) as caught:
                    write(bench, runs, "refused")
                assert refusal(caught.value) == number, name
                assert str(disk) in caught.value.what, name
                assert caught.value.next in ("Free some space on that disk.", "Make that file system writable."), name
            after = files(disk)
        events = next(name for name in before if name.endswith("events.jsonl"))
        assert after.pop(events).startswith(before.pop(events))  # a torn line is ended by the next one
        assert after == before
        for name, write in WRITES.items():
            write(bench, runs, "later")
            assert any(b"later" in data for data in files(disk).values()), name
        assert [line["mark"] for line in bench.lives.tail(9)] == ["before", "later"]


def test_a_lock_that_lies_on_a_read_only_disk_is_a_lock_all_the_same(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    with bench.run_lock("work"):
        pass
    with read_only(bench.lives.folder), bench.run_lock("work") as mine, bench.run_lock("work") as others:
        assert (mine, others) == (True, False)


@pytest.mark.parametrize("blocks", range(10))
def test_with_whatever_room_is_left_a_freeze_is_done_or_not_begun(blocks: int, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size="128k") as disk:
        (disk / "workspace").mkdir()
        bench = Workbench(disk / "workspace")
        old, new = DOCUMENT, DOCUMENT.replace("go on", "stop")
        bench.freeze("work", old)
        fill(disk, leave=blocks)
        try:
            bench.freeze("work", new)
            is_done = True
        except FilesError:
            is_done = False
        document = bench.read("work")
        assert document is not None
        assert document.text == (new if is_done else old)
        assert [version.data().decode() for version in bench.history("work")] == ([old] if is_done else [])
        assert is_done == (blocks >= 3)  # the document has three blocks
        assert not [path for path in disk.rglob("*") if path.name.endswith(".tmp")]


def refused_by_size(place: str, answers: multiprocessing.Queue[str]) -> None:
    """In a process of its own: files may not grow beyond one block."""
    bench, runs = Workbench(Path(place) / "workspace"), Path(place) / "runs"
    resource.setrlimit(resource.RLIMIT_FSIZE, (BLOCK, resource.RLIM_INFINITY))
    for name, write in WRITES.items():
        try:
            write(bench, runs, "refused")
            answers.put(f"{name}: was written")
        except FilesError as error:
            answers.put("" if refusal(error) == errno.EFBIG and "ulimit -f" in error.next else f"{name}: {error}")


def refused_by_rights(place: str, answers: multiprocessing.Queue[str]) -> None:
    """In a process of its own, as a user whom rights bind."""
    home = Path(place)
    try:
        bench, runs = prepare(home)
        for write in WRITES.values():
            write(bench, runs, "again")  # from now on nothing can be imported
        for path in (home, *home.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        before = files(home)
        folders = [home, *(path for path in home.rglob("*") if path.is_dir())]
        for path in [*home.rglob("events.jsonl"), *home.rglob("*.lock"), *home.rglob("*.write")]:
            path.chmod(0o400)
        for folder in folders:
            folder.chmod(0o500)
        for name, write in WRITES.items():
            try:
                write(bench, runs, "refused")
                answers.put(f"{name}: was written")
            except FilesError as error:
                answers.put(
                    ""
                    if refusal(error) == errno.EACCES and error.next.startswith("Give yourself")
                    else f"{name}: {error}"
                )
        answers.put("" if files(home) == before else "something was harmed")
        for folder in folders:
            folder.chmod(0o700)
        for path in [*home.rglob("events.jsonl"), *home.rglob("*.lock"), *home.rglob("*.write")]:
            path.chmod(0o600)
        for write in WRITES.values():
            write(bench, runs, "later")
        answers.put("" if bench.lives.tail(1)[0]["mark"] == "later" else "it was not written later")
    except BaseException as error:
        answers.put(f"raised {error!r}")
        raise


def answers_of(act: Callable[[str, multiprocessing.Queue[str]], None], place: Path, number: int) -> list[str]:
    answers = forkserver.Queue()
    process = forkserver.Process(target=act, args=(str(place), answers))
    process.start()
    found = [answers.get(timeout=30) for _ in range(number)]
    process.join()
    assert process.exitcode == 0
    return found


def test_a_limit_on_the_size_of_files_harms_nothing_and_is_told(tmp_path: Path) -> None:
    prepare(tmp_path)
    before = files(tmp_path)
    events = next(name for name in before if name.endswith("events.jsonl"))

    assert answers_of(refused_by_size, tmp_path, len(WRITES)) == [""] * len(WRITES)

    after = files(tmp_path)
    assert after.pop(events).startswith(before.pop(events))
    assert after == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_rights_that_are_taken_midway_harm_nothing_and_are_told() -> None:
    place = Path(tempfile.mkdtemp())
    try:
        assert answers_of(refused_by_rights, place, len(WRITES) + 2) == [""] * (len(WRITES) + 2)
    finally:
        shutil.rmtree(place)
