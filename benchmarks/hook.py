"""How long `flower hook` keeps a session waiting, as a multiple of `python -c pass`: at most 15.

    python -m benchmarks.hook [rounds]

A hook is to take less than 150 ms, which is 15 times a bare Python's 10 ms. Measured from outside, as wall time of
whole processes, in turns; the first round is thrown away (it fills caches). The worst cases are taken: a document that
is given, a transcript of 50 MB, a status line with a document that waits. What is printed is looked at in every round.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import Ratio, Row, report
from flower_mcp.workbench.workbench import Workbench

ROUNDS = 15
MOST = 15.0
TRANSCRIPT = 50 * 2**20  # bytes
DOCUMENT = "## 现在在做 · Doing now\nPorting.\n\n## 下一步 · Next\nPort the rest.\n"


def seconds(command: list[str], event: dict[str, Any], environ: dict[str, str], expected: str = "") -> float:
    """Wall time of one process. Raises RuntimeError when it fails or does not print `expected`."""
    began = time.perf_counter()
    done = subprocess.run(command, env=environ, input=json.dumps(event), capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode or expected not in done.stdout:
        raise RuntimeError(f"{' '.join(command)} ended {done.returncode}: {done.stderr or done.stdout}")
    return took


def transcript(path: Path) -> None:
    """A long session that stands at 155,000 tokens, the last line a large result."""
    answer = {
        "type": "assistant",
        "message": {"id": "m", "model": "claude-haiku-4-5", "usage": {"input_tokens": 155_000}},
    }
    result = {"type": "user", "message": {"role": "user", "content": "x" * 100_000}, "toolUseResult": "x" * 100_000}
    with path.open("w") as file:
        while file.tell() < TRANSCRIPT:
            file.write(f"{json.dumps(answer)}\n{json.dumps(result)}\n")


def measure(rounds: int = ROUNDS) -> dict[str, Ratio]:
    """Take all in turns, `rounds` times after one that does not count."""
    python, flower = sys.executable, str(Path(sys.executable).with_name("flower"))
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("FLOWER_", "CLAUDE"))}
        environ["FLOWER_STATE_DIR"] = os.environ["FLOWER_STATE_DIR"] = str(top / "state")
        workbench = Workbench(top)
        workbench.freeze("work", DOCUMENT)
        transcript(top / "session.jsonl")
        window = {"context_window_size": 200_000, "total_input_tokens": 155_000}
        bare: list[float] = []
        taken: dict[str, list[float]] = {"session-start": [], "post-tool-batch": [], "status-line": []}
        for number in range(rounds + 1):
            of_a_session = {"cwd": folder, "session_id": f"s{number}", "transcript_path": str(top / "session.jsonl")}
            workbench.taken.mark("work", "0")
            events: dict[str, tuple[dict[str, Any], str]] = {
                "status-line": ({"cwd": folder, "session_id": "line", "context_window": window}, "waits"),
                "session-start": ({"cwd": folder, "source": "startup"}, "Port the rest"),
                "post-tool-batch": (of_a_session, "155.0K of its 200K"),
            }
            bare.append(seconds([python, "-c", "pass"], {}, environ))
            for name, (event, expected) in events.items():
                taken[name].append(seconds([flower, "hook", name], event, environ, expected))
    base = Row("python -c pass", bare[1:])
    return {name: Ratio(Row(f"flower hook {name}", samples[1:]), base, MOST) for name, samples in taken.items()}


def main(rounds: int = ROUNDS) -> bool:
    """Measure and print; whether the promises are kept."""
    kept = [report("hook", ratio) for ratio in measure(rounds).values()]
    return all(kept)


if __name__ == "__main__":
    sys.exit(0 if main(*map(int, sys.argv[1:])) else 1)
