"""What the run before left, also when that one was killed before it had a session.

A run's live state replaces the one of the run before it, and has no session in it for the first tenth of a second, or
for as long as a document is held back. What that run had found is what the last run with a session had left, and the
books still have its row. It must not know how a step goes on from there. What can hurt: a run that began afresh counts
for itself, so only one that had found something is looked behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from flower_mcp.core.books import LiveStep, StepResult


def carried(before: LiveStep | None, rows: tuple[Mapping[str, Any], ...]) -> LiveStep | None:
    """The live state, with the row of the last run that had a session where its own run had none yet."""
    if before is None or before.row.generations or not before.row.resumed:
        return before
    mine = (row for row in reversed(rows) if row.get("step") == before.step and row.get("generations"))
    last = next(mine, None)
    row = None if last is None else _row(last)
    return before if row is None else replace(before, row=row)


def _row(plain: Mapping[str, Any]) -> StepResult | None:
    """A row of the manifest as a value; None when it is none."""
    from pydantic import TypeAdapter

    with suppress(ValueError):
        return TypeAdapter(StepResult).validate_python(plain)
    return None
