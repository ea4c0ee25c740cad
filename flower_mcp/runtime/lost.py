"""A session whose transcript is gone, or that the CLI refuses: what it knew is lost, what it left is not.

Its draft, if it wrote a complete one, is its document. Without one the newest document stands for it, and without that
code assembles one, so that the successor knows that work was done before. What can hurt: a draft that is older than the
document was frozen already.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from flower_mcp.core.books import Generation, WrittenBy
from flower_mcp.core.decide import Ending
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.handoff import Handoff
from flower_mcp.core.writing import WritingVerdict
from flower_mcp.runtime.documents import current_text, draft_left

if TYPE_CHECKING:
    from flower_mcp.runtime.step import StepRun

GONE = "its transcript is gone"


def has_worked(run: StepRun, session: Generation) -> bool:
    """Whether the session has done something in any run; else its id was drawn, and no message came."""
    rows = [*run.setting.rows, *(asdict(each.row) for each in (run.setting.before,) if each is not None)]
    entries = [entry for row in rows for entry in row.get("generations") or () if isinstance(entry, Mapping)]
    return any(
        entry.get("session_id") == session.session_id and (entry.get("context") or entry.get("num_turns"))
        for entry in entries
    )


def without_transcript(run: StepRun, last: Generation, why: str) -> Ending:
    """How a step goes on whose last session worked and cannot be resumed."""
    draft = _draft(run)
    if draft is None and current_text(run) is not None:
        return Ending.WAITING_DOCUMENT
    run.record.change(durable=True, generations=(last,), session_id=last.session_id, retired=(last.session_id,))
    run.handing.why = why
    if draft is None:
        return Ending.UNWRITTEN
    run.handing.verdict = WritingVerdict(Ending.WRITTEN, draft, WrittenBy.DRAFT, why)
    return Ending.WRITTEN


def _draft(run: StepRun) -> Handoff | None:
    """The complete draft that the session left, unless a newer document is there."""
    draft = draft_left(run)
    document = run.setting.before.document if run.setting.before else None
    workbench = run.setting.workbench
    if draft is None or workbench is None:
        return None
    current = None
    with suppress(OSError, FlowerError):  # a document that cannot be read is said where it would be used
        current = workbench.read(run.step) if document is not None else None
    if current is not None and current.written_at > draft.written_at:
        return None
    handoff = Handoff.from_markdown(draft.text, run.step)
    return handoff if handoff.complete() else None
