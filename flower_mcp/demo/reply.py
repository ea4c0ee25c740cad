"""What the scripted model answers to one request: blocks, figures, timing and faults, as values.

It knows nothing of events, sockets or scripts: `wire.py` turns a reply into events and `answer.py` sends them.

Short forms for the usual ones::

    text("Done.").at(150_000)                             # context of this request: 150,000 tokens
    text("Let me look.") + tool("Bash", command="ls")      # two blocks of one message
    overflow(210_000, 200_000)                             # 400 prompt is too long
    text("half of this arrives").but(drop_after=3)         # the socket closes after three events
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

DEFAULT_OUTPUT = 50


@dataclass(frozen=True, slots=True)
class Text:
    """A text block."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A thinking block; the signature is a dummy."""

    thinking: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call. An empty `id` gets one that no other model of this process or another uses.

    `raw` replaces the input's JSON on the stream, so that a broken or cut input can be sent.
    """

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    raw: str | None = None


Block = Text | Thinking | ToolUse


@dataclass(frozen=True, slots=True)
class Usage:
    """Input tokens as the API counts them; their sum is the context."""

    input: int = 5
    cache_creation: int = 0
    cache_read: int = 0

    @property
    def context(self) -> int:
        """Tokens that the request carried."""
        return self.input + self.cache_creation + self.cache_read

    def wire(self) -> dict[str, int]:
        """The API's names for the three."""
        return {
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.cache_creation,
            "cache_read_input_tokens": self.cache_read,
        }


def context(tokens: int, fresh: int = 5) -> Usage:
    """A usage whose context is exactly `tokens`, all but `fresh` of them read from the cache."""
    fresh = min(fresh, tokens)
    return Usage(input=fresh, cache_read=tokens - fresh)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    The message: `blocks`, `usage` and `start_output` (in message_start), `output` and `delta_usage` (in
    message_delta), `stop_reason` ("" = tool_use if a tool is called, else end_turn), `model` ("" = the one asked
    for), `id` ("" = a new one). `chunk` cuts text into deltas of so many characters (0 = one delta).

    Timing, in seconds: `delay` before the headers, `block_delay` between blocks, `event_delay` after each event,
    `end_delay` before message_delta.

    Faults, the first that is set wins: `hang` (nothing for so many seconds, then the connection is closed), `close`
    (closed without an answer), `reset` without `drop_after` (TCP reset without an answer), `status` (with `error`
    as (type, message), `json` or `body`). `drop_after` ends the connection after so many events, by a TCP reset if
    `reset` is set, 0.05 s later so that the client has read them. `raw_events` are sent word for word in place of
    the generated ones. `headers` are added to any answer, `content_type` replaces its own.
    """

    blocks: Sequence[Block] = ()
    usage: Usage = Usage()
    start_output: int = 1
    output: int = DEFAULT_OUTPUT
    delta_usage: Mapping[str, int] = field(default_factory=dict)
    stop_reason: str = ""
    model: str = ""
    id: str = ""
    chunk: int = 0
    delay: float = 0.0
    block_delay: float = 0.0
    event_delay: float = 0.0
    end_delay: float = 0.0
    status: int = 0
    error: tuple[str, str] = ("api_error", "scripted failure")
    json: object = None
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = ""
    drop_after: int | None = None
    reset: bool = False
    hang: float = 0.0
    close: bool = False
    raw_events: Sequence[str] | None = None

    def but(self, **changes: Any) -> Reply:
        """The same reply with some fields changed."""
        return replace(self, **changes)

    def at(self, tokens: int) -> Reply:
        """The same reply, saying that its request carried `tokens` tokens."""
        return replace(self, usage=context(tokens))

    def late(self) -> Reply:
        """The same reply as some gateways send it: zeros in message_start, the figures only in message_delta."""
        figures = {**self.usage.wire(), **self.delta_usage}
        return replace(self, usage=Usage(0, 0, 0), start_output=0, delta_usage=figures)

    def __add__(self, other: Reply) -> Reply:
        """The blocks of both in one message; everything else is taken from the left one."""
        return replace(self, blocks=(*self.blocks, *other.blocks))


def text(words: str) -> Reply:
    """A message of one text block."""
    return Reply(blocks=(Text(words),))


def tool(name: str, /, **arguments: object) -> Reply:
    """A message that calls one tool: `tool("Bash", command="ls")`."""
    return Reply(blocks=(ToolUse(name, arguments),))


def failure(status: int, kind: str, message: str) -> Reply:
    """An error in the API's own shape: `failure(529, "overloaded_error", "Overloaded")`."""
    return Reply(status=status, error=(kind, message))


def overflow(tokens: int, limit: int) -> Reply:
    """The answer to a request that is too long."""
    return failure(400, "invalid_request_error", f"prompt is too long: {tokens} tokens > {limit} maximum")
