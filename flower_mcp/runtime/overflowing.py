"""An overflow, where it is recognised: how full the session was, what the API really said, and what is being rewound.

`overflowed` is the one place that every recognised overflow passes, whichever move came upon it: whoever wants to learn
from overflows does so there. It must not decide what an overflow asks for (failures.py, decide.py and writing.py do).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from flower_mcp.core.failures import RULES, Action, Outcome, failure_of
from flower_mcp.core.transcript import error_details
from flower_mcp.core.windows import words_of
from flower_mcp.runtime.signals import Gone, Signal, Stuck, TurnEnded
from flower_mcp.workbench.transcripts import lines_backwards

if TYPE_CHECKING:
    from flower_mcp.runtime.session import Session
    from flower_mcp.runtime.step import StepRun

DETAILS = 1_000  # characters of the API's words; their numbers may stand behind a gateway's


@dataclass(slots=True)
class Rewinding:
    """A session that was too full to write, and how far its forks have gone back.

    `full` is that session, closed and kept to be retired. `requests`: what it can be rewound to, oldest first.
    `by`: how many requests the present fork is behind it; `ran`: lines for scene on what ran since.
    """

    full: Session | None
    session_id: str
    requests: tuple[str, ...] = ()
    attempts: int = 0
    by: int = 0
    ran: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


def filled(run: StepRun, signal: Signal) -> Signal:
    """A signal of an end, with how full the session was by then: the second sign of an overflow."""
    if not isinstance(signal, TurnEnded | Gone | Stuck):
        return signal
    fresh = run.is_fresh and run.handing.rewinding is None
    fresh = fresh and run.session is not None and run.session.reader.good == 0
    outcome = replace(signal.outcome, context=run.record.row.context, window=run.policy.window, fresh=fresh)
    return replace(signal, outcome=outcome)


def looked_into(run: StepRun, outcome: Outcome) -> Outcome:
    """An outcome that looks like an overflow, with the API's own words, which only the transcript has."""
    from flower_mcp.runtime.look import transcript_of

    if RULES[failure_of(outcome)].action is not Action.HAND_OFF:
        return outcome
    path = transcript_of(run, run.record.row.session_id or "")
    details = None if path is None else error_details(lines_backwards(path))
    return replace(outcome, details=words_of(details, DETAILS)) if details else outcome


def overflowed(run: StepRun, outcome: Outcome) -> None:
    """Take note of an overflow, or of a history that the API refuses. `outcome` has been looked into."""
    run.handing.why = outcome.words


def end_fork(run: StepRun) -> None:
    """Close the fork that writes, if one does: the session that it came from is the step's again."""
    rewinding = run.handing.rewinding
    if rewinding is None or run.session is rewinding.full:
        return
    if run.session is not None:
        run.session.close(retired=True)
    run.session = rewinding.full


def abandon_forks(run: StepRun) -> None:
    """No fork can write now: when it can be gone on, the session is asked anew, which finds the overflow again."""
    if run.handing.rewinding is not None:
        end_fork(run)
        run.session = run.handing.rewinding = None
