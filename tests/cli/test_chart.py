"""`flower chart`: what it draws, into which files, and what it says when it cannot."""

from __future__ import annotations

import struct
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import pytest

from flower_mcp.cli.chart import Mark, Point, history_of
from flower_mcp.core.events import Event, Place, line
from tests.cli.processes import flower
from tests.cli.steps import begun

TIMES = [f"2026-11-29T16:{minute:02}:00.000000Z" for minute in range(60)]


def told(minute: int, kind: str, n: int, step: str = "work", **payload: Any) -> dict[str, Any]:
    """A line of events.jsonl as the supervisor writes it."""
    return line(Event(kind, "", payload), Place("run-1", step, n, f"s{n}"), TIMES[minute])


def two_sessions(step: str = "work") -> list[dict[str, Any]]:
    """A session that fills up and hands off twice over."""
    lines = []
    for n in (1, 2):
        start = 20 * (n - 1)
        for minute in range(10):
            context = 30_000 + 12_000 * minute
            payload = {"context": context, "window": 200_000, "handoff_at": 150_000, "warn_at": 130_000}
            lines.append(told(start + minute, "context", n, step, **payload))
        lines.append(told(start + 10, "handoff", n, step, phase="writing", context=150_000))
        lines.append(told(start + 11, "handoff", n, step, phase="done", context=150_000, degraded=n == 2))
    return lines


def test_the_history_has_a_steps_measurements_and_handoffs_oldest_first() -> None:
    lines: list[dict[str, Any]] = [
        *two_sessions(), *two_sessions("docs"), {"kind": "context"}, {"step": "work", "at": "noon", "kind": "context"},
        told(50, "context", 3, context="many"), told(51, "text", 3),
    ]  # fmt: skip
    history = history_of(reversed(lines), "work")
    assert len(history.points) == 20
    assert history.points[0] == Point(history.points[0].at, 30_000, 1, 200_000, 150_000, 130_000)
    assert [point.at for point in history.points] == sorted(point.at for point in history.points)
    assert history.marks == (Mark(history.points[9].at + 120), Mark(history.points[19].at + 120, degraded=True))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_chart_is_drawn_as_svg_and_as_png(language: str, workspace: Path, environment: dict[str, str]) -> None:
    begun(workspace, "$设计_1$").lives.append(two_sessions("$设计_1$"))
    home = {**environment, "FLOWER_LANG": language, "MPLCONFIGDIR": str(workspace.parent / "mpl")}

    svg = flower("chart", "-o", "a chart.svg", cwd=workspace, environment=home)
    png = flower("chart", "$设计_1$", "-o", "chart.png", cwd=workspace, environment=home)

    assert (svg.code, svg.err, png.code, png.err) == (0, "", 0, "")
    drawn = "".join(xml.etree.ElementTree.parse(workspace / "a chart.svg").getroot().itertext())
    chinese, english = ("会话 2", "窗口", "降级", "预警线"), ("session 2", "window", "degraded", "warning")
    for words in ("$设计_1$", *(chinese if language == "zh" else english)):
        assert words in drawn
    data = (workspace / "chart.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == (1500, 675)
    assert sorted(path.name for path in workspace.glob("*chart*")) == ["a chart.svg", "chart.png"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["-o", "chart.pdf"], 2, ".png"),
        ([], 2, "-o"),
        (["docs", "-o", "c.svg"], 5, "work"),
        (["-o", "c.svg"], 5, "no measurements"),
    ],
    ids=["another format", "no file", "no such step", "no events"],
)
def test_what_cannot_be_drawn_is_said(
    arguments: list[str], code: int, says: str, workspace: Path, environment: dict[str, str]
) -> None:
    begun(workspace)
    done = flower("chart", *arguments, cwd=workspace, environment=environment)
    assert (done.code, done.out) == (code, "")
    assert says in done.err
    assert list(workspace.glob("c*")) == []


def test_a_chart_that_cannot_be_written_leaves_nothing(workspace: Path, environment: dict[str, str]) -> None:
    begun(workspace).lives.append(two_sessions())
    done = flower("chart", "-o", "nowhere/c.svg", cwd=workspace, environment=environment)
    assert done.code == 1
    assert "could not be written" in done.err


def test_without_the_chart_part_the_command_to_install_it_is_said(
    workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    begun(workspace).lives.append(two_sessions())
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not installed')")
    done = flower("chart", "-o", "c.svg", cwd=workspace, environment={**environment, "PYTHONPATH": str(tmp_path)})
    assert (done.code, done.out) == (2, "")
    assert "pip install 'flower-mcp[chart]'" in done.err
