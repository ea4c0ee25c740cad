"""Drawing what happens to a window, and where it comes from."""

from __future__ import annotations

from typing import Any

import pytest

from flower_mcp.cli.show import Facts, Log
from flower_mcp.cli.show_windows import source_text
from flower_mcp.cli.words import Language, Words
from flower_mcp.core.events import Event

ENGLISH, CHINESE = Words(), Words(Language.CHINESE)
SAID = "prompt is too long: 61050 tokens > 60000 maximum"
LEARNED = {"window": 60_000, "at": "not a time", "from": SAID}
IN_FORCE: dict[str, Any] = {"window": 60_000, "window_source": "learned", "handoff_at": 45_000, "learned": LEARNED}
BACK: dict[str, Any] = {"window": 1_000_000, "window_source": "reported", "handoff_at": 950_000, "forgotten": 60_000}

LINES: dict[str, tuple[dict[str, Any], str]] = {
    "learned": (
        {"phase": "learned", **IN_FORCE},
        f"# the window is 60K, learned from: {SAID}; the next session hands off at 45.0K",
    ),
    "set": (
        {"phase": "learned", **IN_FORCE, "window": 200_000, "window_source": "set", "refused": 60_000},
        f"! the API has refused below the window of 200K that you set: {SAID}; use --window 60000",
    ),
    "exceeded": (
        {"phase": "forgotten", "why": "exceeded", "context": 61_000, **BACK},
        "# the learned window of 60K was wrong, a request of 61.0K was accepted: it is 1000K (reported by the CLI)",
    ),
    "filled": (
        {"phase": "forgotten", "why": "filled", "context": 46_000, **BACK},
        "# the learned window of 60K is dropped, a new session begins with 46.0K: it is 1000K (reported by the CLI)",
    ),
    "assumed": (
        {"phase": "assumed", "window": 1_000_000, "window_source": "reported", "handoff_at": 950_000, "model": "glm-9"},
        "# Claude Code does not know glm-9: its window of 1000K is an assumption; --window sets the right one",
    ),
    "advised": (
        {"phase": "advised", "window": 1_000_000, "contexts": [951_000, 948_200], "line": 200_000},
        "! two documents in a row could not be written by a session, at 951.0K, 948.2K of 1000K: --at 200000 hands "
        "off earlier",
    ),
}


@pytest.mark.parametrize("name", sorted(LINES))
def test_what_happens_to_a_window_is_drawn_without_being_asked_for(name: str) -> None:
    payload, line = LINES[name]

    assert Log(ENGLISH, Facts("work")).lines(Event("context", "told", payload), 1) == [line]
    assert len(Log(CHINESE, Facts("work"), verbose=True).lines(Event("context", "told", payload), 1)) == 1


def test_a_phase_that_is_not_known_draws_nothing() -> None:
    assert Log(ENGLISH, Facts("work"), verbose=True).lines(Event("context", "", {"phase": "new"}), 1) == []


def test_a_learned_window_is_named_with_its_date_and_its_text_when_a_run_begins() -> None:
    event = Event("session", "", {"phase": "started", "model": "m", **IN_FORCE})

    lines = Log(ENGLISH, Facts("work")).lines(event, 1)

    assert len(lines) == 4
    assert lines[1] == (f"model m, window 60K (learned from an overflow on not a time: {SAID}), hands off at 45.0K")
    assert source_text(ENGLISH, {"window_source": "learned"}) == "learned from an overflow"
    assert source_text(ENGLISH, {}) == "guessed from the name"
