"""How long a run is patient with an endpoint that fails: until it has worked again, and not for an answer or two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flower_mcp import HandoffPolicy, RetryPolicy
from flower_mcp.core.decide import Ending
from flower_mcp.core.failures import Failure, Outcome
from flower_mcp.runtime.opening import run_failed
from flower_mcp.runtime.step import FORGIVEN_AFTER, StepRun
from tests.e2e.editing import close, idle_run

OVERLOADED = Outcome(is_error=True, status=529, text="Overloaded")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[StepRun]:
    """A run whose living session has had no answer yet."""
    (tmp_path / "workspace").mkdir()
    one = idle_run(tmp_path / "workspace", tmp_path / "runs", HandoffPolicy())
    one.setting = replace(one.setting, retry=RetryPolicy(max_attempts=3, offline=3600))
    one.session = cast(Any, SimpleNamespace(alive=True, reader=SimpleNamespace(good=0)))
    yield one
    close(one)


def answers(run: StepRun, count: int) -> None:
    """The model answers so often."""
    assert run.session is not None
    run.session.reader.good += count
    run.made_progress()


@pytest.mark.parametrize(("count", "ending"), [(1, Ending.GIVE_UP), (FORGIVEN_AFTER, Ending.RETRY)])
def test_an_endpoint_that_fails_after_each_answer_is_not_waited_for_without_end(
    run: StepRun, count: int, ending: Ending
) -> None:
    assert [run_failed(run, OVERLOADED)[0] for _ in range(4)] == [Ending.RETRY, Ending.RETRY, Ending.WAIT, Ending.WAIT]
    assert run.failures_in_a_row == 2  # a wait is no attempt
    run.waits._waited[Failure.SERVER].since -= 1800
    answers(run, 1)
    assert run_failed(run, OVERLOADED)[0] is Ending.WAIT
    run.waits._waited[Failure.SERVER].since -= 1800
    answers(run, count)
    assert run_failed(run, OVERLOADED)[0] is ending


def test_without_retries_nothing_is_waited_for(run: StepRun) -> None:
    run.setting = replace(run.setting, retry=None)
    assert run_failed(run, OVERLOADED)[0] is Ending.GIVE_UP
