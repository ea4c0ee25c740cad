"""The line that counts: for how long a document waits still, or for whom."""

from __future__ import annotations

from typing import Any

import pytest

from flower_mcp.cli.countdown import Countdown
from flower_mcp.cli.words import Words
from flower_mcp.core.events import Event


class Clock:
    """A clock that stands still until it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def edit(phase: str, **payload: Any) -> Event:
    """An event of the window."""
    return Event("edit", "", {"phase": phase, **payload})


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], ""),
        ([edit("open", seconds=5.0)], "3 s"),
        ([edit("open", seconds=2.0)], "waiting for your editor"),
        ([edit("open", seconds=5.0), edit("held")], "held"),
        ([edit("open", seconds=5.0), edit("held"), edit("seen")], "held"),
        ([edit("open", seconds=5.0), edit("broken")], "waiting until it is mended"),
        ([edit("open", seconds=5.0), edit("held"), edit("broken")], "held"),
        ([edit("open", seconds=5.0), edit("broken"), edit("seen")], "3 s"),
        ([edit("open", seconds=5.0), edit("held"), edit("released")], "3 s"),
        ([edit("open", seconds=5.0), edit("closed")], ""),
        ([edit("open", seconds=5.0), Event("session", "", {"phase": "launched"})], ""),
        ([edit("open", seconds=5.0), Event("result")], ""),
        ([edit("late"), edit("seen")], ""),
        ([edit("open", seconds=5.0), Event("text", "hello")], "3 s"),
        ([edit("open", seconds=5.0), edit("held"), Event("session", "", {"phase": "told"})], "held"),
        ([edit("open", seconds=5.0), Event("session", "", {"phase": "cleared"})], "3 s"),
    ],
)
def test_the_line_says_what_is_waited_for(events: list[Event], expected: str) -> None:
    clock = Clock()
    countdown = Countdown(Words(), clock)

    for event in events:
        countdown.take(event, {})
    clock.now += 2.5

    assert countdown.text == expected


def test_a_save_lets_it_count_from_the_start() -> None:
    clock = Clock()
    countdown = Countdown(Words(), clock)
    countdown.take(edit("open", seconds=5.0), {})
    clock.now += 4

    countdown.take(edit("seen"), {})

    assert countdown.text == "5 s"
