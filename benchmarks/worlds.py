"""Workspaces that have seen much: so many steps, archived versions and rows of earlier runs.

What lies there is what a run leaves, with the workbench's own texts in it, but written without its locks and its
synchronisations, which would take minutes. That its readers take all of it for real is looked at once it lies there.
What can hurt: a thing that is only there for the measurement would be read in another way than a real one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from benchmarks.measure import check
from flower_mcp import Handoff, Workbench
from flower_mcp.core.books import Generation, LiveStep, State, StepResult, WrittenBy, iso
from flower_mcp.server.steps import Steps
from flower_mcp.workbench.book_text import text_of
from flower_mcp.workbench.documents import Document
from flower_mcp.workbench.files import make_home
from flower_mcp.workbench.ledger import Lineage, Manifest
from flower_mcp.workbench.names import timestamp
from flower_mcp.workbench.windows import STATE_FOLDER

WORDS = "The importer reads `src/import.py`, 3 of 7 files are ported; `pytest -q tests` passes.\n" * 4
HANDOFF = Handoff(doing=WORDS, decided=WORDS, deadends=WORDS, next=WORDS, scene=WORDS)
NAME = "step-x"  # what stands for a step's name in a text that is made once
STEP = "step-0"  # the one that is looked at; the others are only there
DAY = 86_400.0
BEGAN = 1_796_000_000.0  # seconds since the epoch: some day in 2026


_text = lru_cache(maxsize=1)(text_of)  # masking a thousand texts that are alike takes seconds


@dataclass(frozen=True, slots=True)
class World:
    """A workspace, the books beside it, and what its machine knows. `steps`, `versions`, `runs`: of STEP how many."""

    folder: Path
    steps: int = 1
    versions: int = 1
    runs: int = 1

    @property
    def workspace(self) -> Path:
        """Where the steps work."""
        return self.folder / "workspace"

    @property
    def run_dir(self) -> Path:
        """Where the books are."""
        return self.folder / "runs"

    @contextmanager
    def entered(self) -> Iterator[Workbench]:
        """Its workbench, on the machine that knows its steps."""
        before = os.environ.get(STATE_FOLDER)
        os.environ[STATE_FOLDER] = str(self.folder / "state")
        try:
            yield Workbench(self.workspace)
        finally:
            os.environ.pop(STATE_FOLDER)
            if before is not None:
                os.environ[STATE_FOLDER] = before

    def fill(self) -> World:
        """Put all of it there, and look at it as a reader would."""
        for folder in (self.workspace, self.folder / "state"):
            folder.mkdir(parents=True)
        make_home(self.run_dir)
        with self.entered() as bench:
            for number in range(self.steps):
                self._step(bench, f"step-{number}")
            self._archive(bench)
            self._known()
            document = bench.read(STEP)
            assert document is not None
            self._books(document)
            check(len(Steps(bench).all()) == self.steps, "not all steps are there")
            check(len(bench.history(STEP)) == self.versions, "the archive is not filled")
            check(bench.known.step(bench.workspace, STEP), "the step is not known")
            check(not document.handoff.missing(), "there is no document")
            live = bench.live(STEP)
            check(live and live.row.generations[-1].frozen == document.revision, "the books do not fit")
        return self

    def _step(self, bench: Workbench, step: str) -> None:
        """Its document, and its live state as the last run left it."""
        if step == STEP:
            bench.freeze(step, HANDOFF)  # makes the folders, too
            document = bench.read(step)
            assert document is not None
            row = row_of(step, 0, document.revision, str(document.path))
            bench.lives.write(LiveStep(step, State.STOPPED, row, at=150_000, document=document.state()))
            return
        text = replace(HANDOFF, step=step).to_markdown()
        bench.documents.path(step).write_text(text, encoding="utf-8")
        live = LiveStep(NAME, State.DONE, row_of(NAME, 0, "0" * 12, str(bench.documents.path(NAME))), at=150_000)
        bench.lives.path(step).write_text(_text(live).replace(NAME, step) + "\n", encoding="utf-8")

    def _archive(self, bench: Workbench) -> None:
        text = HANDOFF.to_markdown()
        for number in range(self.versions):
            name = f"{STEP}-{timestamp(BEGAN + number)}.md"
            (bench.documents.archive / name).write_text(text, encoding="utf-8")

    def _known(self) -> None:
        pairs = [[str(self.workspace.resolve()), f"step-{number}"] for number in range(self.steps)]
        (self.folder / "state" / "known.json").write_text(json.dumps({"pairs": pairs}), encoding="utf-8")

    def _books(self, document: Document) -> None:
        """A row for each run, and the lineage."""
        names = [STEP] * self.runs + [f"step-{number}" for number in range(1, self.steps)]
        row = text_of(row_of(NAME, 0, document.revision, str(document.path)))
        rows = [row.replace(f"{NAME}-0", f"{name}-{number}").replace(NAME, name) for number, name in enumerate(names)]
        manifest, lineage = Manifest(self.run_dir), Lineage(self.run_dir)
        manifest.path.write_text("[\n" + ",\n".join(reversed(rows)) + "\n]\n", encoding="utf-8")
        steps = {name: f"session-{name}" for name in names}
        value = {"workspace": str(self.workspace.resolve()), "woke": 0, "steps": steps}
        lineage.path.write_text(json.dumps(value, indent=2), encoding="utf-8")
        check(len(manifest.rows()) == len(names), "not all rows are there")
        check(len(lineage.read().steps) == self.steps, "not all sessions are there")


def row_of(step: str, number: int, revision: str, path: str | None = None) -> StepResult:
    """A run of two sessions that is over and was paid for."""
    began, ended = iso(BEGAN + number * DAY), iso(BEGAN + number * DAY + 3600)
    sessions = tuple(
        Generation(
            n, f"session-{step}-{n}", context=155_000, cost_usd=0.5, num_turns=40, started_at=began, ended_at=ended,
            path=path, frozen=revision, launched=revision, written_by=WrittenBy.SESSION,
        )
        for n in (1, 2)
    )  # fmt: skip
    return StepResult(
        f"run-{step}-{number}", step, state=State.STOPPED, session_id=sessions[-1].session_id, generations=sessions,
        retired=(sessions[0].session_id,), context=155_000, window=200_000, cost_usd=1.0, num_turns=80,
        text="Ported three of seven files.", started_at=began, ended_at=ended, duration_s=3600.0,
    )  # fmt: skip
