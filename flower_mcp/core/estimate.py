"""How many tokens a text is, roughly, from its characters; and what a request carries that no message shows.

For sessions whose endpoint reports no figures, or figures that cannot be right. Values only: it must not know messages
or files. What can hurt: one rate for all languages, a Chinese text has three times the tokens that its length suggests;
and forgetting the system prompt and the tools, which are most of a short session's context. So the guess is high
rather than low: a handoff that comes early costs little, an overflow costs the session.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CHARACTERS_PER_TOKEN = 3  # design, section 5; English prose has 4, code and JSON about 3
# System prompt and tools of Claude Code: 29 and 48 KB of a first request (seen with 2.1.332), at that rate.
REQUEST_FLOOR = 25_000  # tokens

# Scripts and signs of which one character is about a token: CJK and its punctuation, kana, Hangul, full-width forms,
# pictures.
_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U0001f000-\U0003ffff]+"
)


@dataclass(frozen=True, slots=True)
class Characters:
    """A number of characters, told apart by how many make a token: three, or one (`wide`)."""

    narrow: int = 0
    wide: int = 0

    @classmethod
    def of(cls, text: str) -> Characters:
        """Count a text."""
        if text.isascii():
            return cls(len(text))
        wide = sum(len(run) for run in _WIDE.findall(text))
        return cls(len(text) - wide, wide)

    @property
    def tokens(self) -> int:
        """Tokens, rather too many than too few for prose."""
        return self.narrow // CHARACTERS_PER_TOKEN + self.wide

    def __add__(self, other: Characters) -> Characters:
        """Both together."""
        return Characters(self.narrow + other.narrow, self.wide + other.wide)
