"""What is said to a run whose inbox has become read-only: on a real disk, without the CLI."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from flower_mcp import HandoffPolicy
from flower_mcp.core.books import State
from flower_mcp.runtime.signals import What
from flower_mcp.workbench.inbox import Asks, Message
from tests.disks import read_only
from tests.e2e.editing import close, idle_run

AT = "2026-11-30T11:00:00.000000Z"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Listener:
    """A session that keeps what it is told."""

    alive = True

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    async def say(self, words: str, prompt_uuid: str) -> str:
        """Keep it."""
        self.told.append((words, prompt_uuid))
        return prompt_uuid


@pytest.mark.anyio
async def test_what_cannot_be_removed_is_heard_once_and_keeps_nobody_from_being_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workspace").mkdir()
    run = idle_run(tmp_path / "workspace", tmp_path / "runs", HandoffPolicy())
    lives = run.setting.books.lives
    asked: list[What] = []
    monkeypatch.setattr(run, "ask", asked.append)
    session = Listener()
    run.session = cast(Any, session)
    run.record.enter(State.WORKING)
    first = lives.put("work", Message(AT, "say", Asks.SAY, " "))
    for kind, words in ((Asks.HANDOFF, ""), (Asks.STOP, ""), (Asks.SAY, "Use tabs.")):
        lives.put("work", Message(AT, "say", kind, words))
    with read_only(first.parent):
        assert run.hearing.look()
        assert await run.hearing.tell()
        run.hearing.answered([uuid for _, uuid in session.told])
        assert not await run.hearing.tell()
        assert not run.hearing.look()
        assert not run.hearing.is_waiting
        run.hearing.end()
    assert ["Use tabs." in words for words, _ in session.told] == [True]
    assert asked == [What.HANDOFF, What.STOP]
    assert any("cannot be removed" in error for error in run.record.row.errors)
    assert not any("the next run tells it" in error for error in run.record.row.errors)
    close(run)
