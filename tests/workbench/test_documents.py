"""Documents: frozen whole, edited in one place, nothing that was there ever lost."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

from flower_mcp.core.errors import Conflict, FilesError, NothingThere, Usage
from flower_mcp.core.handoff import Handoff
from flower_mcp.workbench import swap as swaps
from flower_mcp.workbench.documents import field_of
from flower_mcp.workbench.exchange import exchange
from flower_mcp.workbench.files import make_folder, read_whole, revision
from flower_mcp.workbench.workbench import Workbench

forkserver = multiprocessing.get_context("forkserver")
forkserver.set_forkserver_preload(["flower_mcp.workbench.workbench", "flower_mcp.core.masking", "pytest"])
SECRET = "ghp_" + "a1B2" * 9
HANDOFF = Handoff(doing="Porting the tests.", next="Port the last module.", decided="pytest it is")


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


def typed(bench: Workbench, data: bytes, step: str = "work") -> Path:
    """A person saves this as the step's document."""
    path = bench.documents.path(step)
    make_folder(path.parent)
    path.write_bytes(data)
    return path


def archived(bench: Workbench, step: str = "work") -> list[bytes]:
    return [version.data() for version in bench.history(step)]


def just_before_the_exchange(monkeypatch: pytest.MonkeyPatch, path: Path, data: bytes) -> None:
    """An editor saves, by a rename as most do, in the instant before the file changes places."""
    waiting = [data]

    def interrupted(one: Path, other: Path) -> bool:
        if waiting:
            saved = path.with_name("4913")
            saved.write_bytes(waiting.pop())
            saved.replace(path)
        return exchange(one, other)

    monkeypatch.setattr(swaps, "exchange", interrupted)


def test_a_frozen_document_reads_back(bench: Workbench) -> None:
    frozen = bench.freeze("work", HANDOFF)
    document = bench.read("work")

    assert document is not None
    assert document.handoff == HANDOFF
    assert document.text.startswith("# 交接 · work\n")
    assert frozen.path == document.path == bench.folder / "notes" / "交接-work.md"
    assert frozen.revision == document.revision == revision(document.path.read_bytes())
    assert (frozen.archived, frozen.masked, document.encoding) == (None, 0, "utf-8")
    assert abs(document.written_at - time.time()) < 60


def test_the_version_before_goes_to_the_archive(bench: Workbench) -> None:
    texts = [f"version {n}\n" for n in range(5)]
    frozen = [bench.freeze("work", text) for text in texts]

    history = bench.history("work")

    assert archived(bench) == [text.encode() for text in texts[:-1]]
    assert [version.path for version in history] == [one.archived for one in frozen[1:]]
    assert [version.revision() for version in history] == [one.revision for one in frozen[:-1]]
    assert history[0].path.parent == bench.folder / "notes" / "archive" / "交接"
    assert len({version.replaced_at for version in history}) == 4


def test_files_and_folders_are_private(bench: Workbench) -> None:
    bench.freeze("work", "one")
    bench.documents.path("work").chmod(0o644)
    bench.freeze("work", "two")

    modes = {path.stat().st_mode & 0o777 for path in bench.folder.rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o777 for path in (bench.folder, *bench.folder.rglob("*")) if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})
    assert (bench.folder / ".gitignore").read_text() == "*\n"


def test_secrets_that_a_model_writes_are_masked_and_those_that_a_person_typed_are_not(bench: Workbench) -> None:
    frozen = bench.freeze("work", Handoff(doing=f"export A={SECRET}", next="go"))
    assert frozen.masked == 1
    assert SECRET.encode() not in frozen.path.read_bytes()

    frozen = bench.documents.freeze("work", f"mine: {SECRET}", typed=True)
    assert frozen.masked == 0
    assert frozen.path.read_bytes() == f"mine: {SECRET}".encode()


def test_a_freeze_on_a_stale_revision_writes_nothing(bench: Workbench) -> None:
    first = bench.freeze("work", "one", expected="new")
    typed(bench, b"typed")
    files = sorted(bench.folder.rglob("*"))

    for expected in (first.revision, "", "new"):
        with pytest.raises(Conflict) as caught:
            bench.freeze("work", "two", expected=expected)
        assert caught.value.current == revision(b"typed")

    assert bench.documents.path("work").read_bytes() == b"typed"
    assert sorted(bench.folder.rglob("*")) == files
    assert bench.freeze("work", "two", expected=revision(b"typed")).archived is not None


def test_a_freeze_that_expects_a_document_where_there_is_none_is_refused(bench: Workbench) -> None:
    with pytest.raises(Conflict):
        bench.freeze("work", "two", expected="0123456789ab")
    assert bench.read("work") is None


def test_a_save_in_the_middle_of_a_freeze_is_in_the_archive(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.freeze("work", "one").path
    just_before_the_exchange(monkeypatch, path, b"typed in between")

    bench.freeze("work", "two")

    assert path.read_bytes() == b"two"
    assert b"typed in between" in archived(bench)


def test_a_save_in_the_middle_of_a_checked_freeze_wins(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    first = bench.freeze("work", "one")
    just_before_the_exchange(monkeypatch, first.path, b"typed in between")

    with pytest.raises(Conflict):
        bench.freeze("work", "two", expected=first.revision)

    assert first.path.read_bytes() == b"typed in between"


def test_an_edit_changes_one_section_and_not_a_byte_outside_it(bench: Workbench) -> None:
    before = (
        "\ufeff# 交接 · work\r\n\r\n<!-- mine -->\r\n## 现在在做 · Doing now\r\nold\r\n\r\n"
        "## 下一步 · Next\r\n1. go  \r\n\r\n## My own\r\n\tkept\x0c\r\n"
    ).encode()
    path = typed(bench, before)

    document = bench.edit("work", "next", "1. stop")

    assert path.read_bytes() == before.replace(b"1. go  ", b"1. stop")
    assert document.data == path.read_bytes()
    assert document.handoff.next == "1. stop"
    assert archived(bench) == [before]


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16"])
def test_an_edit_keeps_the_files_encoding(encoding: str, bench: Workbench) -> None:
    text = "## 现在在做\n移植测试\n\n## 下一步\n继续\n"
    path = typed(bench, text.encode(encoding))

    bench.edit("work", "下一步", "停下来")

    assert path.read_bytes() == text.replace("继续", "停下来").encode(encoding)


def test_an_edit_on_a_stale_revision_writes_nothing(bench: Workbench) -> None:
    stale = bench.freeze("work", HANDOFF).revision
    bench.edit("work", "next", "first", expected=stale)

    with pytest.raises(Conflict):
        bench.edit("work", "next", "second", expected=stale)

    document = bench.read("work")
    assert document is not None
    assert document.handoff.next == "first"


def test_a_save_in_the_middle_of_an_edit_is_edited_too(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.freeze("work", HANDOFF).path
    saved = path.read_bytes().replace(b"Porting the tests.", b"Typed by a person.")
    just_before_the_exchange(monkeypatch, path, saved)

    document = bench.edit("work", "next", "edited")

    assert (document.handoff.doing, document.handoff.next) == ("Typed by a person.", "edited")
    assert saved in archived(bench)


def test_an_edit_masks_what_it_adds_and_leaves_what_a_person_typed(bench: Workbench) -> None:
    typed(bench, f"## Doing now\n\nmy key {SECRET}\n\n## Next\n\ngo\n".encode())

    document = bench.edit("work", "next", f"use {SECRET}")

    assert document.text.count(SECRET) == 1


def test_an_edit_that_changes_nothing_archives_nothing(bench: Workbench) -> None:
    bench.freeze("work", HANDOFF)

    bench.edit("work", "next", HANDOFF.next)

    assert archived(bench) == []


def test_an_edit_needs_a_document_and_a_section_that_exist(bench: Workbench) -> None:
    with pytest.raises(NothingThere):
        bench.edit("work", "next", "x")
    assert not bench.folder.exists()

    bench.freeze("work", HANDOFF)
    with pytest.raises(Usage, match="doing, decided, deadends, next, scene"):
        bench.edit("work", "weather", "x")


def test_bytes_that_are_no_text_can_be_read_but_not_edited(bench: Workbench) -> None:
    path = typed(bench, b"## Doing now\n\n\xff\xfe\xfa\xff\n\n## Next\n\ngo\n")
    before = path.read_bytes()

    document = bench.read("work")
    assert document is not None
    assert document.handoff.next == "go"
    with pytest.raises(FilesError, match="UTF-8"):
        bench.edit("work", "next", "x")

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "field"),
    [("next", "next"), ("下一步", "next"), ("## Dead ends", "deadends"), ("走不通的 · Dead ends", "deadends")],
)
def test_a_section_goes_by_its_field_or_any_heading(name: str, field: str) -> None:
    assert field_of(name) == field


def test_a_document_tells_its_state_for_the_books(bench: Workbench) -> None:
    bench.freeze("work", Handoff(doing="abc"))
    document = bench.read("work")
    assert document is not None

    state = document.state(edited=True)

    assert (state.complete, state.missing, state.degraded, state.edited) == (False, ("next",), False, True)
    assert state.sections["doing"] == 3
    assert state.path == str(document.path)


def test_steps_that_begin_alike_keep_their_histories_apart(bench: Workbench) -> None:
    for step in ("work", "work-2", "work-20261129T160512.123456Z"):
        bench.freeze(step, f"{step} one")
        bench.freeze(step, f"{step} two")

    assert archived(bench, "work") == [b"work one"]
    assert archived(bench, "work-2") == [b"work-2 one"]


def test_ten_thousand_versions_are_listed_without_opening_one(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_folder(bench.documents.archive)
    for n in range(10_000):
        (bench.documents.archive / f"work-20261129T160512.{n:06}Z.md").touch()
    monkeypatch.setattr("flower_mcp.workbench.archive.read_whole", lambda path: pytest.fail(f"opened {path}"))

    before = time.process_time()
    history = bench.history("work")

    assert [len(history), history[0].replaced_at, history[-1].replaced_at] == [
        10_000,
        "20261129T160512.000000Z",
        "20261129T160512.009999Z",
    ]
    assert time.process_time() - before < 2


def freeze_often(workspace: Path) -> None:
    bench = Workbench(workspace)
    for n in range(60):
        bench.documents.freeze("work", f"version {n:03}\n" * 50_000, typed=True)


def test_a_reader_at_any_instant_finds_a_whole_document(bench: Workbench) -> None:
    bench.freeze("work", "version 000\n" * 50_000)
    process = forkserver.Process(target=freeze_often, args=(bench.workspace,))
    process.start()
    seen = set()
    while process.is_alive():
        data = read_whole(bench.documents.path("work"))
        assert data is not None
        assert data == data[:12] * 50_000
        seen.add(data[:12])
    process.join()

    assert process.exitcode == 0
    assert len(seen) > 5
