"""`flower chart`: a step's context over time as a picture, from the events of its runs.

The drawing is matplotlib's. What can hurt: events.jsonl may be a gigabyte, so only its end is read, as far as a chart
can show it; a font may lack the characters of a step's name, so the picture is drawn in the language that it has.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from flower_mcp.cli.choosing import chosen_step, open_workbench
from flower_mcp.cli.output import Output
from flower_mcp.cli.phrases import home_path
from flower_mcp.cli.words import Language, Words, language
from flower_mcp.core.books import seconds
from flower_mcp.core.errors import ChartPartMissing, FilesError, NothingThere, Usage
from flower_mcp.workbench.folders import expanded
from flower_mcp.workbench.live import EVENTS
from flower_mcp.workbench.transcripts import lines_backwards

MOST_EVENTS = 200_000  # lines of events.jsonl that are read, from its end
MOST_BYTES = 128 * 2**20  # that these are looked for in
_FORMATS = (".svg", ".png")
_SIZE = (10.0, 4.5)  # inches
_COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#8172b3", "#937860")


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement: when (seconds since the epoch), tokens, and the session's number. 0: not told."""

    at: float
    context: int
    generation: int
    window: int = 0
    line: int = 0
    warns_at: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """A handoff: when (seconds since the epoch), and whether its document is degraded."""

    at: float
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """What there is to draw, oldest first."""

    points: tuple[Point, ...] = ()
    marks: tuple[Mark, ...] = ()


def chart_command(step: str | None, output: str, workspace: str) -> int:
    """Draw a step's chart into a file; the exit code. Raises Usage, NothingThere, FilesError, ChartPartMissing."""
    path = expanded(output)
    if path.suffix.lower() not in _FORMATS:
        raise Usage(f"A chart is a picture: {path.name!r} ends neither in .svg nor in .png.", next="-o context.svg")
    workbench = open_workbench(workspace)
    step = chosen_step(workbench, step, "chart")
    lines = islice(lines_backwards(workbench.lives.folder / EVENTS, most=MOST_BYTES), MOST_EVENTS)
    history = history_of(lines, step)
    if not history.points:
        raise NothingThere(
            f"There are no measurements of the step {step!r} yet.", next="There are some once it has worked."
        )
    words = Words(language(os.environ))
    _draw(words, step, history, path)
    sessions = len({point.generation for point in history.points})
    Output().line(words("chart drawn", path=home_path(path), count=len(history.points), sessions=sessions))
    return 0


def history_of(lines_from_the_end: Iterable[Mapping[str, Any]], step: str) -> History:
    """A step's measurements and handoffs, from lines of events.jsonl read backwards. What does not fit is left out."""
    points: list[Point] = []
    marks: list[Mark] = []
    for line in lines_from_the_end:
        if line.get("step") != step:
            continue
        at = _time(line.get("at"))
        if at is None:
            continue
        if line.get("kind") == "context" and _count(line.get("context")):
            points.append(
                Point(
                    at,
                    _count(line.get("context")),
                    _count(line.get("generation")),
                    _count(line.get("window")),
                    _count(line.get("handoff_at")),
                    _count(line.get("warn_at")),
                )
            )
        elif line.get("kind") == "handoff" and line.get("phase") == "done":
            marks.append(Mark(at, bool(line.get("degraded"))))
    return History(tuple(reversed(points)), tuple(reversed(marks)))


def _draw(words: Words, step: str, history: History, path: Path) -> None:
    """Draw and write the picture, whole or not at all. Raises ChartPartMissing, FilesError."""
    try:
        import matplotlib
    except ImportError as error:
        raise ChartPartMissing from error
    matplotlib.use("agg")
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text, in whatever font the viewer has
    is_drawn = path.suffix.lower() == ".png"
    if is_drawn and not _has_chinese(matplotlib) and words.language is Language.CHINESE:
        words = Words(Language.ENGLISH)
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    _draw_points(axes, words, history.points)
    _draw_marks(axes, words, history.marks)
    axes.set_title(words("chart title", step=step), loc="left", parse_math=False)
    axes.set_ylabel(words("chart tokens"))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    new = path.with_name(f".{path.name}.new{path.suffix}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a character that the font lacks is drawn as a box
            figure.savefig(new, dpi=150)
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise FilesError(f"The chart could not be written to {path}: {error.strerror}.", next="-o FILE") from error


def _draw_points(axes: Any, words: Words, points: Sequence[Point]) -> None:
    """A line for each session, and the window and the handoff line as they were."""
    times = [_moment(point.at) for point in points]
    for name, figures, style in (
        ("chart window", [point.window for point in points], {"color": "#c44e52", "linestyle": "-"}),
        ("chart line", [point.line for point in points], {"color": "#c44e52", "linestyle": "--"}),
        ("chart warns", [point.warns_at for point in points], {"color": "#ccb974", "linestyle": "--"}),
    ):
        if any(figures):
            known = [figure / 1000 if figure else float("nan") for figure in figures]
            axes.step(times, known, where="post", label=words(name), linewidth=1, **style)
    for index, generation in enumerate(dict.fromkeys(point.generation for point in points)):
        mine = [point for point in points if point.generation == generation]
        axes.plot(
            [_moment(point.at) for point in mine],
            [point.context / 1000 for point in mine],
            color=_COLOURS[index % len(_COLOURS)],
            marker="o",
            markersize=3,
            label=words("chart session", n=generation) if index < 12 else None,
        )


def _draw_marks(axes: Any, words: Words, marks: Sequence[Mark]) -> None:
    """A line down at each handoff."""
    named: set[str] = set()
    for mark in marks:
        name = "chart degraded" if mark.degraded else "chart handoff"
        label = None if name in named else words(name)
        named.add(name)
        axes.axvline(_moment(mark.at), color="#888888", linestyle=":" if mark.degraded else "-.", label=label)


def _has_chinese(matplotlib: Any) -> bool:
    """Whether one of the machine's fonts has Chinese; it is then the first choice."""
    from matplotlib import font_manager

    for wanted in ("Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei", "PingFang SC", "SimHei"):
        if wanted in font_manager.get_font_names():
            matplotlib.rcParams["font.family"] = [wanted, "DejaVu Sans"]
            return True
    return False


def _moment(at: float) -> datetime:
    """The time here, without its zone: matplotlib shows what it is given."""
    return datetime.fromtimestamp(at, UTC).astimezone().replace(tzinfo=None)


def _time(value: object) -> float | None:
    try:
        return seconds(str(value))
    except ValueError:
        return None


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0
