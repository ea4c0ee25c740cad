"""All measurements, one after the other: `make bench`. Exits 1 when one of the promises is missed."""

from __future__ import annotations

import subprocess
import sys

MEASUREMENTS = ("startup", "hook", "mcp_server", "handoff_latency", "edit_window", "overflow")

# Each in a process of its own: one changes its environment, and the other must not find anything imported.
codes = [subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode for name in MEASUREMENTS]
sys.exit(1 if any(codes) else 0)
