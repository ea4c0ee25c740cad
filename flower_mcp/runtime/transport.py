"""The SDK's pipe to the CLI, without the parts of answers that nobody reads.

The CLI sends each answer twice: in parts as they come, and whole. Of the parts, only the events with figures and the
ends are read (reader.py); of the others, which are two thirds of all that a session sends, only the time is kept: they
are signs of life. Dropped here, each of them costs a fifth of its way through the SDK and the reader.

What can hurt: the SDK offers its transport as an interface and not as a class to be built upon, so where this cannot be
made, or is made another way one day, the SDK's own takes its place: slower, and no less right.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, Transport

READ = frozenset(("message_start", "message_delta", "message_stop"))  # events of a stream that the reader takes in


def quiet(options: ClaudeAgentOptions, heard: Callable[[], None]) -> Transport | None:
    """A transport for these options that calls `heard` for each part that it drops; None: use the SDK's own."""
    try:
        from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

        class Quiet(SubprocessCLITransport):
            """The SDK's own, with a sieve."""

            def read_messages(self) -> AsyncIterator[dict[str, Any]]:
                return _read(super().read_messages(), heard)

        asks = "stdio" if options.can_use_tool else options.permission_prompt_tool_name  # as the client sets it itself
        return Quiet(_nothing(), replace(options, permission_prompt_tool_name=asks))
    except (ImportError, TypeError):
        return None


async def _read(messages: AsyncIterator[dict[str, Any]], heard: Callable[[], None]) -> AsyncIterator[dict[str, Any]]:
    async for message in messages:
        if message.get("type") == "stream_event" and not _is_read(message.get("event")):
            heard()
        else:
            yield message


def _is_read(event: object) -> bool:
    return not isinstance(event, dict) or event.get("type") in READ


async def _nothing() -> AsyncIterator[dict[str, Any]]:
    """A prompt that never says anything: what is said goes through the client."""
    nothing: tuple[dict[str, Any], ...] = ()
    for never in nothing:
        yield never
