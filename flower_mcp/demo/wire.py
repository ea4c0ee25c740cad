"""A reply as the Messages API puts it on the wire: server-sent events, or one JSON message.

Pure: no socket, no clock. Pauses are values in the stream of events, and `answer.py` waits for them.

What can hurt: the CLI starts a tool when its block is complete, not at the end of the message, so the order and the
number of events matter to `drop_after`. One block is three events (start, delta, stop; a thinking block and chunked
text have more), between one message_start and the pair message_delta and message_stop.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from flower_mcp.demo.reply import Block, Reply, Text, Thinking, ToolUse
from flower_mcp.demo.request import Request


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds before the next event."""

    seconds: float


def with_ids(reply: Reply, request: Request, stamp: str) -> Reply:
    """The reply with its empty fields filled in; `stamp` sets this model's ids apart from another's."""
    blocks = tuple(
        replace(block, id=f"toolu_{stamp}{request.number:05d}{index:02d}")
        if isinstance(block, ToolUse) and not block.id
        else block
        for index, block in enumerate(reply.blocks)
    )
    calls = any(isinstance(block, ToolUse) for block in blocks)
    return replace(
        reply,
        blocks=blocks,
        id=reply.id or f"msg_{stamp}{request.number:05d}",
        stop_reason=reply.stop_reason or ("tool_use" if calls else "end_turn"),
        model=reply.model or request.model,
    )


def events(reply: Reply) -> Iterator[str | Pause]:
    """The events of a streamed answer, as text ready to send, with the pauses between them. The reply has its ids."""
    start = _envelope(reply, [], None, {**reply.usage.wire(), "output_tokens": reply.start_output})
    yield _event("message_start", message=start)
    for index, block in enumerate(reply.blocks):
        if index and reply.block_delay:
            yield Pause(reply.block_delay)
        yield _event("content_block_start", index=index, content_block=_opening(block))
        for delta in _deltas(block, reply.chunk):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    if reply.end_delay:
        yield Pause(reply.end_delay)
    ending = {"stop_reason": reply.stop_reason, "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage={"output_tokens": reply.output, **reply.delta_usage})
    yield _event("message_stop")


def message(reply: Reply) -> dict[str, Any]:
    """The same answer as one JSON message, for requests that do not stream. The reply has its ids."""
    usage = {**reply.usage.wire(), "output_tokens": reply.output, **reply.delta_usage}
    return _envelope(reply, [_whole(block) for block in reply.blocks], reply.stop_reason, usage)


def _envelope(
    reply: Reply, content: list[dict[str, Any]], stop_reason: str | None, usage: dict[str, int]
) -> dict[str, Any]:
    return {
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage,
    }


def _event(kind: str, **fields: object) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def _opening(block: Block) -> dict[str, Any]:
    match block:
        case Text():
            return {"type": "text", "text": ""}
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolUse():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}


def _deltas(block: Block, chunk: int) -> Iterator[dict[str, Any]]:
    match block:
        case Text():
            size = chunk or max(len(block.text), 1)
            for start in range(0, max(len(block.text), 1), size):
                yield {"type": "text_delta", "text": block.text[start : start + size]}
        case Thinking():
            yield {"type": "thinking_delta", "thinking": block.thinking}
            yield {"type": "signature_delta", "signature": "c2ln"}
        case ToolUse():
            raw = json.dumps(block.input) if block.raw is None else block.raw
            yield {"type": "input_json_delta", "partial_json": raw}


def _whole(block: Block) -> dict[str, Any]:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking():
            return {"type": "thinking", "thinking": block.thinking, "signature": "c2ln"}
        case ToolUse():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}
