"""Context and cost: the type checker refuses whatever mixes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp.core.figures import Context, Cost

MIXED = """
from flower_mcp.core.figures import Context, Cost


def left(context: Context) -> int:
    return context


def spent(cost: Cost) -> float:
    return cost


tokens, usd = Context(90_000), Cost(1.5)
left(tokens)
spent(usd)
left(usd)  # wrong
spent(tokens)  # wrong
left(14_800_000)  # wrong: a sum of a turn's usage
spent(3)  # wrong
also: Context = tokens + 7  # wrong: no context any more
and_this: Cost = usd + tokens  # wrong
"""


@pytest.mark.slow
def test_the_type_checker_refuses_a_context_for_a_cost_and_a_sum_for_either(tmp_path: Path) -> None:
    """With the project's own settings and cache: what `make check` has looked at is not looked at again."""
    api = pytest.importorskip("mypy.api")
    root = Path(__file__).parents[2]
    snippet = tmp_path / "mixed.py"
    snippet.write_text(MIXED)
    settings = [f"--config-file={root / 'pyproject.toml'}", f"--cache-dir={root / '.mypy_cache'}"]
    told, problems, code = api.run([*settings, "--no-error-summary", str(snippet)])
    wrong = [number for number, line in enumerate(MIXED.splitlines(), 1) if "# wrong" in line]
    assert code == 1, problems
    assert sorted({int(line.split(":")[1]) for line in told.splitlines() if ": error:" in line}) == wrong, told


def test_at_run_time_they_are_plain_numbers() -> None:
    assert type(Context(7)) is int
    assert type(Cost(7.5)) is float
