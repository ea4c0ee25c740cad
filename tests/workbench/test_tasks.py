"""A person's words are on disk as they were typed, all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp.workbench import swap as swaps
from flower_mcp.workbench.exchange import exchange
from flower_mcp.workbench.tasks import By, Tasks
from flower_mcp.workbench.workbench import Workbench

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def tasks(tmp_path: Path) -> Tasks:
    return Workbench(tmp_path).tasks


@pytest.mark.parametrize(
    "words", ["Port it.", "  two\n\nlines \r\n", f"the key {SECRET}", "a\0b", "", "## now · say\n\nx"]
)
def test_the_first_words_are_the_whole_file(words: str, tasks: Tasks) -> None:
    path = tasks.start("work", words)

    assert path.read_bytes() == words.encode()
    assert path == tasks.notes / "任务-work.md"
    assert path.stat().st_mode & 0o777 == 0o600
    assert tasks.read("work") == words


def test_bytes_that_a_terminal_could_not_decode_come_out_as_they_went_in(tasks: Tasks) -> None:
    path = tasks.start("work", b"caf\xe9".decode("utf-8", "surrogateescape"))

    assert path.read_bytes() == b"caf\xe9"


def test_later_words_follow_under_their_headings(tasks: Tasks) -> None:
    tasks.start("work", "Port it.")
    tasks.add("work", "## Faster\n", By.SAY, "2026-11-29T16:05:12.123456Z")
    tasks.add("work", "stop", "interrupt", "2026-11-29T16:06:12.123456Z")

    assert tasks.read("work") == (
        "Port it.\n\n## 2026-11-29T16:05:12.123456Z · say\n\n## Faster\n"
        "\n## 2026-11-29T16:06:12.123456Z · interrupt\n\nstop"
    )
    assert list(tasks.archive.iterdir()) == []


def test_a_new_start_moves_the_old_words_to_the_archive(tasks: Tasks) -> None:
    tasks.start("work", "one")
    tasks.start("work", "two")

    assert tasks.read("work") == "two"
    assert [path.read_text() for path in tasks.archive.glob("work-*.md")] == ["one"]


def test_words_are_added_in_the_files_own_encoding(tasks: Tasks) -> None:
    path = tasks.start("work", "")
    path.write_bytes("移植\r\n".encode("utf-16"))

    tasks.add("work", "更快", By.FLOWER, "now")

    assert path.read_bytes() == "移植\r\n\n## now · flower\n\n更快".encode("utf-16")


def test_a_save_while_words_are_added_is_added_to(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tasks.start("work", "one")
    saves = [b"one, edited"]

    def interrupted(one: Path, other: Path) -> bool:
        if saves:
            path.write_bytes(saves.pop())
        return exchange(one, other)

    monkeypatch.setattr(swaps, "exchange", interrupted)
    tasks.add("work", "two", By.SAY, "now")

    assert tasks.read("work") == "one, edited\n\n## now · say\n\ntwo"


def test_no_words_are_none(tasks: Tasks) -> None:
    assert tasks.read("work") is None
    with pytest.raises(ValueError, match="shout"):
        tasks.add("work", "x", "shout")
