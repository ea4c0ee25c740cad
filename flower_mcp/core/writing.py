"""What the handoff turn gave: freeze it, ask once more, rewind by so much, or let code assemble a document.

A table over what is left of the turn, when a turn that failed is run again or is owed, and how far a session is rewound
that is too full to write. It must not know how the turn was run. The rule behind it: a document that has its two
required sections is always better than one assembled by code, however the turn ended; the reason then goes into the
books.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from flower_mcp.core.books import WrittenBy
from flower_mcp.core.decide import Ending
from flower_mcp.core.failures import RULES, Action, Failure
from flower_mcp.core.handoff import FIELDS, Handoff

ASKS = 2  # the first ask and one more that names what is missing
HANDED_ON = "the document that it was given is handed on"
PROCESSES = 3  # in which one handoff turn is tried, when they end
PASSING = frozenset({Failure.RATE, Failure.SERVER, Failure.NETWORK, Failure.SILENT})
WRITES_ON = frozenset({Failure.BUDGET, Failure.TURNS, Failure.REFUSAL, Failure.OUR_BREAK})  # degraded, not given up
SHARES = (1, 2, 4)  # a fork goes back by one request, then to a half of those that are left, then to a quarter


class TurnEnd(StrEnum):
    """How the handoff turn ended."""

    COMPLETED = "completed"
    CUT = "cut off at the output limit"
    FULL = "overflow"
    ERROR = "error"
    TIMEOUT = "no answer in time"
    DIED = "the session ended"


class Then(StrEnum):
    """What follows a handoff turn."""

    JUDGE = "judge what it left"
    REPEAT = "the same turn again, after a pause"
    REOPEN = "the same turn again, in a new process without a budget"
    OWE = "keep the session: it writes when the world lets it"


def then(kind: Failure, *, exited: bool, failures: int, most: int, is_fork: bool = False) -> Then:
    """What follows a handoff turn that ended so, its `failures`-th one; `most` is how often its kind is tried again.

    What the world refuses it refuses a successor, too, so what the session knows is not given up for it.
    """
    if exited and kind is Failure.SILENT:
        kind = Failure.CLI_DIED
    if kind is Failure.BUDGET or (kind is Failure.CLI_DIED and most):
        return Then.REOPEN if failures < PROCESSES and not is_fork else Then.JUDGE
    if kind in PASSING:
        return Then.REPEAT if failures <= most else Then.OWE
    is_refused = RULES[kind].action in (Action.STOP, Action.WAIT) and kind not in WRITES_ON
    return Then.OWE if is_refused else Then.JUDGE


@dataclass(frozen=True, slots=True)
class Written:
    """What a handoff turn left: how it ended (`detail` in words), its text read, its draft read, how often asked.

    `rewound`: the turn was a fork's, so many requests before the overflow that `overflow` has in words.
    """

    end: TurnEnd
    text: Handoff | None = None
    draft: Handoff | None = None
    asks: int = 1
    detail: str = ""
    rewound: int = 0
    overflow: str = ""


@dataclass(frozen=True, slots=True)
class WritingVerdict:
    """What to do. `why` is for the books: None when all is well."""

    ending: Ending
    handoff: Handoff | None = None
    written_by: WrittenBy | None = None
    why: str | None = None
    missing: tuple[str, ...] = ()


def _reason(written: Written) -> str | None:
    """What was not as usual, in words: the overflow that was rewound, the end of the turn."""
    end = f"{written.end}: {written.detail}" if written.detail else written.end.value
    back = (
        f"{written.overflow}; rewound by {written.rewound} request{'s' * (written.rewound > 1)}"
        if written.rewound
        else ""
    )
    return "; ".join(part for part in (back, "" if written.end is TurnEnd.COMPLETED else end) if part) or None


def _together(draft: Handoff | None, text: Handoff | None) -> Handoff:
    """A draft with what it lacks taken from the turn's text."""
    if draft is None or text is None:
        return draft or text or Handoff()
    fields = {name: getattr(draft, name) or getattr(text, name) for name in FIELDS}
    return replace(draft, **fields, extra=draft.extra or text.extra)


def judge(written: Written) -> WritingVerdict:
    """Decide what becomes of a handoff turn (design, section 5).

    A complete draft wins over the turn's text, and either over the two together. A turn that can answer is asked at
    most `ASKS` times. A session that is too full is rewound, and a fork that could not write is one more reason to.
    """
    why = _reason(written)
    partial = _together(written.draft, written.text)
    candidates = ((written.draft, WrittenBy.DRAFT), (written.text, WrittenBy.SESSION), (partial, WrittenBy.SESSION))
    for handoff, writer in candidates:
        if handoff is not None and handoff.complete():
            return WritingVerdict(Ending.WRITTEN, handoff, WrittenBy.REWOUND if written.rewound else writer, why)
    missing = partial.missing()
    if written.end in (TurnEnd.COMPLETED, TurnEnd.CUT) and written.asks < ASKS:
        return WritingVerdict(Ending.INCOMPLETE, missing=missing, why=why)
    lacking = f"without {' and '.join(missing)}"
    reason = lacking if why is None else f"{why}, {lacking}"
    too_full = written.end is TurnEnd.FULL or written.rewound > 0
    return WritingVerdict(Ending.OVERFLOW if too_full else Ending.UNWRITTEN, partial, WrittenBy.CODE, reason, missing)


def back_to(requests: int, attempt: int) -> int | None:
    """How many of a session's answered requests a fork keeps to write from, at its `attempt` (from 1); None: no more.

    The last one that is kept is sent again with the order to write in place of its answer.
    """
    kept = list(dict.fromkeys(-(-requests // share) for share in SHARES)) if requests > 0 else []
    return kept[attempt - 1] if attempt <= len(kept) else None


def unrewound(draft: Handoff | None, partial: Handoff, why: str) -> WritingVerdict:
    """What becomes of an overflow when no fork could write: the draft that the session once wrote, else code writes."""
    if draft is not None and draft.complete():
        return WritingVerdict(Ending.WRITTEN, draft, WrittenBy.DRAFT, why)
    return WritingVerdict(Ending.UNWRITTEN, partial, WrittenBy.CODE, why, partial.missing())


def handed_on(given: Handoff | None, why: str, *, did_nothing: bool) -> WritingVerdict | None:
    """What stands for the document of a session that could not write one; None: code assembles it.

    A session that did nothing since it was `given` a document knows nothing that is not in it, so that very document
    goes to its successor. One that code assembled would say less.
    """
    if given is None or not did_nothing:
        return None
    return WritingVerdict(Ending.WRITTEN, given, WrittenBy.BEFORE, f"{why}; it had done nothing: {HANDED_ON}")
