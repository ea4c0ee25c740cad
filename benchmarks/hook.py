"""How long `flower hook` keeps a session waiting, as a multiple of `python -c pass`: at most 15.

    python -m benchmarks.hook

A hook is to take less than 150 ms, which is 15 times a bare Python's 10 ms. Measured as benchmarks/startup.py does. The
worst cases are taken: a document that is given, a transcript of 50 MB, a status line with a document that waits.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Line, Samples, Size, run
from benchmarks.startup import FLOWER, bare, seconds
from flower_mcp.workbench.workbench import Workbench

MOST = 15.0
TRANSCRIPT = 50 * 2**20  # bytes
DOCUMENT = "## 现在在做 · Doing now\nPorting.\n\n## 下一步 · Next\nPort the rest.\n"
EXPECTED = {
    "session-start": "Port the rest",
    "post-tool-batch": "155.0K of its 200K",
    "pre-compact": "交接-work.md",
    "status-line": "waits",
}


def transcript(path: Path, size: int) -> None:
    """A long session that stands at 155,000 tokens, the last line a large result; at least `size` bytes."""
    answer = {
        "type": "assistant",
        "message": {"id": "m", "model": "claude-haiku-4-5", "usage": {"input_tokens": 155_000}},
    }
    result = {"type": "user", "message": {"role": "user", "content": "x" * 100_000}, "toolUseResult": "x" * 100_000}
    with path.open("w") as file:
        while file.tell() < size:
            file.write(f"{json.dumps(answer)}\n{json.dumps(result)}\n")


def event(name: str, folder: str, number: int) -> dict[str, Any]:
    """What Claude Code tells a hook; each round's batch of tools is of a session that was told nothing yet."""
    window = {"context_window_size": 200_000, "total_input_tokens": 155_000}
    told: dict[str, dict[str, Any]] = {
        "session-start": {"source": "startup"},
        "post-tool-batch": {"session_id": f"s{number}", "transcript_path": str(Path(folder) / "session.jsonl")},
        "pre-compact": {"trigger": "auto"},
        "status-line": {"session_id": "line", "context_window": window},
    }
    return {"cwd": folder, **told[name]}


def measure(size: Size) -> Iterator[Line]:
    """All in turns; the document waits again before each of them."""
    samples = Samples()
    with tempfile.TemporaryDirectory(prefix="flower-benchmark-") as folder:
        workbench = Workbench(folder)
        workbench.freeze("work", DOCUMENT)
        transcript(Path(folder) / "session.jsonl", size.of(TRANSCRIPT, 2**20))
        for number in range(size.of(16, 2)):
            samples.add("bare", bare())
            for name, expected in EXPECTED.items():
                workbench.taken.mark("work", "0")
                command = [FLOWER, "hook", name]
                samples.add(name, seconds(command, expected, json.dumps(event(name, folder, number))))
    for name in EXPECTED:
        yield samples.ratio(f"flower hook {name}", name, "bare", most=MOST)


if __name__ == "__main__":
    run("Hooks of an interactive session, beside python -c pass", measure)
