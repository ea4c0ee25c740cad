"""The document as a running step sees it: read it, freeze it, say what is known of it. With or without a workbench.

Without one nothing is on disk: the text is kept in memory and given to the successor all the same. A disk that refuses
is said, and the step goes on in memory.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from flower_mcp.core.books import DocumentState, iso
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.handoff import Handoff
from flower_mcp.core.masking import mask
from flower_mcp.runtime.step import StepRun
from flower_mcp.workbench.files import revision


@dataclass(frozen=True, slots=True)
class Text:
    """A document's text as it is now, with its revision and, on disk, its path.

    `data` are its bytes; `archived` is where a freeze put the document that was there before.
    """

    text: str
    revision: str
    handoff: Handoff
    path: Path | None = None
    data: bytes = b""
    archived: Path | None = None


def current_text(run: StepRun) -> Text | None:
    """The current document, read and hashed now; None when there is none or it cannot be read."""
    workbench = run.setting.workbench
    if workbench is None:
        return None
    try:
        document = workbench.read(run.step)
    except (OSError, FlowerError) as error:
        run.record.error(f"the document could not be read: {error}")
        return None
    if document is None:
        return None
    return Text(document.text, document.revision, document.handoff, document.path, document.data)


def freeze_text(run: StepRun, handoff: Handoff) -> Text:
    """Write the document to its place; in memory where there is no workbench, or where the disk refuses."""
    workbench = run.setting.workbench
    markdown = mask(replace(handoff, step=run.step).to_markdown().replace("\0", "")).text
    data = markdown.encode("utf-8", "replace")  # what is written, whatever an editor makes of the file at once
    text = data.decode("utf-8")
    content = Text(text, revision(data), Handoff.from_markdown(text, run.step), data=data)
    if workbench is not None:
        try:
            frozen = workbench.documents.freeze(run.step, markdown, typed=True)  # it is masked already
            return replace(content, revision=frozen.revision, path=frozen.path, archived=frozen.archived)
        except (OSError, FlowerError) as error:
            run.record.error(f"the document could not be written, handed on in memory: {error}")
    return content


def state_of(document: Text, *, edited: bool = False) -> DocumentState | None:
    """What the books keep of a document on disk."""
    if document.path is None:
        return None
    return DocumentState(
        path=str(document.path),
        revision=document.revision,
        complete=document.handoff.complete(),
        missing=document.handoff.missing(),
        degraded=document.handoff.degraded,
        edited=edited,
        sections=document.handoff.sections(),
        written_at=iso(time.time()),
    )
