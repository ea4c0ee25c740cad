"""The swap: whatever an editor does in between, its save is kept; with and without the system's exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from flower_mcp.core.errors import FilesError
from flower_mcp.workbench import exchange as exchanges
from flower_mcp.workbench import swap as swaps
from flower_mcp.workbench.files import read_whole
from flower_mcp.workbench.swap import swap, swap_if


@pytest.fixture(params=["exchange", "no exchange"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the system's exchange, and as on a file system that has none."""
    if request.param == "no exchange":
        monkeypatch.setattr(exchanges, "_system_call", lambda: None)
    return str(request.param)


def names(folder: Path) -> Iterator[Path]:
    return (folder / f"kept-{n}" for n in count())


def kept_in(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("kept-*"))]


def before_the_exchange(monkeypatch: pytest.MonkeyPatch, *acts: Callable[[], object]) -> None:
    """Let an editor act right before the first, second ... exchange."""
    waiting = list(acts)
    real = exchanges.exchange

    def interrupted(one: Path, other: Path) -> bool:
        if waiting:
            waiting.pop(0)()
        return real(one, other)

    monkeypatch.setattr(swaps, "exchange", interrupted)


def test_the_old_file_is_kept_and_the_new_one_in_its_place(system: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o644)

    kept = swap(path, b"new", names(tmp_path))

    assert path.read_bytes() == b"new"
    assert kept == tmp_path / "kept-0"
    assert kept.read_bytes() == b"old"
    assert {entry.stat().st_mode & 0o777 for entry in tmp_path.iterdir()} == {0o600}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "kept-0"]


def test_nothing_is_kept_where_nothing_was(system: str, tmp_path: Path) -> None:
    assert swap(tmp_path / "file", b"new", names(tmp_path)) is None

    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_name_that_is_taken_is_passed_over(system: str, tmp_path: Path) -> None:
    (tmp_path / "kept-0").write_bytes(b"older")
    (tmp_path / "file").write_bytes(b"old")

    assert swap(tmp_path / "file", b"new", names(tmp_path)) == tmp_path / "kept-1"
    assert kept_in(tmp_path) == [b"older", b"old"]


def test_a_save_in_between_is_kept(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    before_the_exchange(monkeypatch, lambda: path.write_bytes(b"typed"))

    swap(path, b"new", names(tmp_path))

    assert path.read_bytes() == b"new"
    assert b"typed" in kept_in(tmp_path)


def test_a_file_deleted_in_between_is_no_obstacle(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    before_the_exchange(monkeypatch, path.unlink)

    assert swap_if(path, b"new", b"old", names(tmp_path))[0]

    assert path.read_bytes() == b"new"
    assert kept_in(tmp_path) == [b"old"]


def test_a_swap_is_done_when_the_file_is_as_it_was_seen(system: str, tmp_path: Path) -> None:
    path = tmp_path / "file"

    assert swap_if(path, b"one", None, names(tmp_path)) == (True, None)
    assert swap_if(path, b"two", None, names(tmp_path)) == (False, None)
    assert swap_if(path, b"two", b"other", names(tmp_path)) == (False, None)
    assert swap_if(path, b"two", b"one", names(tmp_path)) == (True, tmp_path / "kept-0")

    assert path.read_bytes() == b"two"
    assert kept_in(tmp_path) == [b"one"]


def test_a_save_in_the_very_instant_is_put_back(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    before_the_exchange(monkeypatch, lambda: path.write_bytes(b"typed"))

    assert swap_if(path, b"new", b"old", names(tmp_path)) == (False, None)

    assert path.read_bytes() == b"typed"
    assert b"new" not in kept_in(tmp_path)


def test_of_two_saves_in_that_instant_the_newer_one_stays_and_the_older_one_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    before_the_exchange(monkeypatch, lambda: path.write_bytes(b"typed"), lambda: path.write_bytes(b"typed again"))

    assert swap_if(path, b"new", b"old", names(tmp_path)) == (False, None)

    assert path.read_bytes() == b"typed again"
    assert kept_in(tmp_path) == [b"typed"]


def test_a_swap_that_fails_leaves_no_version_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def fail() -> None:
        raise PermissionError(13, "refused")

    before_the_exchange(monkeypatch, fail)

    with pytest.raises(FilesError, match="refused"):
        swap(tmp_path / "file", b"new", names(tmp_path))

    assert read_whole(tmp_path / "file") == b"old"
    assert kept_in(tmp_path) == []
