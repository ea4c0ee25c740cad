"""One request that the scripted model was sent, with what a script asks about it.

It knows the Messages API's request shape and the headers that Claude Code adds. It knows no script, no reply and no
socket.

What can hurt: a user message is rarely the prompt alone. The CLI puts reminders in blocks of their own before or
after it, and with newer models appends messages whose role is `system`. So `last_text` looks for the last *user*
message, and `asks` looks at each of its blocks by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Sender(StrEnum):
    """Who in the CLI sent a request."""

    MAIN = "main"
    AGENT = "agent"
    SIDE = "side"


@dataclass(frozen=True, slots=True)
class Request:
    """One POST to `/v1/messages`.

    `number` counts from 1 over all such requests of one model; `headers` have lower-case names; `body` is the
    parsed JSON, empty if it was none; `raw` is the body as it came; `at` is in seconds of `time.time()`.
    """

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    raw: bytes
    at: float

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation, as sent."""
        return list(self.body.get("messages") or [])

    @property
    def tools(self) -> list[str]:
        """Names of the tools that were offered, in order."""
        return [str(each.get("name", "")) for each in self.body.get("tools") or []]

    @property
    def system(self) -> str:
        """The system prompt as one text."""
        return "\n".join(texts(self.body.get("system")))

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        """Whether server-sent events were asked for; the CLI falls back to plain JSON after some faults."""
        return bool(self.body.get("stream"))

    @property
    def session(self) -> str:
        """Claude's session id, or ""."""
        return self.headers.get("x-claude-code-session-id", "")

    @property
    def agent(self) -> str:
        """The subagent's id; "" on the main thread."""
        return self.headers.get("x-claude-code-agent-id", "")

    @property
    def retry(self) -> int:
        """How often the client library has already sent this request (the CLI's own retries start again at 0)."""
        value = self.headers.get("x-stainless-retry-count", "0")
        return int(value) if value.isdigit() else 0

    @property
    def sender(self) -> Sender:
        """Main thread, subagent, or one of the CLI's own side requests.

        Seen with CLI 2.1.332: before a turn it asks for a title of the session, with no tools and a JSON schema as
        output format, and again each turn until a title comes back. No request of a conversation looks like that,
        not even with `tools=[]`: structured output of a session goes through a tool.
        """
        if self.agent:
            return Sender.AGENT
        output: Mapping[str, Any] = self.body.get("output_config") or {}
        if not self.tools and ("format" in output or self.body.get("max_tokens") == 1):
            return Sender.SIDE
        return Sender.MAIN

    def last_texts(self) -> list[str]:
        """The text blocks and tool results of the last user message, one by one."""
        users = [message for message in self.messages if message.get("role") == "user"]
        return list(texts(users[-1].get("content"))) if users else []

    def last_text(self) -> str:
        """The last user message as one text, tool results included."""
        return "\n".join(self.last_texts())

    def all_text(self) -> str:
        """The whole conversation as one text; tool inputs as JSON."""
        return "\n".join(text for message in self.messages for text in texts(message.get("content")))

    def asks(self, opening: str) -> bool:
        """Whether a block of the last user message begins with `opening`: the prompt, whatever stands around it."""
        return any(text.lstrip().startswith(opening) for text in self.last_texts())


def texts(content: object) -> Iterator[str]:
    """The texts in a content: a string, or a list of blocks. Tool results are opened, tool inputs given as JSON."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            yield from _block_texts(block)


def _block_texts(block: Mapping[str, Any]) -> Iterator[str]:
    match block.get("type"):
        case "text":
            yield str(block.get("text", ""))
        case "thinking":
            yield str(block.get("thinking", ""))
        case "tool_result":
            yield from texts(block.get("content"))
        case "tool_use":
            yield json.dumps(block.get("input"), ensure_ascii=False)
