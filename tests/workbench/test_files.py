"""Whole files, private modes, and paths that do not lead out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower_mcp.core.errors import FilesError
from flower_mcp.workbench.files import create, inside, make_home, read_whole, revision, write_whole


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_files_are_private_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    write_whole(tmp_path / "one", b"1")
    create(tmp_path / "two", b"2")

    assert [mode(tmp_path / name) for name in ("one", "two")] == [0o600, 0o600]


@pytest.mark.parametrize("umask", [0o000, 0o022], indirect=True)
def test_folders_are_private_and_git_ignores_them(umask: int, tmp_path: Path) -> None:
    make_home(tmp_path / "a" / "b")

    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o700, 0o700]
    assert (tmp_path / "a" / "b" / ".gitignore").read_text() == "*\n"
    assert mode(tmp_path / "a" / "b" / ".gitignore") == 0o600


def test_a_persons_own_gitignore_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine")

    make_home(tmp_path)

    assert (tmp_path / ".gitignore").read_text() == "mine"


def test_a_write_replaces_and_leaves_nothing_else_behind(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", b"old")
    write_whole(tmp_path / "file", b"new", durable=False)

    assert read_whole(tmp_path / "file") == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_create_leaves_what_is_there(tmp_path: Path) -> None:
    assert create(tmp_path / "file", b"first")
    assert not create(tmp_path / "file", b"second")

    assert read_whole(tmp_path / "file") == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_is_told_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()

    with pytest.raises(FilesError, match="file cannot be written"):
        write_whole(tmp_path / "file", b"new")

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_reading_nothing_gives_none(tmp_path: Path) -> None:
    assert read_whole(tmp_path / "missing") is None
    assert read_whole(tmp_path / "missing" / "deeper") is None


def test_a_link_a_folder_and_a_pipe_are_refused_without_waiting(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")

    for name in ("link", "pipe", "."):
        with pytest.raises(FilesError):
            read_whole(tmp_path / name)


def test_a_write_in_a_links_place_leaves_the_links_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("keep")
    (tmp_path / "link").symlink_to(tmp_path / "target")

    write_whole(tmp_path / "link", b"new")

    assert (tmp_path / "target").read_text() == "keep"
    assert not (tmp_path / "link").is_symlink()


def test_a_path_that_leads_out_is_refused(tmp_path: Path) -> None:
    folder, outside = tmp_path / "notes", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "out").symlink_to(outside)
    (folder / "link.md").symlink_to(folder / "file.md")

    assert inside(folder, folder / "file.md") == folder / "file.md"
    for path in (folder / "out" / "x.md", folder / ".." / "x.md", folder / "link.md", tmp_path / "x.md"):
        with pytest.raises(FilesError, match=r"outside|link"):
            inside(folder, path)


def test_a_revision_is_the_start_of_the_sha256() -> None:
    assert revision(b"") == "e3b0c44298fc"
