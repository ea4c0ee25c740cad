"""Which handoff document waits for a session, and what a new interactive session is told of the steps that there are.

Pure: what lies on the disk comes in as values. It must not know files, nor whose session it is. What can hurt: a
document that is given twice is worked on twice, and one that came with a cloned repository must not be given at all. So
whatever is recorded of a revision, by a launch or by an interactive session, keeps it from being given again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

ROOM = 10_000  # characters that a hook of Claude Code may add to a context; a longer text would not arrive whole


@dataclass(frozen=True, slots=True)
class Lying:
    """A step's newest document, and what is recorded of it.

    `revision` is "" where there is no document; `written_at` in seconds since the epoch; `taken` is the revision that a
    session was given last, `launched` are those that the books name. `is_held`: somebody holds the step's run lock;
    `is_known`: the document comes from this machine; `state` as it was written, "" when nothing is known.
    """

    step: str
    revision: str = ""
    written_at: float = 0.0
    taken: str = ""
    launched: frozenset[str] = frozenset()
    is_held: bool = False
    is_known: bool = True
    state: str = ""


def waits(lying: Lying) -> bool:
    """Whether the document waits: no session has gone on from it, and nobody works on its step."""
    is_used = lying.revision == lying.taken or lying.revision in lying.launched
    return bool(lying.revision) and not lying.is_held and not is_used


def is_taken_elsewhere(revision: str, taken: str, launched: Collection[str]) -> bool:
    """Whether a session that no supervisor started was given this very document: whatever it did, no document has."""
    return bool(revision) and revision == taken and revision not in launched


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a new interactive session is told of: steps that somebody runs, the one whose document it is given (None:
    none), others that wait as well, and documents that are not from here. Each with the newest first."""

    running: tuple[Lying, ...] = ()
    given: Lying | None = None
    others: tuple[Lying, ...] = ()
    strange: tuple[Lying, ...] = ()


def greeting(found: Iterable[Lying], preferred: str = "") -> Greeting:
    """What to tell a new session. The newest document that waits is given; the step `preferred` comes first."""
    newest_first = sorted(found, key=lambda one: (one.step == preferred, one.written_at), reverse=True)
    waiting = [one for one in newest_first if waits(one)]
    ours = [one for one in waiting if one.is_known]
    return Greeting(
        running=tuple(one for one in newest_first if one.is_held),
        given=ours[0] if ours else None,
        others=tuple(ours[1:]),
        strange=tuple(one for one in waiting if not one.is_known),
    )
