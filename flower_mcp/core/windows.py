"""What an overflow teaches about a window, how long that counts, and what proves it wrong.

Pure: refusals, contexts and times in, verdicts out. It must not know where lessons are kept, nor whose turn it is.
What can hurt: a window learned too small makes handoffs for nothing, one learned too large costs an overflow more. So a
lesson must be believable (nothing above it was accepted, and a fresh session has room below its line), and the next
request that is accepted above it undoes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from flower_mcp.core.books import seconds
from flower_mcp.core.failures import Failure, Outcome, failure_of
from flower_mcp.core.overflow import is_media_limit, stated_limit
from flower_mcp.core.policy import HandoffPolicy

LASTS: Final = 30 * 86_400.0  # seconds (design, section 6): models and gateways change
SAID: Final = 200  # characters kept of the text that a window came from
LOCAL: Final = frozenset({"blocking_limit", "rapid_refill_breaker"})  # refused by the CLI, by what it believes itself
DEAR: Final = 300_000  # tokens; a handoff line above this makes every request dear, and documents have been found empty
EARLIER: Final = 200_000  # tokens; the line to use then


@dataclass(frozen=True, slots=True)
class Learned:
    """A window in tokens that an overflow taught, when (ISO 8601), and the text it came from (`from` in the JSON)."""

    window: int
    at: str
    said: str

    def counts(self, now: float) -> bool:
        """Whether it still counts at `now`, in seconds since the epoch. A time that is none, or far off, does not."""
        try:
            return abs(now - seconds(self.at)) < LASTS
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that the API refused for its length. Tokens; 0: unknown.

    `said` are the API's words; `accepted` is the largest context that went through in the session, `carried` what the
    refused request carried by our estimate, `floor` what a fresh session of the step begins with, `policy` the one in
    force. `first`: it was the first request of a fresh session, so that no session of the step fits.
    """

    said: str
    policy: HandoffPolicy
    accepted: int = 0
    carried: int = 0
    floor: int = 0
    first: bool = False


def teaches(outcome: Outcome) -> bool:
    """Whether an outcome can teach a window: a real overflow of the API's. Limits of bytes, media, output and rate, a
    poisoned history, and what the CLI refused by itself cannot.
    """
    return failure_of(outcome) is Failure.OVERFLOW and outcome.terminal_reason not in LOCAL


def lesson(refusal: Refusal) -> int | None:
    """The window that a refusal teaches, in tokens; None when it teaches nothing.

    The limit that the text states comes first. One that was believed already, or that was passed before without a
    refusal, is not counted as our figures are: then the context at which the API refused is the window.
    """
    if refusal.first or is_media_limit(refusal.said):
        return None
    window = stated_limit(refusal.said)
    if window is None or not _is_news(window, refusal):
        window = refusal.carried
    leaves_room = window > 0 and refusal.floor < refusal.policy.with_window(window).at
    return window if leaves_room and _is_news(window, refusal) else None


def _is_news(window: int, refusal: Refusal) -> bool:
    """Whether it is smaller than what was believed, and nothing above it was accepted."""
    return refusal.accepted <= window < refusal.policy.window


class Doubt(StrEnum):
    """Why a learned window does not count any more."""

    EXCEEDED = "a request above it was accepted"
    FILLED = "a fresh session's first message fills it already"


def doubt(learned: Learned, policy: HandoffPolicy, *, context: int, first: bool) -> Doubt | None:
    """What a context that was accepted says against a learned window. `first`: of a fresh session's first message."""
    if context > learned.window:
        return Doubt.EXCEEDED
    if first and context >= policy.with_window(learned.window).at:
        return Doubt.FILLED
    return None


def smaller(one: Learned | None, other: Learned, now: float) -> Learned:
    """Of a window known before and a new one: the smallest that counts."""
    return one if one is not None and one.counts(now) and one.window <= other.window else other


def key(endpoint: str, model: str) -> str:
    """What a learned window is kept under: "<base url> <model>". One model has several windows by reseller."""
    return f"{endpoint} {'-'.join(model.split())}"


def words_of(details: str, most: int = SAID) -> str:
    """An API's error text without the JSON around it, on one line, at most `most` characters."""
    text = " ".join((_message_in(details) or details).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _message_in(details: str) -> str | None:
    """The `message` in an error's JSON object; None when there is no such object."""
    start = details.find("{")
    try:
        value: Any = json.loads(details[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        return None
    error = value.get("error", value) if isinstance(value, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) and message.strip() else None


def earlier_line(window: int, at: int) -> int:
    """A handoff line in tokens to use in place of `at` where documents come out empty: two thirds, 200,000 at most."""
    return min(EARLIER, at * 2 // 3 // 1000 * 1000)
