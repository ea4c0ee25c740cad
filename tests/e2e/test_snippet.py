"""The snippet that the design shows first runs as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flower_mcp.demo.model import ScriptedModel, Story, text

pytestmark = pytest.mark.e2e

SNIPPET = """
import anyio
from flower_mcp import AgentSpec, HandoffPolicy, Runtime

async def main() -> None:
    async with Runtime(workspace=".", handoff=HandoffPolicy(window=200_000)) as rt:
        result = await rt.run(AgentSpec(model="sonnet"), "Port the test suite to pytest.", on_event=print)
        print(result.ok, result.session_id, result.retired)

anyio.run(main)
"""


def test_the_snippet_runs_as_it_stands(model: ScriptedModel, workspace: Path, environment: dict[str, str]) -> None:
    model.script = Story([text("Ported.").at(30_000)])
    done = subprocess.run(
        [sys.executable, "-c", SNIPPET],
        cwd=workspace,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    last = done.stdout.splitlines()[-1].split()
    assert last[0] == "True"
    assert last[1] == model.requests[0].session
    assert last[2] == "()"
    assert (workspace / "runs" / "manifest.json").exists()


def test_the_snippet_is_the_one_of_the_readme() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    assert SNIPPET.strip() in readme
