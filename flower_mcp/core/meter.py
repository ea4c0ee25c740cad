"""Context and watermarks from the main thread's messages.

Two numbers that cannot be mixed up: context (tokens that the last request of the main thread carried) is measured
here; cost is a result's and never passes through. A subagent's messages, a result's summed usage and a client's
percentage must not be fed in. What can hurt: one API message reaches us as several, with figures that grow, and some
gateways report zeros first; so figures are merged by message id, the greatest of each kind wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from flower_mcp.core.policy import HandoffPolicy

CHARACTERS_PER_TOKEN = 3  # a careful estimate for tool results (design, section 5)


def _count(value: object) -> int:
    """A count of tokens from JSON: what is no number, or negative, counts as 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return 0
    return int(value)


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one API message."""

    input: int = 0
    cache_creation: int = 0
    cache_read: int = 0
    output: int = 0

    @classmethod
    def read(cls, usage: object) -> Usage:
        """From the API's own shape; a gateway's totals and unknown keys are not looked at. No object: no tokens."""
        if not isinstance(usage, Mapping):
            return cls()
        return cls(
            input=_count(usage.get("input_tokens")),
            cache_creation=_count(usage.get("cache_creation_input_tokens")),
            cache_read=_count(usage.get("cache_read_input_tokens")),
            output=_count(usage.get("output_tokens")),
        )

    @property
    def context(self) -> int:
        """What the request carried: input + cache creation + cache read."""
        return self.input + self.cache_creation + self.cache_read

    def merged(self, other: Usage) -> Usage:
        """The greatest of each kind: figures of one message only grow."""
        return Usage(
            input=max(self.input, other.input),
            cache_creation=max(self.cache_creation, other.cache_creation),
            cache_read=max(self.cache_read, other.cache_read),
            output=max(self.output, other.output),
        )


class Watermark(StrEnum):
    """Where a context stands against the lines."""

    BELOW = "below"
    NEAR = "near"
    DUE = "due"


@dataclass(frozen=True, slots=True)
class Meter:
    """What one session's main thread has used so far. A new session starts with a new Meter.

    `added` counts the characters of tool results and prompts since the last message; `floor` is the context of the
    session's first message: what it costs to begin.
    """

    message_id: str | None = None
    usage: Usage = Usage()
    before: int = 0
    floor: int | None = None
    messages: int = 0
    added: int = 0

    def message(self, message_id: str | None, usage: Usage) -> Meter:
        """Take in a message of the main thread, or more of the one before."""
        if message_id is not None and message_id == self.message_id:
            merged = self.usage.merged(usage)
            floor = merged.context if self.messages == 1 else self.floor
            return replace(self, usage=merged, floor=floor)
        return replace(
            self,
            message_id=message_id,
            usage=usage,
            before=self.context,
            floor=usage.context if self.messages == 0 else self.floor,
            messages=self.messages + 1,
            added=0,
        )

    def more(self, characters: int) -> Meter:
        """Take in characters that the next request will carry on top: tool results, a prompt."""
        return replace(self, added=self.added + max(0, characters))

    @property
    def context(self) -> int:
        """Tokens that the last request carried; a message that reported nothing yet keeps the figure before it."""
        return self.usage.context or self.before

    @property
    def next_request(self) -> int:
        """Tokens that the next request will carry, at least: context + output + what was added since."""
        return self.context + self.usage.output + self.added // CHARACTERS_PER_TOKEN

    def watermark(self, policy: HandoffPolicy) -> Watermark:
        """Hold the context against the policy's lines (design, section 5)."""
        if self.messages == 0:
            return Watermark.BELOW
        if self.context >= policy.at or self.next_request > policy.next_request_limit:
            return Watermark.DUE
        return Watermark.NEAR if self.context >= policy.warn_at else Watermark.BELOW
