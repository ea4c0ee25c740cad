"""The area below a run: its rows by tables, for every width, in both languages; and what draws them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from flower_mcp.cli.live import AreaFacts, LiveArea, painted
from flower_mcp.cli.live_area import Moment, area_rows, fit
from flower_mcp.cli.output import clean
from flower_mcp.cli.words import Language, Words
from flower_mcp.core.books import DocumentState, Generation, LiveStep, State, StepResult
from flower_mcp.core.events import Event
from flower_mcp.runtime.present import Present
from tests.cli.test_output import ERASE, Screen, screen

__all__ = ["screen"]

ENGLISH, CHINESE = Words(), Words(Language.CHINESE)
PATH = "/home/ann/proj/.flower/notes/交接-work.md"
HOSTILE = "\x1b[2J\x9b5A交接\r\n\t\u2028" * 40
FIGURES = "$0.42  turns 14  1m 12s"


def present(
    state: State = State.WORKING,
    *,
    context: int = 52_300,
    step: str = "work",
    cost: float | None = 0.42,
    path: str = PATH,
    about: bool = False,
    calls: tuple[str, ...] = (),
    is_paid: bool = True,
) -> Present:
    """A step whose second session works."""
    sessions = (Generation(1, "a"), Generation(2, "b"))
    row = StepResult("run", step, generations=sessions, context=context, window=200_000, cost_usd=cost)
    document = DocumentState(path, "r", complete=True)
    live = LiveStep(step, state, row, at=150_000, warn_at=130_000, document=document, context_estimated=about)
    return Present(live, calls, 14, is_paid)


def shown(moment: Moment, columns: int = 80, rows: int = 24, words: Words = ENGLISH, **more: Any) -> list[str]:
    """The texts of the rows."""
    return [row.text for row in area_rows(words, moment, (columns, rows), **more)]


MOMENTS = {
    "working": Moment(present(calls=("Bash: pytest -q",)), elapsed=72, in_call=12),
    "answering": Moment(present(is_paid=False, about=True), elapsed=72),
    "starting": Moment(present(State.LAUNCHING, cost=None), elapsed=1, in_state=1),
    "writing": Moment(present(State.WRITING, context=152_000), elapsed=72, in_state=14),
    "draining": Moment(present(State.DRAINING), elapsed=72, in_state=70, told="waiting for 2 agents: tests, docs"),
    "waiting": Moment(
        present(State.WAITING),
        elapsed=72,
        told="rate: trying again in 60 s",
        until=1_700_000_060.0,
        now=1_700_000_012.5,
    ),
    "editing": Moment(present(State.EDITING, context=152_000), elapsed=72, waits="4 s", keys=True),
    "held": Moment(present(State.HELD), elapsed=72, waits="held", is_held=True, release="flower release -w /a"),
    "hostile": Moment(present(step=HOSTILE, calls=(HOSTILE, "b"), path=HOSTILE), told=HOSTILE, in_call=99),
    "hostile wait": Moment(present(State.HELD, step=HOSTILE, path=HOSTILE), waits="held", hold=HOSTILE),
}


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time zone that is the same everywhere."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("name", "title", "details"),
    [
        ("working", "work  session 2  working", ["Bash: pytest -q  12s"]),
        ("answering", "work  session 2  working", ["the model answers"]),
        ("starting", "work  session 2  launching", ["a session starts"]),
        ("writing", "work  session 2  writing handoff 14s", ["the model answers"]),
        ("draining", "work  session 2  draining 1m 10s", ["waiting for 2 agents: tests, docs"]),
        ("waiting", "work  session 2  waiting", ["until 22:14:20, 48s left  rate: trying again in 60 s"]),
        ("editing", "work  session 2  edit window", [PATH, "4 s  h holds, e edits, Enter launches, q stops"]),
        ("held", "work  session 2  held", [PATH, "held  to go on: flower release -w /a"]),
    ],
)
def test_each_state_says_what_it_does_and_for_how_long_at_80_columns(name: str, title: str, details: list[str]) -> None:
    rule, first, bar, *rest = shown(MOMENTS[name])

    figures = {"answering": FIGURES.replace("2  t", "2+  t"), "starting": "turns 14  1s"}.get(name, FIGURES)
    assert rule == "─" * 79
    assert first == title + figures.rjust(79 - len(title))
    assert bar.endswith("K/200K  warns at 130.0K, handoff at 150.0K")
    assert rest == details


def test_the_bar_shows_the_context_and_where_the_lines_are_and_an_estimate_is_marked() -> None:
    assert shown(MOMENTS["working"])[2].split()[0] == "████████░░░░░░░░░░░░│░░░│░░░░░░░"
    assert " ~52.3K/200K " in shown(MOMENTS["answering"])[2]
    colours = [
        area_rows(ENGLISH, Moment(present(context=context)), (80, 24))[2].parts[0][1]
        for context in (129_999, 130_000, 150_000)
    ]
    assert colours == ["green", "yellow", "red"]


def test_without_handoff_no_line_is_drawn() -> None:
    bar = shown(replace(MOMENTS["working"], handoff=False))[2]

    assert "│" not in bar
    assert bar.endswith(" 52.3K/200K")


def test_at_40_columns_the_figures_have_a_row_of_their_own_and_all_that_counts_is_there() -> None:
    assert shown(MOMENTS["editing"], 40) == [
        "─" * 39,
        "work  session 2  edit window",
        "$0.42  turns 14  1m 12s",
        "█████████████████│██│░░░░░░ 152.0K/200K",
        "…me/ann/proj/.flower/notes/交接-work.md",
        "4 s  h hold, e edit, Enter go, q stop",
    ]
    assert shown(MOMENTS["writing"], 40, words=CHINESE) == [
        "─" * 39,
        "work  会话 2  在写交接 14s",
        "$0.42  轮数 14  1m 12s",
        "█████████████████│██│░░░░░░ 152.0K/200K",
        "模型在回答",
    ]


@pytest.mark.parametrize(("rows", "expected"), [(24, 5), (10, 5), (8, 4), (5, 3), (3, 2), (2, 1), (1, 1)])
def test_a_low_terminal_keeps_room_for_the_log_and_what_matters_most(rows: int, expected: int) -> None:
    texts = shown(MOMENTS["editing"], 80, rows)

    assert len(texts) == expected
    assert texts[0 if rows < 10 else 1].startswith("work  session 2  edit window")
    assert expected < 2 or texts[-1].startswith("4 s  h holds")


@pytest.mark.parametrize("words", [ENGLISH, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize("name", MOMENTS)
def test_no_row_is_as_wide_as_the_terminal_and_none_has_a_control_character(name: str, words: Words) -> None:
    for columns in (1, 19, 20, 21, 30, *range(40, 201)):
        for text in shown(MOMENTS[name], columns, 24, words):
            assert cell_len(text) < columns, (columns, text)
            assert clean(text) == text
            assert text.isprintable()


def test_in_ascii_the_area_itself_is_ascii() -> None:
    assert all(text.isascii() for text in shown(MOMENTS["working"], is_ascii=True))
    assert shown(MOMENTS["editing"], 40, is_ascii=True)[4] == ".../ann/proj/.flower/notes/交接-work.md"


@given(st.text(), st.integers(0, 60), st.booleans(), st.booleans())
def test_any_text_fits_in_any_width(text: str, width: int, keep_end: bool, is_ascii: bool) -> None:
    cut = fit(text, width, keep_end=keep_end, is_ascii=is_ascii)

    assert cell_len(cut) <= width
    assert clean(cut) == cut
    assert "\n" not in cut


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.STOPPED])
def test_nothing_is_shown_once_the_step_has_ended(state: State) -> None:
    assert shown(Moment(present(state))) == []


class Clock:
    """A clock that stands still until it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_draws_what_is_so_now_and_nothing_while_nothing_changes(screen: Screen) -> None:
    clock, now = Clock(), [present(calls=("Read: /p/one",))]
    area = LiveArea(screen.output, ENGLISH, AreaFacts(workspace=Path("/p")), lambda: now[0], clock)
    area.draw()
    once = screen.getvalue()
    clock.now += 0.4
    area.draw()
    assert screen.getvalue() == once

    clock.now += 3
    area.draw()
    assert screen.getvalue().endswith("\x1b[3A\r")
    assert "Read: one  3s" in screen.getvalue().removeprefix(once)

    area.take(Event("result"), {})
    area.draw()
    assert screen.getvalue().endswith(ERASE)


def test_what_is_waited_for_is_told_until_the_work_goes_on(screen: Screen) -> None:
    area = LiveArea(screen.output, ENGLISH, AreaFacts(), lambda: present(State.WAITING))

    area.take(Event("retry", "rate: trying again in 60 s", {"seconds": 60.0}), {})
    area.draw()
    assert " left  rate: trying again in 60 s" in screen.getvalue()

    shown_before = screen.getvalue()
    area.take(Event("text", "On."), {})
    area.draw()
    assert "the model answers" in screen.getvalue().removeprefix(shown_before)

    until = {"phase": "open", "until": "2026-11-30T23:59:50.000000Z", "seconds": 60, "why": "out of quota"}
    area.take(Event("wait", "rate: waiting", until), {})
    area.draw()
    assert "until 23:59:50, " in screen.getvalue()
    assert " left  out of quota" in screen.getvalue()
    shown_before = screen.getvalue()
    area.take(Event("wait", "waited 60 s", {"phase": "closed", "seconds": 60.0}), {})
    area.draw()
    assert "the model answers" in screen.getvalue().removeprefix(shown_before)


def test_a_document_that_waits_is_counted_down_with_the_keys(screen: Screen) -> None:
    clock = Clock()
    area = LiveArea(screen.output, ENGLISH, AreaFacts(keys=True), lambda: present(State.EDITING), clock)
    area.take(Event("edit", "", {"phase": "open", "seconds": 5.0}), {})
    clock.now += 1.5
    area.draw()

    assert PATH in screen.getvalue()
    assert "4 s" in screen.getvalue()
    assert "h holds" in screen.getvalue()


def test_rows_are_painted_as_wide_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    rows = area_rows(CHINESE, MOMENTS["editing"], (80, 24))

    assert [clean(text) for text in painted(rows, 80)] == [row.text for row in rows]
    assert "\x1b[" in "".join(painted(rows, 80))
