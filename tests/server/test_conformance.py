"""The conformance suite: every scenario that applies passes, in both eras.

What does not apply is in tests/data/conformance, each with its reason; the suite fails on a failure that is not listed
there, and on a listed one that passes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.node import CONFORMANCE, node
from tests.server.processes import START, environment

pytestmark = pytest.mark.e2e

LISTS = Path(__file__).parent.parent / "data" / "conformance"


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_every_scenario_that_applies_passes(workspace: Path, version: str) -> None:
    suite = node(CONFORMANCE)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.server.conformance", str(workspace)],
        cwd=Path(__file__).parent.parent.parent,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1]
        known = LISTS / f"{version}.yml"
        done = subprocess.run(
            [*suite.command, "server", "--url", url, "--requirements", version, "--expected-failures", str(known)],
            cwd=workspace,
            capture_output=True,
            text=True,
            timeout=START * 3,
            check=False,
        )
    finally:
        server.terminate()
        server.communicate(timeout=START)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-1_000:]
    passed = [line for line in done.stdout.splitlines() if line.startswith("✓ ") and " 0 failed" in line]
    assert len(passed) > 20
