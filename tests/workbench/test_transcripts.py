"""Transcripts: found by their session, read from either end."""

from __future__ import annotations

import json
import os
from itertools import islice
from pathlib import Path

import pytest

from flower_mcp.workbench.transcripts import find, lines, lines_backwards, project_key


def test_a_transcript_is_found_in_whichever_project_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    projects = tmp_path / ".claude" / "projects"
    for project in ("-a", "-b", "-c"):
        (projects / project).mkdir(parents=True)
    (projects / "-b" / "one.jsonl").touch()
    (projects / "-a" / "two.jsonl").touch()
    (projects / "-c" / "two.jsonl").touch()
    os.utime(projects / "-a" / "two.jsonl", (1, 1))

    assert find("one", home=tmp_path) == projects / "-b" / "one.jsonl"
    assert find("two", config_dir=tmp_path / ".claude") == projects / "-c" / "two.jsonl"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    assert find("one") == projects / "-b" / "one.jsonl"


@pytest.mark.parametrize("session", ["missing", "", "../-b/one", "*"])
def test_no_transcript_is_none(session: str, tmp_path: Path) -> None:
    (tmp_path / "projects" / "-b").mkdir(parents=True)
    (tmp_path / "projects" / "-b" / "one.jsonl").touch()

    assert find(session, config_dir=tmp_path) is None
    assert find("one", config_dir=tmp_path / "nowhere") is None


def test_a_projects_key_is_the_one_the_cli_makes(tmp_path: Path) -> None:
    sdk = pytest.importorskip("claude_agent_sdk")
    (tmp_path / "link").symlink_to(tmp_path / "设计.v1 x_y")

    for path in (
        tmp_path / "设计.v1 x_y",
        tmp_path / "link",
        tmp_path / ("é" * 90) / ("a" * 150),
        tmp_path / ("b" * 250),
    ):
        assert project_key(path) == sdk.project_key_for_directory(path)


@pytest.mark.parametrize("size", [0, 1, 100, 65_535, 65_536, 65_537, 200_000])
def test_lines_come_whole_and_last_first(size: int, tmp_path: Path) -> None:
    objects = [{"n": n, "text": "设" * (size // 3)} for n in range(4)]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in objects), encoding="utf-8")

    assert list(lines_backwards(path)) == objects[::-1]
    assert list(lines_backwards(path, having='"n": 2')) == [objects[2]]


def test_torn_and_strange_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"n": 1}\r\n\n\xff\xfe\n[1]\n"text"\n' + b"[" * 100_000 + b'\n{"n": 2}\n{"n": 3, "te')

    assert list(lines_backwards(path)) == [{"n": 2}, {"n": 1}]
    assert list(lines_backwards(tmp_path / "missing")) == []


def test_only_the_end_of_a_long_transcript_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.jsonl"
    with path.open("wb") as file:
        file.truncate(50_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b'\n{"n": 1}\n{"n": 2}\n')
    descriptors: list[int] = []
    opened = Path.open

    def remember(self: Path, *arguments: object) -> object:
        file = opened(self, *arguments)  # type: ignore[call-overload]
        descriptors.append(file.fileno())
        return file

    monkeypatch.setattr(Path, "open", remember)
    lines = lines_backwards(path)

    assert list(islice(lines, 2)) == [{"n": 2}, {"n": 1}]
    assert os.lseek(descriptors[0], 0, os.SEEK_CUR) > 49_000_000


def test_lines_also_come_first_to_last_and_strange_ones_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"n": 1}\r\n\n\xff\xfe\n[1]\n"text"\n' + b"[" * 100_000 + b'\n{"n": 2}\n{"n": 3, "te')
    assert list(lines(path)) == [{"n": 1}, {"n": 2}]
    path.write_bytes(b'{"n": 1}\n{"n": 2}')
    assert list(lines(path)) == [{"n": 1}, {"n": 2}]
    assert list(lines(tmp_path / "missing")) == []


def test_of_a_long_transcript_the_end_is_read_and_a_line_without_bounds_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(10)))
    assert list(lines(path, most=20)) == [{"n": 8}, {"n": 9}]
    assert list(lines(path, most=15)) == [{"n": 9}]
    path.write_text('torn {"n": 1}\n{"n": 2}\n')
    assert list(lines(path, most=18)) == [{"n": 2}]
    monkeypatch.setattr("flower_mcp.workbench.transcripts._LONGEST_LINE", 32)
    path.write_text('{"n": 1}\n' + "x" * 32 + '{"n": 7}\n{"n": 2}\n')
    assert list(lines(path)) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("most", range(29))
def test_no_more_than_the_last_bytes_are_looked_at(most: int, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": 2}\n{"n": 3}\n')
    whole = 3 if most >= 27 else max(0, (most - 1) // 9)  # lines whose beginning is known: the end before it is there

    assert list(lines_backwards(path, most=most)) == [{"n": n} for n in (3, 2, 1)][:whole]
