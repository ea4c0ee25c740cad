"""Many handoffs in one step: a handoff costs the same whether ten or a thousand came before it.

The supervisor, the keeper, the SDK and the disk are the real ones; the CLI is a stand-in (fake_claude.py), since a
thousand real ones would take hours. So this shows what the supervisor keeps and does for each handoff, and nothing of
what the CLI itself costs; that the stand-in is heard like the real CLI is the first test here. Time is the supervisor's
processor time, which another program's load changes little. FLOWER_HANDOFFS says how many (50; 1,000 with
FLOWER_SOAK=1).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from flower_mcp.demo.model import ScriptedModel, Story, each_session, text
from flower_mcp.runtime import starting
from tests.e2e.fake_claude import DOCUMENT, LEFT
from tests.e2e.steps import Run, archived, bash, handing_over, manifest, run_step

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.anyio]

ROOT = Path(__file__).parents[2]
HANDOFFS = int(os.environ.get("FLOWER_HANDOFFS") or (1_000 if os.environ.get("FLOWER_SOAK") else 50))
EACH = 20.0  # seconds that a handoff may take on a machine that is busy with other things
WARM = 10  # handoffs until everything is imported and every cache has been filled for the first time


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """The stand-in, as a program."""
    program = tmp_path / "claude"
    script = Path(__file__).with_name("fake_claude.py")
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {script} "$@"\n')
    program.chmod(0o755)
    return program


def shape(run: Run) -> tuple[list[Any], list[Any]]:
    """What a run was told and what its books say, without ids, times and costs."""
    told = [
        (
            event.kind,
            event.payload.get("phase"),
            event.payload.get("context"),
            event.text if event.kind == "text" else "",
        )
        for event in run.events
        if event.kind != "context"
    ]
    kept = [(each.n, each.context, each.num_turns, each.written_by, each.why) for each in run.result.generations]
    return told, [run.result.ok, run.result.attempts, run.result.errors, *kept]


async def test_the_stand_in_is_heard_like_the_real_cli(
    model: ScriptedModel, workspace: Path, tmp_path: Path, fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.script = each_session(
        handing_over(bash("echo on").at(40_000), bash("echo on").at(155_000), document_text=DOCUMENT),
        Story([bash("echo on").at(30_000), text("All done.").at(31_000)]),
    )
    real = await run_step(workspace)
    assert real.result.ok, real.result.error

    monkeypatch.setattr(starting, "bundled_cli", lambda: fake)
    other = tmp_path / "other" / "workspace"
    other.mkdir(parents=True)
    (other / LEFT).write_text("1")
    assert shape(await run_step(other)) == shape(real)


@pytest.mark.timeout(60 + EACH * HANDOFFS)
def test_a_handoff_costs_the_same_however_many_came_before(
    workspace: Path, environment: dict[str, str], fake: Path
) -> None:
    (workspace / LEFT).write_text(str(HANDOFFS))
    command = [sys.executable, "-m", "tests.e2e.many", str(workspace), str(HANDOFFS), str(fake)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    *measures, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert last == {"ok": True, "retired": HANDOFFS, "error": None}

    # Nothing but the books, the documents and the transcripts grows.
    assert len(measures) == len(archived(workspace)) + 1 == HANDOFFS
    assert [entry["n"] for entry in manifest(workspace)[0]["generations"]] == [*range(1, HANDOFFS + 2)]
    assert not list((workspace.parent / "runs").glob("keeper-*"))
    warm = measures[WARM:]
    for name in ("files", "threads", "tasks"):
        assert max(each[name] for each in warm[-5:]) <= max(each[name] for each in warm[:5]) + 3, name
    assert warm[-1]["memory"] < 1.2 * warm[0]["memory"]
    spent = [after["cpu"] - before["cpu"] for before, after in pairwise(warm)]
    fifth = len(spent) // 5
    assert median(spent[-fifth:]) < 2 * median(spent[:fifth])
