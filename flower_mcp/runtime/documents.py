"""The document as a running step sees it: read it, freeze it, say what is known of it. With or without a workbench.

Without one nothing is on disk: the text is kept in memory and given to the successor all the same. So it is where the
disk refuses; then the text is owed, and frozen as soon as the disk takes it, before any document after it. What can
hurt: by then its successor may be at work, and what it finds changed in the file must not count as a person's edit.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from flower_mcp.core.books import DocumentState, iso
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.handoff import Handoff
from flower_mcp.core.masking import mask
from flower_mcp.runtime.step import StepRun
from flower_mcp.workbench.drafts import Draft
from flower_mcp.workbench.files import revision
from flower_mcp.workbench.names import document_name
from flower_mcp.workbench.owed import Debt
from flower_mcp.workbench.workbench import Workbench

DOCUMENTS = "documents"  # the lane: a document is frozen before the one after it


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


def draft_left(run: StepRun) -> Draft | None:
    """The draft that lies there; None when there is none or it cannot be read, which is said and stops nobody."""
    try:
        return run.setting.books.lives.read_draft(run.step)
    except (OSError, FlowerError) as error:
        run.record.say(f"the draft could not be read: {error}")
        return None


def text_given(run: StepRun) -> Text | None:
    """The document that the living session was given, as it is now; None when it began with the task."""
    document = current_text(run)
    if document is not None or not run.handing.text:
        return document
    return Text(run.handing.text, run.handing.revision, Handoff.from_markdown(run.handing.text, run.step))


def freeze_text(run: StepRun, handoff: Handoff, given: str = "") -> Text:
    """Write the document to its place; in memory where there is no workbench, or as long as the disk refuses.

    `given`: the text of a document that is handed on. A person may have typed in it, so it is written as it is.
    """
    rendered = "" if given else mask(replace(handoff, step=run.step).to_markdown()).text
    markdown = (given or rendered).replace("\0", "")
    data = markdown.encode("utf-8", "replace")  # what is written, whatever an editor makes of the file at once
    text = data.decode("utf-8")
    content = Text(text, revision(data), Handoff.from_markdown(text, run.step), data=data)
    workbench = run.setting.workbench
    if workbench is None:
        return content
    freezing = _Freezing(run, workbench, content)
    debt = Debt(
        DOCUMENTS, f"the document {content.revision}", freezing.path, freezing, data=data, name=freezing.path.name
    )
    run.record.owed.write(debt, at_once=True)
    freezing.is_late = True
    return freezing.frozen or content


def put_away(run: StepRun) -> None:
    """Move the document and the draft of a step that begins afresh to the archive, now or once the disk allows it."""
    workbench, lives = run.setting.workbench, run.setting.books.lives
    draft = partial(lives.put_away_draft, run.step)
    run.record.owed.write(Debt(DOCUMENTS, "the old draft's move to the archive", lives.path(run.step), draft))
    if workbench is not None:
        path = _path(run, workbench)
        away = Debt(DOCUMENTS, "the old document's move to the archive", path, partial(_put_away, run, workbench))
        run.record.owed.write(away)


class _Freezing:
    """One freeze of a text, made at once or, when that was refused, later."""

    def __init__(self, run: StepRun, workbench: Workbench, content: Text) -> None:
        self.path = _path(run, workbench)
        self.is_late = False
        self.frozen: Text | None = None
        self._run = run
        self._workbench = workbench
        self._content = content

    def __call__(self) -> None:
        """Freeze it. Raises FilesError, LockTimeout."""
        run, content = self._run, self._content
        done = self._workbench.documents.freeze(run.step, content.text, typed=True)  # it is masked already
        self.frozen = replace(content, path=done.path, archived=done.archived)
        if self.is_late:
            self._enter(self.frozen)

    def _enter(self, document: Text) -> None:
        """Tell the books, and whoever looks for edits, that the document lies on the disk now."""
        run, path = self._run, str(document.path)
        run.late.frozen(document)
        run.record.change(
            generations=tuple(
                replace(each, path=path) if each.frozen == document.revision and each.path is None else each
                for each in run.record.row.generations
            )
        )
        run.record.document(state_of(document))
        if run.handing.document is self._content:
            run.handing.document, run.handing.path = document, document.path


def _path(run: StepRun, workbench: Workbench) -> Path:
    """Where the step's document is to lie; for its name alone."""
    return workbench.notes / document_name(run.step)


def _put_away(run: StepRun, workbench: Workbench) -> None:
    workbench.documents.put_away(run.step)


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
