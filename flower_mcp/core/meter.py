"""Context and watermarks from the main thread's messages.

Two numbers that cannot be mixed up: context (tokens that the last request of the main thread carried) is measured
here; cost is a result's and never passes through. A subagent's messages, a result's summed usage and a client's
percentage must not be fed in. What can hurt: one API message reaches us as several, with figures that grow, and some
gateways report zeros first; so the figures of one message are merged, the greatest of each kind wins. Others report
nothing at all, or something else: then the context is estimated from the characters of the session's own main thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from flower_mcp.core.estimate import REQUEST_FLOOR, Characters
from flower_mcp.core.figures import Context
from flower_mcp.core.policy import HandoffPolicy

SILENT = 3  # messages in a row without figures, then the context is unknown (design: the meter)
EVIDENCE = 20_000  # tokens' worth of characters, below which figures are not doubted
TOO_FEW = 4  # figures below a quarter of what the characters come to: more than 12 characters a token in prose
TOO_MANY = 4  # figures four times what the characters come to: tools and files of memory are not shown, nor images
STEADY = 10  # messages over which growth must have been like that; a single image or document makes one jump
NOTHING = Characters()
NO_TOKENS = Context(0)
FALLEN = 2  # a figure below half of the one before: thinking that is dropped between turns makes it fall by less


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
    def context(self) -> Context:
        """What the request carried: input + cache creation + cache read."""
        return Context(self.input + self.cache_creation + self.cache_read)

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


class Condition(StrEnum):
    """What is odd about the figures that an endpoint reports. None of it ends anything; each is said once a session."""

    UNKNOWN = "no figures are reported"
    TOO_LOW = "figures far below what the characters come to"
    TOO_HIGH = "figures far above what the characters come to"
    ABOVE_WINDOW = "figures above the window"
    FELL = "figures that fell without a compaction"


@dataclass(frozen=True, slots=True)
class Left:
    """What a session had carried when it was left, in tokens: what resuming it will read again."""

    context: Context
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Meter:
    """What one session's main thread has used so far. A new session starts with a new Meter.

    `before` is the last context that was reported before this message; `floor` the context of the session's first
    message: what it costs to begin. `carried` is what the last request carried of the characters that messages show,
    `answered` the last message's own, `added` those of tool results and prompts since. `base` is what a request
    carries besides: system prompt and tools, or what a compaction left.
    """

    message_id: str | None = None
    usage: Usage = Usage()
    before: Context = NO_TOKENS
    reported_floor: Context = NO_TOKENS
    messages: int = 0
    silent: int = 0  # messages before this one, in a row, that reported nothing
    base: int = REQUEST_FLOOR
    carried: Characters = NOTHING
    opening: Characters = NOTHING  # what the first request carried
    known: Characters = NOTHING  # what the request carried that `before` is about
    answered: Characters = NOTHING
    added: Characters = NOTHING
    jump: int = 0  # the greatest growth from one message to the next
    is_low: bool = False  # of the message before, as is `fell`: a message's own figures may still grow
    fell: bool = False

    @classmethod
    def resumed(cls, left: Left | None) -> Meter:
        """For a session that is resumed: what it had carried is carried again, and known or unknown as it was."""
        if left is None:
            return cls()
        return cls(base=left.context, silent=SILENT - 1 if left.estimated else 0)

    def message(self, message_id: str | None, usage: Usage, *, begins: bool | None = None) -> Meter:
        """Take in a message of the main thread, or more of the one before: as `begins` says, or else as the ids do."""
        if begins is None:
            begins = not message_id or message_id != self.message_id
        if not begins and self.messages:
            return replace(self._with(self.usage.merged(usage)), message_id=message_id or self.message_id)
        reported = self.usage.context
        carried = self.carried + self.answered + self.added
        new = replace(
            self,
            message_id=message_id,
            before=reported or self.before,
            known=self.carried if reported else self.known,
            messages=self.messages + 1,
            silent=0 if reported else self.silent + int(self.messages > 0),
            carried=carried,
            opening=carried if self.messages == 0 else self.opening,
            answered=NOTHING,
            added=NOTHING,
            jump=max(self.jump, reported - self.before) if self.before else self.jump,
            is_low=self._reports_too_little if reported else self.is_low,
            fell=0 < reported < self.before / FALLEN,
        )
        return new._with(usage)

    def _with(self, usage: Usage) -> Meter:
        """The same message with these figures."""
        floor = usage.context if self.messages == 1 else self.reported_floor
        return replace(self, usage=usage, reported_floor=floor)

    def answer(self, characters: Characters) -> Meter:
        """Take in characters of the message itself: text, thinking, tool calls."""
        return replace(self, answered=self.answered + characters)

    def more(self, characters: Characters) -> Meter:
        """Take in characters that the next request will carry on top: tool results, a prompt."""
        return replace(self, added=self.added + characters)

    def compacted(self, left: Context) -> Meter:
        """The CLI compacted; `left` tokens is what it says that the context is now, 0 when it does not say."""
        return replace(
            self, usage=Usage(), before=left, base=left or REQUEST_FLOOR, carried=NOTHING, known=NOTHING,
            answered=NOTHING, added=NOTHING, is_low=False,
        )  # fmt: skip

    @property
    def is_estimated(self) -> bool:
        """Whether `context` is estimated: nothing was reported three times in a row, or far too little."""
        return self._is_unknown or self.is_low

    @property
    def context(self) -> Context:
        """Tokens that the last request carried; a message that reported nothing yet keeps the figure before it."""
        if not self.is_estimated:
            return self.usage.context or self.before
        if self.before and not self.is_low:
            return Context(self.before + self.carried.tokens - self.known.tokens)
        return Context(self.base + self.carried.tokens)

    @property
    def floor(self) -> Context | None:
        """Tokens of the session's first message, estimated where they must be; None before it, 0 while not known."""
        if self.messages == 0:
            return None
        if self.is_low or (self._is_unknown and not self.reported_floor):
            return Context(self.base + self.opening.tokens)
        return self.reported_floor

    @property
    def next_request(self) -> Context:
        """Tokens that the next request will carry, at least: context + output + what was added since."""
        output = self.usage.output or self.answered.tokens
        return Context(self.context + output + self.added.tokens)

    def watermark(self, policy: HandoffPolicy) -> Watermark:
        """Hold the context against the policy's lines (design, section 5)."""
        if self.messages == 0:
            return Watermark.BELOW
        if self.context >= policy.at or self.next_request > policy.next_request_limit:
            return Watermark.DUE
        return Watermark.NEAR if self.context >= policy.warn_at else Watermark.BELOW

    def conditions(self, policy: HandoffPolicy) -> tuple[Condition, ...]:
        """What is odd about the figures now."""
        found = {
            Condition.UNKNOWN: self._is_unknown,
            Condition.TOO_LOW: self.is_low,
            Condition.TOO_HIGH: self._is_too_high,
            Condition.ABOVE_WINDOW: self.usage.context > policy.window,
            Condition.FELL: self.fell,
        }
        return tuple(condition for condition, holds in found.items() if holds)

    @property
    def _is_unknown(self) -> bool:
        return not self.usage.context and self.silent + 1 >= SILENT

    @property
    def _reports_too_little(self) -> bool:
        shown = self.carried.tokens
        return shown >= EVIDENCE and self.usage.context * TOO_FEW < shown

    @property
    def _is_too_high(self) -> bool:
        if self.messages == 1:
            return self.reported_floor > TOO_MANY * (self.base + self.opening.tokens)
        grown = self.usage.context - self.reported_floor - max(self.jump, self.usage.context - self.before)
        shown = max(self.carried.tokens - self.opening.tokens, EVIDENCE)
        return self.reported_floor > 0 and self.messages > STEADY and grown > TOO_MANY * shown
