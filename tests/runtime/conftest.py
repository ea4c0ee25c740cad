"""What tests of a run that is put together and not run need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flower_mcp import AgentSpec, Runtime
from flower_mcp.runtime.step import StepRun
from tests.e2e.editing import close

Prepare = Callable[..., StepRun]


@pytest.fixture
def prepare() -> Iterator[Prepare]:
    """Puts runs of the step `work` together as `Runtime.run` does, before their first move, and closes them."""
    started: list[StepRun] = []

    def prepared(workspace: Path, words: str = "", *, fresh: bool = False) -> StepRun:
        runtime = Runtime(workspace=workspace, run_dir=workspace / "runs")
        run, _ = runtime._prepared(AgentSpec(), words, fresh, None, lambda: True)
        started.append(run)
        return run

    yield prepared
    for run in started:
        close(run)
