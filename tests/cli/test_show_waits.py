"""What a person reads while a run waits for the world."""

from __future__ import annotations

import pytest

from flower_mcp.cli.choosing import local_time
from flower_mcp.cli.show import Facts, Log
from flower_mcp.cli.words import Language, Words
from flower_mcp.core.events import Event

UNTIL, SINCE = "2026-11-30T13:56:00.000000Z", "2026-11-30T10:50:00.000000Z"


@pytest.mark.parametrize("language", Language)
def test_a_wait_says_for_what_until_when_and_how_to_go_on_later(language: Language) -> None:
    log = Log(Words(language), Facts("work", go_on="flower --step work"))
    limit = Event("wait", "", {"phase": "open", "why": "You've hit your 5-hour limit", "until": UNTIL})
    network = Event("wait", "", {"phase": "open", "address": "api.example:443", "since": SINCE, "until": UNTIL})
    over = Event("wait", "", {"phase": "closed", "seconds": 61.2})
    [first], [second], [third] = (log.lines(event, 1) for event in (limit, network, over))
    assert "You've hit your 5-hour limit" in first
    assert local_time(UNTIL) in first
    assert "flower --step work" in first
    assert "api.example:443" in second
    assert local_time(SINCE) in second
    assert local_time(UNTIL) in second
    assert "1m 1s" in third
