"""What the handoff turn gave: freeze it, ask once more, or let code assemble a document.

A table over what is left of the turn. It must not know how the turn was run. The rule behind it: a document that has
its two required sections is always better than one assembled by code, however the turn ended; the reason then goes
into the books.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from flower_mcp.core.books import WrittenBy
from flower_mcp.core.decide import Ending
from flower_mcp.core.handoff import FIELDS, Handoff

ASKS = 2  # the first ask and one more that names what is missing


class TurnEnd(StrEnum):
    """How the handoff turn ended."""

    COMPLETED = "completed"
    CUT = "cut off at the output limit"
    ERROR = "error"
    TIMEOUT = "no answer in time"
    DIED = "the session ended"


@dataclass(frozen=True, slots=True)
class Written:
    """What a handoff turn left: how it ended (`detail` in words), its text read, its draft read, how often asked."""

    end: TurnEnd
    text: Handoff | None = None
    draft: Handoff | None = None
    asks: int = 1
    detail: str = ""


@dataclass(frozen=True, slots=True)
class WritingVerdict:
    """What to do. `why` is for the books: None when all is well."""

    ending: Ending
    handoff: Handoff | None = None
    written_by: WrittenBy | None = None
    why: str | None = None
    missing: tuple[str, ...] = ()


def _reason(written: Written) -> str:
    """The end of the turn in words."""
    return f"{written.end}: {written.detail}" if written.detail else written.end.value


def _together(draft: Handoff | None, text: Handoff | None) -> Handoff:
    """A draft with what it lacks taken from the turn's text."""
    if draft is None or text is None:
        return draft or text or Handoff()
    fields = {name: getattr(draft, name) or getattr(text, name) for name in FIELDS}
    return replace(draft, **fields, extra=draft.extra or text.extra)


def judge(written: Written) -> WritingVerdict:
    """Decide what becomes of a handoff turn (design, section 5).

    A complete draft wins over the turn's text, and either over the two together. A turn that can answer is asked at
    most `ASKS` times.
    """
    why = None if written.end is TurnEnd.COMPLETED else _reason(written)
    partial = _together(written.draft, written.text)
    candidates = ((written.draft, WrittenBy.DRAFT), (written.text, WrittenBy.SESSION), (partial, WrittenBy.SESSION))
    for handoff, writer in candidates:
        if handoff is not None and handoff.complete():
            return WritingVerdict(Ending.WRITTEN, handoff, writer, why)
    missing = partial.missing()
    if written.end in (TurnEnd.COMPLETED, TurnEnd.CUT) and written.asks < ASKS:
        return WritingVerdict(Ending.INCOMPLETE, missing=missing, why=why)
    lacking = f"without {' and '.join(missing)}"
    reason = lacking if why is None else f"{why}, {lacking}"
    return WritingVerdict(Ending.UNWRITTEN, partial, WrittenBy.CODE, reason, missing)
