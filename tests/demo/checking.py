"""The demo's own checks, run from a test."""

from __future__ import annotations

import subprocess

from flower_mcp.demo.world import DemoWorld, complete


def check(world: DemoWorld) -> str:
    """What they print now."""
    done = subprocess.run(
        ["python3", "check.py"],
        cwd=world.workspace,
        env=complete(world.environment),
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout
