"""What a session starts with after a handoff or a compaction: the tokens of its first request, by what they are.

It knows the words that the CLI and the supervisor put around a summary and a document. It knows no price.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.survey import CONTINUED, FIRST_LINE
from flower_mcp.core.texts import load
from flower_mcp.demo.cache import CHARACTERS_PER_TOKEN
from flower_mcp.demo.prefix import Part, blocks
from flower_mcp.demo.request import Request

TAKING_OVER = load("takeover").split(".")[0]


@dataclass(frozen=True, slots=True)
class Start:
    """Tokens: tools and system prompt, the document or summary with the words around it, files and results that were
    put back, and the rest (the CLI's reminders).
    """

    fixed: int
    account: int
    put_back: int
    rest: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.fixed + self.account + self.put_back + self.rest

    @property
    def told(self) -> str:
        """The parts, as text."""
        parts = {"tools and system": self.fixed, "account": self.account, "put back": self.put_back, "rest": self.rest}
        return f"{self.total:,} (" + ", ".join(f"{name} {tokens:,}" for name, tokens in parts.items()) + ")"


def start_of(request: Request) -> Start:
    """The parts of a request."""
    counted = {"fixed": 0, "account": 0, "put_back": 0, "rest": 0}
    for block in blocks(request.body):
        if block.part is not Part.MESSAGES:
            kind = "fixed"
        elif TAKING_OVER in block.text or CONTINUED in block.text:
            kind = "account"
        else:
            kind = "put_back" if FIRST_LINE.search(block.text) else "rest"
        counted[kind] += len(block.text)
    return Start(**{kind: characters // CHARACTERS_PER_TOKEN for kind, characters in counted.items()})
