"""The sentences with which a run stops at a limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp import AgentSpec, HandoffPolicy
from flower_mcp.core.decide import Ending
from flower_mcp.runtime.ending import stop
from tests.e2e.editing import close, idle_run

BOTH = {"max_turns": 4, "max_budget_usd": 5.0}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("spec", "turns", "spent", "ending", "told"),
    [
        ({"max_turns": 1}, 2, 0.0, Ending.TURNS, "reached the limit of 1 turn (2 used, the last one to its end); go on with --max-turns 4"),  # noqa: E501
        ({"max_turns": 4}, 4, 0.0, Ending.TURNS, "reached the limit of 4 turns; go on with --max-turns 8"),
        ({"max_budget_usd": 5.0}, 2, 5.02, Ending.BUDGET, "spent 5.02 of 5.00 USD; go on with --budget 11"),
        ({"max_budget_usd": 0.001}, 2, 0.0042, Ending.BUDGET, "spent 0.0042 of 0.0010 USD; go on with --budget 1"),
        (BOTH, 2, 4.9, Ending.BUDGET, "spent 4.90 of 5.00 USD; go on with --budget 10"),  # the CLI has counted more
        (BOTH, 4, 5.02, Ending.TURNS, "reached the limit of 4 turns; go on with --max-turns 8"),
    ],
    ids=["one turn", "turns", "budget", "a small budget", "both, at the budget", "both, at the turns"],
)  # fmt: skip
async def test_a_limit_is_told_in_figures_that_make_sense(
    spec: dict[str, float], turns: int, spent: float, ending: Ending, *, told: str, tmp_path: Path
) -> None:
    (tmp_path / "workspace").mkdir()
    run = idle_run(tmp_path / "workspace", tmp_path / "runs", HandoffPolicy())
    run.spec = AgentSpec(**spec)  # type: ignore[arg-type]
    run.record.change(num_turns=turns)
    run.spent_before, run.ending = spent, ending
    await stop(run)
    assert run.record.row.error == told
    close(run)
