"""Many processes at once: no lost row, no lost text, and nothing torn.

FLOWER_SOAK=1 writes ten times as much.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flower_mcp.core.books import StepResult
from flower_mcp.workbench.ledger import Lineage, Manifest
from flower_mcp.workbench.live import Live
from flower_mcp.workbench.workbench import Workbench

forkserver = multiprocessing.get_context("forkserver")
forkserver.set_forkserver_preload(["flower_mcp.workbench.workbench", "flower_mcp.core.masking", "pytest"])

SOAK = bool(os.environ.get("FLOWER_SOAK"))
WRITERS, ROWS = 20, 50 if SOAK else 3  # processes, and what each writes into the books
EDITORS, EDITS = 8, 1_250 if SOAK else 125  # 8 writers, 1,000 edits


def at_once(act: Callable[..., None], number: int, *given: Any) -> None:
    """Run the act in so many processes, all let go in the same instant."""
    start = forkserver.Event()
    processes = [forkserver.Process(target=act, args=(start, f"p{n}", *given)) for n in range(number)]
    for process in processes:
        process.start()
    start.set()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * number


def put_rows(start: Any, name: str, run_dir: Path) -> None:
    start.wait(60)
    for n in range(ROWS):
        told = Manifest(run_dir).put(StepResult(run=f"{name}-{n}", step=name))
        told += Manifest(run_dir).put(StepResult(run=f"{name}-{n}", step=name, ok=True))
        told += Lineage(run_dir, "/w").remember(name, f"{name}-{n}").notes
        told += Lineage(run_dir, "/w").wake().notes
        assert told == ()
        Live(run_dir / "live").append([{"who": name, "n": n, "text": "words " * 400}])


def edit_often(start: Any, name: str, workspace: Path) -> None:
    bench = Workbench(workspace)
    start.wait(60)
    for n in range(EDITS):
        bench.edit("work", "scene", f"- {name} {n}", "append")


@pytest.mark.timeout(1_200)
def test_twenty_processes_that_write_one_manifest_at_once_lose_no_row(tmp_path: Path) -> None:
    at_once(put_rows, WRITERS, tmp_path)

    rows = json.loads((tmp_path / "manifest.json").read_text())
    assert len(rows) == WRITERS * ROWS
    assert {row["run"] for row in rows if row["ok"]} == {f"p{p}-{n}" for p in range(WRITERS) for n in range(ROWS)}
    lineage = Lineage(tmp_path).read()
    assert lineage.woke == WRITERS * ROWS
    assert lineage.steps == {f"p{p}": f"p{p}-{ROWS - 1}" for p in range(WRITERS)}
    events = [json.loads(line) for line in (tmp_path / "live" / "events.jsonl").read_text().splitlines()]
    assert len(events) == WRITERS * ROWS
    for p in range(WRITERS):
        assert [event["n"] for event in events if event["who"] == f"p{p}"] == list(range(ROWS))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".gitignore", "lineage.json", "live", "manifest.json", "manifest.json.lock", "manifest.json.lock.next",
    ]  # fmt: skip


@pytest.mark.timeout(1_200)
def test_eight_writers_that_edit_one_document_a_thousand_times_lose_no_text(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    first = "# 交接 · work\n\n## Doing now\n\nwork\n\n## Next\n\ngo on\n\n## Scene\n\n"
    bench.freeze("work", first)

    at_once(edit_often, EDITORS, tmp_path)

    document = bench.read("work")
    assert document is not None
    lines = [line for line in document.handoff.scene.splitlines() if line]
    assert len(lines) == EDITORS * EDITS
    for p in range(EDITORS):
        mine = [line for line in lines if line.startswith(f"- p{p} ")]
        assert mine == [f"- p{p} {n}" for n in range(EDITS)]
    versions = bench.history("work")
    assert len(versions) == EDITORS * EDITS
    assert versions[0].data().decode() == first
    assert not list(bench.folder.rglob("*.tmp"))
