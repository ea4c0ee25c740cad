"""What editors leave beside a file that they have open. Real editors: tests/e2e/test_editors.py."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from flower_mcp.workbench.editors import unsaved

HERE = socket.gethostname()


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A document in a folder of its own, with nobody's home folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    path = tmp_path / "notes" / "交接-work.md"
    path.parent.mkdir()
    path.write_text("text")
    return path


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def swap(path: Path, *, pid: int = os.getpid(), host: str = HERE, dirty: int = 0x55, length: int = 1008) -> None:
    """A swap file as vim's memline.c lays it out."""
    block = bytearray(1008)
    block[0:12] = b"b0VIM 9.0\0\0\0"
    block[24:28] = pid.to_bytes(4, "little")
    block[68 : 68 + len(host[:39])] = host[:39].encode()
    block[1007] = dirty
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(block)[:length])


@pytest.mark.parametrize("extension", ["swp", "swo", "swn"])
def test_a_modified_buffer_of_a_living_vim_counts(document: Path, extension: str) -> None:
    assert not unsaved(document)
    swap(document.with_name(f".{document.name}.{extension}"))
    assert unsaved(document)


def test_an_unmodified_one_a_dead_one_and_one_elsewhere_do_not(document: Path, dead: int) -> None:
    place = document.with_name(f".{document.name}.swp")
    swap(place, dirty=0)
    assert not unsaved(document)
    swap(place, pid=dead)
    assert not unsaved(document)
    swap(place, host="another-machine")
    assert not unsaved(document)
    swap(place, pid=0)
    assert not unsaved(document)
    swap(place)
    assert unsaved(document)


@pytest.mark.parametrize("content", [b"", b"b0", b"\0" * 1008, b"b0" + b"\xff" * 2000])
def test_a_swap_file_that_is_none_does_not(document: Path, content: bytes) -> None:
    document.with_name(f".{document.name}.swp").write_bytes(content)
    assert not unsaved(document)


def test_a_pipe_or_a_link_in_a_swap_files_place_is_not_opened(document: Path) -> None:
    place = document.with_name(f".{document.name}.swp")
    os.mkfifo(place)
    assert not unsaved(document)
    place.unlink()
    swap(document.parent / "elsewhere")
    place.symlink_to(document.parent / "elsewhere")
    assert not unsaved(document)


def test_the_swap_of_another_document_does_not_count(document: Path) -> None:
    swap(document.with_name(".交接-work.md2.swp"))
    swap(document.with_name(".交接-wor.md.swp"))
    assert not unsaved(document)


def test_neovims_folder_is_looked_into(document: Path, tmp_path: Path) -> None:
    swap(tmp_path / "home/.local/state/nvim/swap" / (str(document).replace("/", "%") + ".swp"))
    assert unsaved(document)


@pytest.mark.parametrize("boot", ["", ":1764489600"])
def test_a_lock_of_a_living_emacs_counts(document: Path, boot: str) -> None:
    document.with_name(f".#{document.name}").symlink_to(f"ann@{HERE}.{os.getpid()}{boot}")
    assert unsaved(document)


def test_a_lock_that_is_a_file_counts_too(document: Path) -> None:
    document.with_name(f".#{document.name}").write_text(f"ann@{HERE}.{os.getpid()}:1")
    assert unsaved(document)


def test_a_lock_of_a_dead_emacs_or_of_another_machine_does_not(document: Path, dead: int) -> None:
    place = document.with_name(f".#{document.name}")
    for owner in (f"ann@{HERE}.{dead}:1", f"ann@another.{os.getpid()}:1", "nonsense", f"ann@{HERE}.{2**40}"):
        place.unlink(missing_ok=True)
        place.symlink_to(owner)
        assert not unsaved(document), owner


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    assert not unsaved(tmp_path / "nowhere" / "x.md")
