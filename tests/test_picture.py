"""docs/handoff.svg shows a handoff, and docs/recording.py draws what a terminal shows."""

from __future__ import annotations

import re
import runpy
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[1] / "docs"
SEEDS = (
    "# context 141.0K/200K · about 9K to the handoff",
    "# context 153.0K/200K —— writing the handoff",
    "  - doing",
    "  - decided",
    "  - dead ends",
    "  - next",
    "<- handoff written to ~/",
    "<- edited by a person: next",
    "<- a new session takes over, the context starts again from 153.0K",
)
AREA = b"\x1b[1mwork\x1b[0m  session 1\r\n\x1b[32m####\x1b[0m 141.0K/200K\x1b[1A\r"
RECORDED = [
    b"step work: new\r\n" + AREA,
    b"\r\x1b[J# context 141.0K/200K \xc2",  # a piece may end in the middle of a character
    "· about 9K\r\n".encode()[1:] + AREA,
    "\r\x1b[J<- handoff written to 交接-work.md\r\n".encode() + AREA,
    b"\r\x1b[J<- a new session takes over\r\n" + AREA.replace(b"session 1", b"session 2"),
    b"\r\x1b[Jdone\r\n",
]


@pytest.fixture(scope="module")
def recording() -> dict[str, Any]:
    """What docs/recording.py defines."""
    return runpy.run_path(str(DOCS / "recording.py"))


def rows_of(svg: str) -> list[str]:
    """The text of a picture's rows, from top to bottom."""
    rows: dict[float, list[tuple[float, str]]] = defaultdict(list)
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        rows[float(element.attrib["y"])].append((float(element.attrib["x"]), element.text or ""))
    return ["".join(text for _, text in sorted(rows[y])).replace("\xa0", " ").rstrip("\n") for y in sorted(rows)]


def test_the_picture_shows_a_handoff_in_the_seed_s_lines() -> None:
    svg = (DOCS / "handoff.svg").read_text(encoding="utf-8")
    shown = rows_of(svg)
    places = [next((n for n, row in enumerate(shown) if row.startswith(line)), -1) for line in SEEDS]
    assert -1 not in places, "run: make picture"
    assert places == sorted(places)
    assert any("交接-work.md" in row for row in shown)
    assert re.search(r"/(?:tmp|root|home)/", svg) is None
    assert [word for word in ("@font-face", "url(http", "<script") if word in svg] == []


def test_a_recording_is_drawn_as_the_terminal_showed_it_at_that_moment(recording: dict[str, Any]) -> None:
    rows = recording["screen_of"](RECORDED, ["handoff written", "takes over"], 60, 10)
    expected = [
        "step work: new",
        "# context 141.0K/200K · about 9K",
        "<- handoff written to 交接-work.md",
        "<- a new session takes over",
        "work  session 2",
        "#### 141.0K/200K",
    ]
    assert [row.plain for row in rows] == expected
    assert str(rows[4].spans[0].style) == "bold"
    assert "green" in str(rows[5].spans[0].style)
    svg = recording["picture"](rows, 60)
    assert [row for row in rows_of(svg) if row in expected] == expected
    assert "http://www.w3.org/2000/svg" in svg
    assert "@font-face" not in svg


def test_a_recording_that_never_comes_to_that_moment_is_an_error(recording: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="never shows, in this order: handoff written, takes over, takes over"):
        recording["screen_of"](RECORDED, ["handoff written", "takes over", "takes over"], 60, 10)


def test_what_a_command_prints_at_a_terminal_is_recorded(recording: dict[str, Any], tmp_path: Path) -> None:
    program = "import os, sys; print(sys.stdout.isatty(), *os.get_terminal_size(), os.environ['WORD'])"
    pieces = recording["recorded"]([sys.executable, "-c", program], {"WORD": "here"}, tmp_path)
    size = f"{recording['COLUMNS']} {recording['ROWS']}"
    assert b"".join(pieces).decode() == f"True {size} here\r\n"
