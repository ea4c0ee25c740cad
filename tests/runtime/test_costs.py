"""What a run cost, from totals of sessions that can start again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.figures import Cost
from flower_mcp.runtime.costs import Costs, not_reported, unknown_before


@pytest.mark.parametrize(
    ("reports", "cost"),
    [
        pytest.param([], None, id="nothing reported: unknown, not nothing"),
        pytest.param([None, None], None, id="a result without a total: still unknown"),
        pytest.param([0.0], 0.0, id="a total of nothing is known"),
        pytest.param([0.1, 0.25, 0.25], 0.25, id="totals of one session are not added up"),
        pytest.param([0.1, None, 0.3], 0.3, id="a result without a total changes nothing"),
        pytest.param([0.5, 0.2], 0.7, id="a total that falls began again: it comes on top"),
        pytest.param([0.5, 0.2, 0.4], 0.9, id="and grows from there"),
    ],
)
def test_a_sessions_cost_is_its_total_and_what_it_lost_when_it_began_again(
    reports: list[float | None], cost: float | None
) -> None:
    costs = Costs()
    for total in reports:
        costs.report("a", None if total is None else Cost(total))
    assert costs.of("a") == cost
    assert costs.total == cost


def test_a_runs_cost_is_that_of_all_its_sessions() -> None:
    costs = Costs()
    costs.report("a", Cost(1.5))
    costs.report("b", Cost(0.25))
    assert (costs.of("a"), costs.of("b"), costs.of("c"), costs.total) == (1.5, 0.25, None, 1.75)


def test_what_earlier_runs_paid_for_a_session_is_not_paid_again() -> None:
    costs = Costs()
    costs.resume("a", Cost(2.0))
    assert costs.total is None
    costs.report("a", Cost(2.5))
    assert costs.of("a") == 0.5


def test_a_session_that_was_resumed_in_several_runs_costs_what_it_adds() -> None:
    costs = Costs()
    costs.resume("a", Cost(1.0))
    costs.resume("a", Cost(0.5))  # the second run's row has what that run added
    costs.report("a", Cost(1.75))
    assert costs.of("a") == 0.25


def test_a_resumed_session_that_lost_its_total_costs_what_it_reports() -> None:
    costs = Costs()
    costs.resume("a", Cost(2.0))
    costs.report("a", Cost(0.5))
    assert costs.of("a") == 0.5


def test_a_resumed_sessions_cost_grows_from_what_the_cli_has_saved_of_it() -> None:
    costs = Costs()
    costs.resume("a", Cost(2.0))  # of which half a dollar was a fork's
    costs.saved("a", Cost(1.5))
    costs.report("a", Cost(1.75))
    assert costs.of("a") == 0.25
    costs.saved("a", Cost(1.6))  # killed: its last 0.15 were not saved
    costs.report("a", Cost(1.8))
    assert costs.of("a") == 0.45


def test_what_the_cli_saved_of_a_turn_that_was_never_reported_is_paid_with_the_next_one() -> None:
    costs = Costs()
    costs.resume("a", Cost(2.0))
    costs.saved("a", Cost(2.5))
    costs.report("a", Cost(2.75))
    assert costs.of("a") == 0.75


def test_learning_of_an_earlier_run_late_takes_nothing_back() -> None:
    costs = Costs()
    costs.report("a", Cost(1.0))
    costs.resume("a", Cost(5.0))
    costs.report("a", Cost(1.5))
    assert costs.of("a") == 1.5


@pytest.mark.parametrize(
    ("row", "unknown"),
    [
        pytest.param({"cost_usd": None, "generations": [{"context": 30_000}]}, True, id="it worked"),
        pytest.param({"cost_usd": 0.0, "generations": [{"context": 30_000}]}, False, id="a cost of nothing is known"),
        pytest.param({"cost_usd": None, "generations": [{"context": 0}]}, False, id="it never got that far"),
        pytest.param({"generations": ["junk", None]}, False, id="junk"),
        pytest.param({}, False, id="nothing"),
    ],
)
def test_a_run_that_worked_and_has_no_cost_has_an_unknown_one(row: dict[str, Any], unknown: bool) -> None:
    known = {"cost_usd": 1.0, "generations": [{"context": 9}]}
    assert unknown_before([known, row]) is unknown


def test_a_budget_that_cannot_end_anything_names_what_can() -> None:
    assert not_reported(5.0).startswith("cost not reported: the budget of 5.00 USD")
    assert "--max-turns" in not_reported(5.0)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.none() | st.floats(0, 1000)), max_size=12))
def test_costs_only_grow_and_the_total_is_the_sum(reports: list[tuple[str, float | None]]) -> None:
    costs, before = Costs(), 0.0
    for session, total in reports:
        costs.report(session, None if total is None else Cost(total))
        now = costs.total or 0.0
        assert now >= before - 1e-6
        before = now
    parts = [cost for cost in (costs.of("a"), costs.of("b")) if cost is not None]
    assert (costs.total is None) == (not parts)
    assert (costs.total or 0.0) == pytest.approx(sum(parts), abs=1e-5)


def test_a_forks_total_goes_on_from_its_sessions_and_the_difference_is_that_sessions_cost() -> None:
    costs = Costs()
    costs.report("a", Cost(1.5))
    costs.fork("fork", "a")
    costs.report("fork", Cost(1.75))
    costs.fork("second fork", "a")  # from the session again, not from the fork before
    costs.report("second fork", Cost(1.6))
    assert costs.of("a") == costs.of("fork") == costs.of("second fork") == costs.total == 1.85


def test_a_fork_of_a_session_of_an_earlier_run_costs_what_it_adds() -> None:
    costs = Costs()
    costs.resume("a", Cost(2.0))
    costs.fork("fork", "a")
    assert (costs.of("a"), costs.total) == (None, None)
    costs.report("fork", Cost(2.25))
    assert costs.of("a") == costs.total == 0.25
