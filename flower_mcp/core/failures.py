"""How a turn ended, and what that asks for: retry, wait, stop, hand off, or nothing.

Two steps, both pure: `failure_of` finds the kind, by structure first (terminal_reason, HTTP status, exit) and by the
words of an error last; `RULES` says what each kind asks for, and `action_of` whether what would wait may wait. How full
the session was is a second sign: what nobody knows is most probably a full context near the end of the window. A failed
turn arrives as subtype "success" with is_error set, so the subtype is not looked at; an answer's prose and tool results
must never be fed in, only an error's text. The shapes were tried against the real CLI (docs/decisions.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from flower_mcp.core.overflow import blames_output, is_media_limit, is_overflow

NEAR = 0.9  # of the window: an error of unknown words is an overflow here (field reports 28 and 39)
FULL = 0.99  # of the window: an answer that ends here was cut by the window, whatever limit is named


class Failure(StrEnum):
    """The kinds of ends of a turn."""

    NONE = "none"
    OUR_BREAK = "our own break"
    ABORTED = "interrupted"
    BUDGET = "budget reached"
    TURNS = "turns reached"
    OVERFLOW = "context full"
    POISONED = "a request that the history makes impossible"
    NO_ROOM = "max_tokens asks for more than the window has left"
    OUTPUT_LIMIT = "answer cut at the output limit"
    CREDENTIALS = "credentials refused"
    PERMISSION = "not allowed"
    BILLING = "billing"
    PLAN = "not in the account's plan"
    MODEL = "model unknown"
    REFUSAL = "the model refused"
    LIMITED = "usage limit reached"
    RATE = "rate limit"
    SERVER = "server error"
    NETWORK = "network"
    UNREACHABLE = "the endpoint cannot be reached"
    MALFORMED = "malformed answers"
    CLI_DIED = "the CLI ended"
    SILENT = "the CLI is silent"
    NO_CONVERSATION = "nothing to resume"
    ID_IN_USE = "the session exists"
    REFUSED_START = "the CLI refused to start"
    UNKNOWN = "unknown"


class Action(StrEnum):
    """What a kind asks for."""

    NOTHING = "nothing"
    RETRY = "retry"
    WAIT = "wait"
    STOP = "stop"
    HAND_OFF = "hand off"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn or its process ended, as the CLI told it.

    `status` is an HTTP status; `error` the kind that an assistant message carried; `text` the error's words (empty
    for a turn that went well), `details` the API's own, where the CLI put others in their place; `empty` says that a
    turn went well without a word; `exit_code` is set when the process ended; `stderr` its last lines.

    `resets_at` is when a usage limit is reset (seconds since the epoch), as the CLI reported it or as the words say;
    `unreachable`: the endpoint was looked at, and does not take connections; `broken`: answer after answer came and
    broke off, so that each try costs one.

    How full the session was: `context` (tokens of its last request), `window` (tokens, 0: not known), and `fresh` for
    one that has had no answer yet.
    """

    is_error: bool = False
    terminal_reason: str | None = None
    status: int | None = None
    error: str | None = None
    text: str = ""
    stop_reason: str | None = None
    exited: bool = False
    exit_code: int | None = None
    stderr: str = ""
    silent: bool = False
    details: str = ""
    empty: bool = False
    context: int = 0
    window: int = 0
    fresh: bool = False
    resets_at: float | None = None
    unreachable: bool = False
    broken: bool = False

    def fills(self, share: float) -> bool:
        """Whether the last request carried at least this share of the window."""
        return self.window > 0 and self.context >= share * self.window

    @property
    def words(self) -> str:
        """The error in words, for people."""
        if self.text or self.stderr:
            said = (self.stderr or self.text) if self.exited else (self.text or self.stderr)
            return f"{said} ({self.details})" if self.details and self.details not in said else said
        if self.empty:
            return "the answer was empty"
        if self.exited:
            return f"exit code {self.exit_code}" if self.exit_code is not None else "its process ended"
        return self.error or self.terminal_reason or (f"status {self.status}" if self.status else "no reason was given")


@dataclass(frozen=True, slots=True)
class Rule:
    """What a kind asks for. `limit` is the most in a row (None: RetryPolicy.max_attempts); `next` says what to do.

    `then` is asked for once a retry has been tried so often.
    """

    action: Action
    limit: int | None = None
    next: str = ""
    then: Action = Action.STOP


SMALLER = "Give a smaller task, or a model with a larger window: --model NAME"
LATER = "Run flower again: it goes on from here."
LONGEST = 6 * 3600.0  # seconds that a usage limit is waited for: the limits for some hours, not those for a week
MOST_WAITS = 8  # in a row for limits that are reset and refuse again, without an answer between

RULES: dict[Failure, Rule] = {
    Failure.NONE: Rule(Action.NOTHING, next=LATER),
    Failure.OUR_BREAK: Rule(
        Action.STOP, next="A hook in the settings stopped the work; look at .claude/settings.json."
    ),
    Failure.ABORTED: Rule(Action.NOTHING, next=LATER),
    Failure.BUDGET: Rule(Action.STOP, next="Go on with a larger --budget."),
    Failure.TURNS: Rule(Action.STOP, next="Go on with a larger --max-turns."),
    Failure.OVERFLOW: Rule(Action.HAND_OFF, next=SMALLER),
    Failure.POISONED: Rule(Action.HAND_OFF, next=LATER),
    Failure.NO_ROOM: Rule(
        Action.STOP,
        next='Ask for less, with {"env": {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000"}} in ~/.claude/settings.json, '
        "or take a model with a larger window: --model NAME",
    ),
    Failure.OUTPUT_LIMIT: Rule(Action.RETRY, limit=2, next=LATER),
    Failure.CREDENTIALS: Rule(Action.STOP, next="`flower doctor` says which credentials are used."),
    Failure.PERMISSION: Rule(Action.STOP, next="Ask the account's owner which models and regions it may use."),
    Failure.BILLING: Rule(Action.STOP, next="Add credit to the account, then run flower again: it goes on from here."),
    Failure.PLAN: Rule(
        Action.STOP, next="Use a model that the plan has, with a smaller window (a name without [1m]): --model NAME"
    ),
    Failure.MODEL: Rule(Action.STOP, next="Name a model that the endpoint serves: --model NAME"),
    Failure.REFUSAL: Rule(Action.STOP, next="Say the task in other words: flower 'TEXT'"),
    Failure.LIMITED: Rule(Action.WAIT, next="Run flower again when the limit has been reset: it goes on from here."),
    Failure.RATE: Rule(Action.RETRY, next=LATER, then=Action.WAIT),
    Failure.SERVER: Rule(Action.RETRY, next=LATER, then=Action.WAIT),
    Failure.NETWORK: Rule(Action.RETRY, next=LATER, then=Action.WAIT),
    Failure.UNREACHABLE: Rule(Action.WAIT, next="Look at the network, then run flower again: it goes on from here."),
    Failure.MALFORMED: Rule(Action.RETRY, limit=2, next=LATER),
    Failure.CLI_DIED: Rule(Action.RETRY, limit=3, next=LATER),
    Failure.SILENT: Rule(Action.RETRY, limit=3, next=LATER),
    Failure.NO_CONVERSATION: Rule(Action.RETRY, limit=1, next=LATER),
    Failure.ID_IN_USE: Rule(Action.RETRY, limit=1, next=LATER),
    Failure.REFUSED_START: Rule(Action.STOP, next="`flower doctor` looks at the CLI and the folder."),
    Failure.UNKNOWN: Rule(Action.RETRY, limit=2, next=LATER),
}

_BY_REASON = {
    "hook_stopped": Failure.OUR_BREAK,
    "stop_hook_prevented": Failure.OUR_BREAK,
    "aborted_streaming": Failure.ABORTED,
    "aborted_tools": Failure.ABORTED,
    "prompt_too_long": Failure.OVERFLOW,
    "blocking_limit": Failure.OVERFLOW,
    "image_error": Failure.POISONED,
    "max_turns": Failure.TURNS,
    "budget_exhausted": Failure.BUDGET,
    "malformed_tool_use_exhausted": Failure.MALFORMED,
    "rapid_refill_breaker": Failure.OVERFLOW,
}

_BY_ERROR = {
    "authentication_failed": Failure.CREDENTIALS,
    "billing_error": Failure.BILLING,
    "model_not_found": Failure.MODEL,
    "max_output_tokens": Failure.OUTPUT_LIMIT,
    "server_error": Failure.SERVER,
    "overloaded": Failure.SERVER,
    "cloud_credential_error": Failure.CREDENTIALS,
    "oauth_org_not_allowed": Failure.CREDENTIALS,
    "account_on_hold": Failure.PERMISSION,
    "verification_required": Failure.PERMISSION,
}

_BY_STATUS = {
    401: Failure.CREDENTIALS,
    402: Failure.BILLING,
    403: Failure.PERMISSION,
    404: Failure.MODEL,
}

_EXIT_WORDS = (
    ("no conversation found", Failure.NO_CONVERSATION),
    ("is already in use", Failure.ID_IN_USE),
    ("cannot be used with root", Failure.REFUSED_START),
    ("invalid session id", Failure.REFUSED_START),
    ("unknown option", Failure.REFUSED_START),
    ("allowed choices are", Failure.REFUSED_START),
    ("working directory does not exist", Failure.REFUSED_START),
    ("claude code not found", Failure.REFUSED_START),
)

# The account has no such thing, and waiting does not help. "Extra usage is required for long context requests" comes
# with status 429 and at any context (it was seen at 23,000 tokens): a smaller window helps, a handoff does not.
PLAN_WORDS = (
    "extra usage is required",
    "usage credits required",
    "long context beta is not",
    "not available with the",
    "unavailable for your plan",
)
BILLING_WORDS = ("credit balance", "out of extra usage", "out of usage credits", "spend limit")
LIMITED_WORDS = ("hit your", "usage limit reached", "hour limit reached", "weekly limit", "limit will reset")
POISONED_WORDS = (  # the history itself is refused: each further request of the session fails, too
    "tool use concurrency issues",  # the CLI's own words, in place of the API's
    "in conversation history",
    "ids were found without",
    "must have non-empty content",
    "pdf is password protected",
)
MALFORMED_WORDS = ("empty or malformed response", "response could not be read")
CREDENTIALS_WORDS = ("not logged in", "/login", "invalid api key", "invalid auth token")
NETWORK_WORDS = ("connect", "timed out", "network", "no response from api", "econn", "enotfound", "eai_again", "socket")

_NOTE = "[claude-code:"  # what the CLI notes on standard error about an unknown model; no reason to end

_Test = Callable[[Outcome, str], bool]


def _of_exit(outcome: Outcome) -> Failure:
    """The kind of an ended process."""
    said = f"{outcome.text}\n{outcome.stderr}".lower()
    known = next((kind for words, kind in _EXIT_WORDS if words in said), None)
    if known is None and (is_overflow(outcome.text, outcome.stderr) or died_without_words(outcome)):
        return Failure.OVERFLOW
    return known or Failure.CLI_DIED


def died_without_words(outcome: Outcome) -> bool:
    """Exit 1 and nothing said: at the end of the window that is how some builds of the CLI end on too long an input."""
    lines = f"{outcome.text}\n{outcome.stderr}".splitlines()
    spoke = any(line.strip() and not line.startswith(_NOTE) for line in lines)
    return outcome.exit_code == 1 and not spoke and outcome.fills(NEAR)


def _says(words: tuple[str, ...], said: str) -> bool:
    return any(word in said for word in words)


def _is_429(outcome: Outcome) -> bool:
    return outcome.status == 429 or outcome.error == "rate_limit"


def _is_limited(outcome: Outcome, said: str) -> bool:
    """A limit of the account, and not of the moment: it is reported with its reset, or the words say so."""
    return outcome.resets_at is not None or _says(LIMITED_WORDS, said)


def _is_the_clients(outcome: Outcome) -> bool:
    """Not the server's fault by its status; the page of a broken proxy may say anything."""
    return (outcome.status or 0) < 500


def _is_unanswered(outcome: Outcome) -> bool:
    """No status, and no kind but the vague one that the CLI gives to lost connections, too."""
    return outcome.status is None and outcome.error in (None, "unknown", "server_error")


# Tried in this order: status before words, what is sure before what is vague. Too many requests and an overloaded
# server are never an overflow, whatever the words say; any other status may be one.
_API_ERRORS: tuple[tuple[_Test, Failure], ...] = (
    (lambda outcome, said: _is_the_clients(outcome) and _says(PLAN_WORDS, said), Failure.PLAN),
    (lambda outcome, said: _is_the_clients(outcome) and _says(BILLING_WORDS, said), Failure.BILLING),
    (lambda outcome, said: _is_429(outcome) and _is_limited(outcome, said), Failure.LIMITED),
    (lambda outcome, said: _is_429(outcome), Failure.RATE),
    (lambda outcome, said: outcome.status == 529, Failure.SERVER),
    (lambda outcome, said: _is_the_clients(outcome) and _says(POISONED_WORDS, said), Failure.POISONED),
    (lambda outcome, said: outcome.stop_reason == "refusal", Failure.REFUSAL),
    (lambda outcome, said: outcome.status == 413, Failure.POISONED),
    (lambda outcome, said: is_overflow(outcome.text), Failure.OVERFLOW),
    (lambda outcome, said: is_media_limit(outcome.text), Failure.POISONED),
    (lambda outcome, said: _says(MALFORMED_WORDS, said), Failure.MALFORMED),
    (lambda outcome, said: _is_the_clients(outcome) and _says(CREDENTIALS_WORDS, said), Failure.CREDENTIALS),
    (lambda outcome, said: _is_unanswered(outcome) and _says(NETWORK_WORDS, said), Failure.NETWORK),
)


def _of_api_error(outcome: Outcome) -> Failure:
    """The kind of a failed API call."""
    said = outcome.text.lower()
    by_words = next((kind for test, kind in _API_ERRORS if test(outcome, said)), None)
    known = by_words or _BY_STATUS.get(outcome.status or 0) or _BY_ERROR.get(outcome.error or "")
    return known or (Failure.SERVER if (outcome.status or 0) >= 500 else Failure.UNKNOWN)


def failure_of(outcome: Outcome) -> Failure:
    """The kind of an outcome. NONE for a turn that went well."""
    if outcome.silent:
        return Failure.UNREACHABLE if outcome.unreachable else Failure.SILENT
    if outcome.error == "authentication_failed" and outcome.status in (None, 401):
        return Failure.CREDENTIALS
    if outcome.exited:
        return _of_exit(outcome)
    by_reason = _BY_REASON.get(outcome.terminal_reason or "")
    if by_reason is None and outcome.stop_reason == "model_context_window_exceeded":
        return Failure.OVERFLOW
    kind = by_reason or (_of_api_error(outcome) if outcome.is_error else Failure.NONE)
    return _seen_with_more(kind, outcome)


def _seen_with_more(kind: Failure, outcome: Outcome) -> Failure:
    """The kind, once what is known beside the error itself is looked at."""
    if kind is Failure.OVERFLOW and outcome.fresh and blames_output(outcome.details or outcome.text):
        return Failure.NO_ROOM  # a successor would ask for as much
    if kind is Failure.NETWORK and outcome.unreachable:
        return Failure.UNREACHABLE
    return Failure.OVERFLOW if _is_full(kind, outcome) else kind


def most_retries(kind: Failure, max_attempts: int) -> int:
    """How often a kind is tried again in a row, with RetryPolicy's `max_attempts` (0: nothing is tried again)."""
    limit, most = RULES[kind].limit, max(max_attempts - 1, 0)
    return most if limit is None else min(limit, most)


def action_of(
    kind: Failure,
    outcome: Outcome,
    *,
    now: float,
    waited: float = 0.0,
    waits: int = 0,
    offline: float = 0.0,
    used_up: bool = False,
) -> Action:
    """What a kind asks for now. A wait that has no known end, too late a one, or a price is a stop.

    `now` as `resets_at`; `waited` (seconds) and `waits` count what was waited for this kind since the model last
    answered; `offline` is how long an endpoint is waited for that cannot be reached or fails (seconds); `used_up`:
    it was tried again as often as it may be.
    """
    rule = RULES[kind]
    is_tried = rule.action is Action.RETRY
    then = Action.STOP if outcome.broken else rule.then
    action = then if is_tried and used_up else rule.action
    if action is not Action.WAIT:
        return action
    if is_tried or kind is Failure.UNREACHABLE:
        return action if waited < offline else Action.STOP
    if outcome.resets_at is None or waits >= MOST_WAITS:
        return Action.STOP
    return action if waited + max(0.0, outcome.resets_at - now) <= LONGEST else Action.STOP


def _is_full(kind: Failure, outcome: Outcome) -> bool:
    """The second sign: what a failure of this kind means with so full a context."""
    if kind is Failure.NONE:
        return outcome.empty and outcome.fills(FULL)
    if kind is Failure.UNKNOWN:
        return 400 <= (outcome.status or 400) < 500 and outcome.is_error and outcome.fills(NEAR)
    if kind in (Failure.OUTPUT_LIMIT, Failure.MALFORMED):
        return outcome.fills(FULL)
    above = outcome.context > outcome.window > 0
    return kind is Failure.SERVER and above and outcome.status != 529 and outcome.error != "overloaded"
