"""The area below a run on a live terminal: what its rows say. Values in, rows out.

It must not know where the values come from, nor the terminal; live.py draws the rows. What can hurt: a model's words
are in it (a step's name, a tool's input, a reason), so each text is cleaned and cut here; and a row that is a cell too
wide wraps, so the last column stays free.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from flower_mcp.cli.bar import SMALLEST, context_bar, plain
from flower_mcp.cli.output import clean
from flower_mcp.cli.phrases import cost_text, home_path
from flower_mcp.cli.show import near_call
from flower_mcp.cli.words import Words
from flower_mcp.core.books import State
from flower_mcp.core.texts import context_text, time_text, used_text, window_text

if TYPE_CHECKING:
    from flower_mcp.runtime.present import Present

NARROWEST = 20  # columns; in fewer nothing can be said
MOST_ROWS = 6
WIDEST_BAR = 60  # cells
_PLENTY = 20  # cells of a bar that leave room for the lines' figures
_LONGEST_NAME = 40  # cells
_SHOWN_AFTER = 2.0  # seconds; what takes less needs no clock
_TIMED = frozenset({State.DRAINING, State.WRITING, State.HELD, State.LAUNCHING, State.WAITING})


_SHORTER = frozenset({State.DRAINING, State.WRITING, State.EDITING})
_SPACE = re.compile(r"[^\S ]+")  # line ends and tabs, also those of Unicode


@dataclass(frozen=True, slots=True)
class Row:
    """A row, in parts of text and style (a name of rich's, or "")."""

    parts: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The row without styles."""
        return "".join(text for text, _ in self.parts)


@dataclass(frozen=True, slots=True)
class Moment:
    """What is shown at an instant. Times in seconds.

    `in_state`, `in_call`: since the state, or the oldest tool call, began. `told`: the last remark on what is waited
    for; `until`: when the wait ends, and `now`, both since the epoch. `waits`: why a document waits; `keys`: somebody
    can press them; `hold`, `release`: the commands to type. `handoff`: the lines count.
    Paths in `workspace` are told from there.
    """

    present: Present
    elapsed: float = 0.0
    in_state: float = 0.0
    in_call: float = 0.0
    told: str = ""
    until: float | None = None
    now: float = 0.0
    waits: str = ""
    is_held: bool = False
    keys: bool = False
    hold: str = "flower hold"
    release: str = "flower release"
    handoff: bool = True
    workspace: Path | None = None


@dataclass(frozen=True, slots=True)
class _Drawing:
    """What all rows need; `width` in cells."""

    words: Words
    moment: Moment
    width: int
    is_ascii: bool

    def fit(self, text: str, width: int | None = None, *, keep_end: bool = False) -> str:
        """The text cut to the row, or to `width` cells."""
        return fit(text, self.width if width is None else width, is_ascii=self.is_ascii, keep_end=keep_end)


def area_rows(words: Words, moment: Moment, size: tuple[int, int], *, is_ascii: bool = False) -> list[Row]:
    """The rows for a terminal of `size` (columns, rows), each narrower than it; none once the step has ended,
    nor in a terminal that is hardly wider than a word.

    Where there is no room for all, what can be read elsewhere goes first.
    """
    if moment.present.live.state.ended or size[0] < NARROWEST:
        return []
    drawing = _Drawing(words, moment, size[0] - 1, is_ascii)
    most = max(1, min(MOST_ROWS, (size[1] + 1) // 2))
    ranked = [_rule(drawing), *_title(drawing), _bar(drawing), *_details(drawing)]
    while len(ranked) > most:
        ranked.remove(max(ranked, key=lambda each: each[0]))
    return [row if cell_len(row.text) <= drawing.width else _row(drawing.fit(row.text)) for _, row in ranked]


def fit(text: str, width: int, *, is_ascii: bool = False, keep_end: bool = False) -> str:
    """The text cut to `width` cells; with `keep_end` its start is what goes. Double spaces stay; controls do not."""
    line = _SPACE.sub(" ", clean(text))
    if cell_len(line) <= width:
        return line
    cut = "..." if is_ascii else "…"
    room = width - len(cut)
    if room <= 0:
        return cut[: max(0, width)]
    if keep_end:
        backwards = set_cell_size(line[::-1], room).rstrip()
        return cut + backwards[::-1]
    return set_cell_size(line, room).rstrip() + cut


# Each row comes with a rank: the highest goes first where there is no room.


def _rule(drawing: _Drawing) -> tuple[int, Row]:
    return 5, _row(("-" if drawing.is_ascii else "─") * drawing.width, "dim")


def _title(drawing: _Drawing) -> list[tuple[int, Row]]:
    """The step, its session, its state; cost, turns and time beside it, or below where it is narrow."""
    words, moment, live = drawing.words, drawing.moment, drawing.moment.present.live
    state = words(f"{'live' if live.state in _SHORTER else 'state'} {live.state}")
    if live.state in _TIMED and moment.in_state >= _SHOWN_AFTER:
        state += f" {time_text(int(moment.in_state))}"
    number = live.row.generation.n if live.row.generation else 0
    parts = [words("status generation", n=number)] if number else []
    rest = "  ".join(["", *parts, state])
    longest = max(8, min(_LONGEST_NAME, drawing.width - cell_len(rest)))
    name, figures = drawing.fit(live.step, longest), _figures(drawing)
    gap = drawing.width - cell_len(name) - cell_len(rest) - cell_len(figures)
    if gap >= 2:
        return [(0, Row(((name, "bold"), (rest, ""), (" " * gap + figures, "dim"))))]
    rest = drawing.fit(rest, drawing.width - cell_len(name)) if drawing.width - cell_len(name) > SMALLEST else ""
    return [(0, Row(((name, "bold"), (rest, "")))), (3, _row(drawing.fit(figures), "dim"))]


def _figures(drawing: _Drawing) -> str:
    """Cost, turns and time. The books have no cost of a prompt that is being answered: it is more than they tell."""
    words, present = drawing.words, drawing.moment.present
    cost = present.live.row.cost_usd
    known = [] if cost is None else [cost_text(words, cost) + ("" if present.is_paid else "+")]
    return "  ".join([*known, words("live turns", turns=present.turns), time_text(int(drawing.moment.elapsed))])


def _bar(drawing: _Drawing) -> tuple[int, Row]:
    words, moment, live = drawing.words, drawing.moment, drawing.moment.present.live
    context, window = live.row.context, live.row.window
    figures = f"{context_text(context, live.context_estimated)}/{window_text(window)}"
    has_lines = moment.handoff and live.at is not None and live.warn_at is not None
    texts = [(figures, 0)]
    if has_lines:
        at, warn_at = used_text(live.at or 0), used_text(live.warn_at or 0)
        texts.insert(0, (f"{figures}  {words('live line', at=at)}", _PLENTY))
        texts.insert(0, (f"{figures}  {words('live lines', at=at, warn_at=warn_at)}", _PLENTY))
    text = next((text for text, least in texts if drawing.width - cell_len(text) - 1 >= least), figures)
    room = drawing.width - cell_len(text) - 1
    if room < SMALLEST:
        return 2, _row(drawing.fit(figures), _colour(drawing))
    lines = (live.warn_at, live.at) if has_lines else ()
    bar = context_bar(context, window, lines, width=min(WIDEST_BAR, room))
    return 2, Row(((plain(bar) if drawing.is_ascii else bar, _colour(drawing)), (f" {text}", "")))


def _colour(drawing: _Drawing) -> str:
    live = drawing.moment.present.live
    if not drawing.moment.handoff or live.at is None or live.warn_at is None:
        return "green"
    return "red" if live.row.context >= live.at else "yellow" if live.row.context >= live.warn_at else "green"


def _details(drawing: _Drawing) -> list[tuple[int, Row]]:
    """What the step does now, or what it waits for."""
    words, moment, present = drawing.words, drawing.moment, drawing.moment.present
    state, row = present.live.state, present.live.row
    if moment.waits:
        return _waiting_document(drawing)
    if moment.until is not None:
        left = time_text(max(0, math.ceil(moment.until - moment.now)))
        clock = time.strftime("%H:%M:%S", time.localtime(moment.until))
        return [(1, _row(drawing.fit(f"{words('live until', time=clock, left=left)}  {moment.told}")))]
    if present.calls:
        first, others = near_call(present.calls[0], moment.workspace), len(present.calls) - 1
        ends = [f" {words('live more', count=others)}"] if others else []
        if moment.in_call >= _SHOWN_AFTER:
            ends.append(f"  {time_text(int(moment.in_call))}")
        end = "".join(ends)
        return [(1, _row(drawing.fit(first, max(1, drawing.width - cell_len(end))) + end))]
    usual = "live starts" if state in (State.IDLE, State.LAUNCHING) or not row.generation else "live answers"
    return [(1, _row(drawing.fit(moment.told or words(usual)), "" if moment.told else "dim"))]


def _waiting_document(drawing: _Drawing) -> list[tuple[int, Row]]:
    """Where the document is, for how long it waits still, and how to hold it or let it go."""
    words, moment = drawing.words, drawing.moment
    document = moment.present.live.document
    if moment.keys:
        how = words("live go on keys" if moment.is_held else "live hold keys")
    else:
        command = moment.release if moment.is_held else moment.hold
        how = words("live go on" if moment.is_held else "live hold", command=command)
    path = [] if document is None else [(4, _row(drawing.fit(home_path(document.path), keep_end=True), "cyan"))]
    waits = drawing.fit(moment.waits)
    room = drawing.width - cell_len(waits) - 2
    if moment.keys and not moment.is_held and cell_len(how) > room:
        how = words("live hold keys short")
    rest = drawing.fit(how, room) if room >= SMALLEST else ""
    return [*path, (1, Row(((waits, "bold"), (f"  {rest}" if rest else "", ""))))]


def _row(text: str, style: str = "") -> Row:
    return Row(((text, style),))
