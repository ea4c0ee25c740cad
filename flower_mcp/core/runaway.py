"""Steps that go round in circles: generations that come to nothing, and starts that fail in the same way.

Values only: what counts is passed in, and what is done about it stands in decide.py. What can hurt: a breaker that
fires on housekeeping. A handoff that a person asked for, a session that was resumed with a full context and a line that
is low on purpose are no circles; and to make one, two must come in a row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from flower_mcp.core.figures import Context

THIN = 20_000  # tokens worked since the first message, below which a generation is thin (design: no runaway)
FAR_ABOVE = 20_000  # tokens that a successor may start with on top of the first session: document, words and more
ALIKE = 3  # starts in a row that fail alike, then it is no use to try again (field: a breaker on failed recoveries)


@dataclass(frozen=True, slots=True)
class Worked:
    """What a session had used when it handed off: its first message's context and its last, and the line it was held
    against. `counts` is false where its length says nothing: a person asked for the handoff, or it was resumed.
    """

    floor: Context
    context: Context
    line: int
    counts: bool = True

    @property
    def tokens(self) -> int:
        """Tokens worked since the first message."""
        return max(0, self.context - self.floor)

    @property
    def is_thin(self) -> bool:
        """Whether it came to next to nothing: less than 20,000 tokens, or than half of the room that it had.

        Without room every generation is thin.
        """
        room = self.line - self.floor
        return self.counts and (room <= 0 or self.tokens < min(THIN, room // 2))


def are_thin(worked: Sequence[Worked]) -> bool:
    """Whether the last two generations were thin."""
    return len(worked) >= 2 and all(each.is_thin for each in worked[-2:])


def starts_far_above(first: Context, floor: Context) -> bool:
    """Whether a successor's first message carried far more than the first session's."""
    return floor > first + FAR_ABOVE


_VARIES = re.compile(r"\b(?:req|msg|toolu)_\w+|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\d+")


@dataclass(frozen=True, slots=True)
class Starts:
    """Starts of sessions that failed before their first good message, in a row and alike: `count` of them."""

    kind: str = ""
    words: str = ""
    count: int = 0

    def failed(self, kind: str, words: str) -> Starts:
        """One more. Alike means the same kind in the same words; ids and numbers may differ."""
        said = _VARIES.sub("#", words.lower())[:1_000]
        if (kind, said) == (self.kind, self.words):
            return replace(self, count=self.count + 1)
        return Starts(kind, said, 1)

    @property
    def are_hopeless(self) -> bool:
        """Whether it is no use to try again."""
        return self.count >= ALIKE
