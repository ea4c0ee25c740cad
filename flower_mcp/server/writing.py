"""What write_handoff and edit_section do: freeze a document, keep a draft, change one section.

It knows the workbench and nothing of MCP. What can hurt: while a supervisor runs the step, the current document is the
one that the session at work was launched from, so what is written then is kept as the step's draft, whoever writes; and
what this server writes must not come back from its own watcher as somebody else's edit, so it holds `Service.writing`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flower_mcp.core.errors import Conflict, NothingThere, Usage
from flower_mcp.core.handoff import FIELDS, Handoff
from flower_mcp.core.headings import OUR_HEADINGS
from flower_mcp.server.arguments import check_text, expected_revision
from flower_mcp.server.reading import stranger
from flower_mcp.server.service import Service
from flower_mcp.workbench.documents import Document, field_of
from flower_mcp.workbench.json_files import mask

_LONGEST_HEADING = 200  # characters
_SHOWN = 6_000  # characters of a section that an error repeats; more would fill the caller's context

_FROZEN = "This is the document now; the version before it is in the archive."
_FIRST = "This is the document now."
_DRAFT = (
    "The step runs under a supervisor, so this was kept as its draft. In the handoff turn a complete draft is the "
    "handoff; before it, a draft is what is left if no session can write any more."
)


@dataclass(frozen=True, slots=True)
class Written:
    """What was written. `characters` of each section as the reader finds them, `masked` secrets that were taken out.

    `new`: the step had no document before.
    """

    step: str
    kind: str
    path: Path
    revision: str
    characters: dict[str, int]
    masked: int
    note: str
    new: bool = False
    missing: tuple[str, ...] = ()

    def value(self) -> dict[str, Any]:
        """The answer as JSON."""
        return {
            "step": self.step,
            "written": self.kind,
            "path": str(self.path),
            "revision": self.revision,
            "characters": self.characters,
            "masked": self.masked,
            "note": self.note,
        }

    def text(self) -> str:
        """The same in words."""
        sections = ", ".join(f"{name} {count}" for name, count in self.characters.items())
        return (
            f"{self.kind} of step {self.step!r}: {self.path}, revision {self.revision}\n"
            f"characters: {sections}; secrets masked: {self.masked}\n{self.note}"
        )


def write(service: Service, given_step: str, handoff: Handoff, expected: str) -> Written:
    """Freeze the handoff, or keep it as the step's draft while somebody runs the step.

    Raises Usage for a missing section, a bad step or revision; Conflict, FilesError, LockTimeout; nothing is written
    then.
    """
    wanted = expected_revision(expected)
    for name in handoff.sections():
        check_text(name, getattr(handoff, name))
    from flower_mcp.core.markdown import canonical  # it takes 10 ms, and the first answer is waited for

    step = service.steps.writable(given_step)
    handoff = canonical(replace(handoff, step=step))  # what the reader makes of it
    missing = handoff.missing()
    if missing:
        headings = " and ".join(f"`{name}` ({OUR_HEADINGS[name]})" for name in missing)
        raise Usage(
            f"{headings} says nothing.", kept="Nothing was written.", next="Call write_handoff again with it filled in."
        )
    with service.writing:
        if service.steps.is_running(step):
            return _draft(service, step, handoff.to_markdown(), wanted)
        return _freeze(service, step, handoff, wanted)


def _freeze(service: Service, step: str, handoff: Handoff, wanted: str | None) -> Written:
    new = not service.workbench.documents.path(step).exists()
    text = handoff.to_markdown()
    frozen = service.workbench.freeze(step, text, wanted)
    service.note(step, frozen.revision)
    service.begin(step)
    characters = (Handoff.from_markdown(mask(text).text) if frozen.masked else handoff).sections()
    note = _FIRST if frozen.archived is None else _FROZEN
    return Written(step, "document", frozen.path, frozen.revision, characters, frozen.masked, note, new)


def _draft(service: Service, step: str, text: str, wanted: str | None) -> Written:
    workbench = service.workbench
    if wanted is not None:
        document, draft = workbench.read(step), workbench.lives.read_draft(step)
        there = [each.revision for each in (draft, document) if each is not None]
        if (wanted == "new" and there) or (wanted != "new" and wanted not in there):
            raise Conflict(step, wanted, there[0] if there else "")
    draft = workbench.lives.write_draft(step, text)
    characters = Handoff.from_markdown(draft.text).sections()
    return Written(step, "draft", draft.path, draft.revision, characters, draft.masked, _DRAFT)


def edit(service: Service, given_step: str, section: str, text: str, *, mode: str, expected: str) -> Written:
    """Change one section of the step's document. Raises Usage, NothingThere, Conflict, FilesError, LockTimeout."""
    wanted = expected_revision(expected)
    check_text("text", text)
    if len(section) > _LONGEST_HEADING:
        raise Usage("There is no section with such a long name.", next=f"The sections are {', '.join(FIELDS)}.")
    field = field_of(section)
    step = service.steps.named_by(given_step)
    masked = mask(text)
    with service.writing:
        try:
            document = service.workbench.edit(step, field, masked.text, mode, wanted)
        except Conflict as conflict:
            raise _stale(service, conflict, field) from conflict
        service.note(step, document.revision)
        service.steps.remember(document)
    missing = document.handoff.missing()
    note = f"Only the section {field!r} was changed."
    if missing:
        note += f" The document is not complete: {' and '.join(missing)} says nothing."
    return Written(
        step,
        "document",
        document.path,
        document.revision,
        document.handoff.sections(),
        masked.count,
        note,
        False,
        missing,
    )


def _stale(service: Service, conflict: Conflict, field: str) -> Usage | NothingThere:
    """The conflict with what the caller needs to try again: the section as it is now."""
    document: Document | None = service.workbench.read(conflict.step)
    if document is None:
        return NothingThere(
            f"There is no document of step {conflict.step!r} any more.", next="Write one: write_handoff."
        )
    now = getattr(document.handoff, field)
    shown = now[:_SHOWN] + (f"\n(the first {_SHOWN:,} of {len(now):,} characters)" if len(now) > _SHOWN else "")
    mark = stranger(service, conflict.step, document.revision, document.path)
    shown = f"{mark}\n\n{shown}" if mark else shown
    return Usage(
        f"The document of step {conflict.step!r} is not at revision {conflict.expected!r} any more: its revision is "
        f"{document.revision}.",
        kept="Nothing was written.",
        next=f"Call again with expected_revision {document.revision!r} if your change still fits. "
        f"The section {field!r} as it is now:\n\n{shown or '(空)'}",
    )
