"""The same command again, after a kill: what the person said is kept once. On a real disk, without the CLI."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.core.books import LiveStep, State, StepResult
from flower_mcp.runtime.look import look
from flower_mcp.workbench.inbox import Asks, Message
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.tasks import By
from tests.runtime.conftest import Prepare

pytestmark = pytest.mark.anyio
AT = "2026-11-30T11:00:00.000000Z"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def said_again(
    workspace: Path, words: str, prepare: Prepare, state: State, *later: tuple[By, str], waits: str = ""
) -> str:
    """Say `words` to a step whose last run left that state and was told "The task.", then `later`; all its words."""
    bench = Workbench(workspace)
    Known().remember(workspace, "work")
    bench.tasks.start("work", "The task.")
    for by, text in later:
        bench.tasks.add("work", text, by, AT)
    bench.lives.write(LiveStep("work", state, StepResult("run-1", "work", state=state)))
    if waits:
        bench.lives.put("work", Message(AT, "flower", Asks.SAY, waits))
    await look(prepare(workspace, words))
    return bench.tasks.read("work") or ""


@pytest.mark.parametrize("state", [State.IDLE, State.LAUNCHING, State.WORKING])
@pytest.mark.parametrize(
    "case",
    [
        ((), "The task.", 1),
        (((By.SAY, "Use tabs."),), "The task.", 1),
        (((By.INTERRUPT, "Stop."), (By.SAY, "Use tabs.")), "The task.", 1),
        (((By.FLOWER, "More."), (By.SAY, "Use tabs.")), "More.", 1),
        (((By.FLOWER, "More."),), "The task.", 2),
        (((By.SAY, "More."),), "More.", 2),
        ((), "The task. And more", 1),
    ],
    ids=["at once", "said", "said twice", "later words", "the first words again", "said before", "other words"],
)
async def test_the_last_command_again_after_a_kill_adds_nothing(
    tmp_path: Path, prepare: Prepare, state: State, case: tuple[tuple[tuple[By, str], ...], str, int]
) -> None:
    later, words, times = case
    assert (await said_again(tmp_path, words, prepare, state, *later)).count(words) == times


async def test_the_last_command_again_after_an_end_is_said_again(tmp_path: Path, prepare: Prepare) -> None:
    assert (await said_again(tmp_path, "The task.", prepare, State.STOPPED)).count("The task.") == 2


async def test_words_that_a_killed_run_left_in_the_inbox_are_not_kept_twice(tmp_path: Path, prepare: Prepare) -> None:
    assert (await said_again(tmp_path, "More.", prepare, State.IDLE, waits="More.")).count("More.") == 1
