"""The edit window: from the freeze until the successor may be launched, the person may change the document.

The last thing before the launch is to read the file and hash it; that text is the prompt. So an edit counts whenever it
was made, and whether or not anybody saw it being made.
"""

from __future__ import annotations

import time

from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.events import Kind
from flower_mcp.core.handoff import FIELDS, Handoff
from flower_mcp.core.review import Choice, Fault, Window, review
from flower_mcp.runtime.documents import Text, current_text, state_of
from flower_mcp.runtime.step import MoveEnd, StepRun


async def open_window(run: StepRun) -> MoveEnd:
    """Keep the window open as long as review.py says, then take the text that will be launched."""
    frozen = run.handing.document
    if frozen is None or frozen.path is None:
        return Ending.CLOSED, Guard.ANY
    if run.policy.edit_window:
        run.record.event(
            Kind.EDIT,
            f"edit it now if you like: {frozen.path} ({run.policy.edit_window:.0f} s)",
            phase="open",
            path=str(frozen.path),
            seconds=run.policy.edit_window,
        )
    while True:
        document = current_text(run)
        fault = _fault(document)
        answer = review(time.time(), Window(run.handing.frozen_at, run.policy.edit_window, fault))
        if answer.choice is not Choice.KEEP_OPEN:
            break
        await run.receive(max(0.0, (answer.until or 0.0) - time.time()))
        if run.stop_asked:
            return Ending.STOP, Guard.ANY
    if answer.choice is Choice.LAUNCH_FILE and document is not None:
        _take(run, frozen, document)
    else:
        run.record.error(f"{fault}: the successor gets the version that was frozen")
    run.record.generation(launched=run.handing.revision)
    if run.policy.edit_window:
        run.record.event(Kind.EDIT, "", phase="closed", revision=run.handing.revision)
    return Ending.CLOSED, Guard.ANY


def _fault(document: Text | None) -> Fault:
    """What is wrong with the file as it is now."""
    if document is None:
        return Fault.DELETED
    if not document.text.strip():
        return Fault.EMPTY
    return Fault.NONE if document.handoff.complete() else Fault.INCOMPLETE


def _take(run: StepRun, frozen: Text, document: Text) -> None:
    """The file is what is launched; note whether a person changed it, and where."""
    run.handing.text = document.text
    run.handing.revision = document.revision
    if document.revision == frozen.revision:
        return
    run.drop_spare()
    changed = changed_sections(frozen.handoff, document.handoff)
    run.record.generation(edited=True, sections_edited=changed)
    run.record.document(state_of(document, edited=True))
    run.record.event(
        Kind.EDIT, f"edited by a person: {', '.join(changed) or 'outside the sections'}", phase="seen", sections=changed
    )


def changed_sections(before: Handoff, after: Handoff) -> tuple[str, ...]:
    """The names of the sections that differ."""
    return tuple(name for name in FIELDS if getattr(before, name) != getattr(after, name))
