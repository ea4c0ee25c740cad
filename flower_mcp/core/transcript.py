"""Lines of a session's transcript, as values. The lines come in from outside; nothing is opened here.

Other people's format: whatever does not fit is passed over. The shapes were seen in the CLI's own files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flower_mcp.core.estimate import REQUEST_FLOOR, Characters
from flower_mcp.core.figures import Context
from flower_mcp.core.meter import Left, Usage

SYNTHETIC = "<synthetic>"


def left_in(read: Callable[[], Iterable[Mapping[str, Any]]]) -> Left | None:
    """What a session had carried when it was left; `read` gives its transcript's lines from the end backwards.

    Its last context, or where no usage was ever reported an estimate from its characters. None: it has no messages.
    """
    context = context_of(read())
    if context is not None:
        return Left(context)
    tokens = characters_of(read()).tokens
    return Left(Context(REQUEST_FLOOR + tokens), estimated=True) if tokens else None


def context_of(lines_from_the_end: Iterable[Mapping[str, Any]]) -> Context | None:
    """The main thread's last context in tokens, from a transcript's lines read backwards; None when there is none.

    Counts what the last request carried. A compaction is a boundary: what it left is the context then.
    """
    for line in lines_from_the_end:
        if line.get("type") == "system" and line.get("subtype") == "compact_boundary":
            metadata = line.get("compactMetadata")
            after = metadata.get("postTokens") if isinstance(metadata, Mapping) else None
            return Context(after) if isinstance(after, int) else None
        if line.get("type") != "assistant" or line.get("isSidechain") or line.get("isApiErrorMessage"):
            continue
        message = line.get("message")
        if not isinstance(message, Mapping) or message.get("model") == SYNTHETIC:
            continue
        context = Usage.read(message.get("usage")).context
        if context:
            return context
    return None


def characters_of(lines_from_the_end: Iterable[Mapping[str, Any]]) -> Characters:
    """What the main thread's messages hold, from a transcript's lines read backwards, up to a compaction."""
    total = Characters()
    for line in lines_from_the_end:
        if line.get("type") == "system" and line.get("subtype") == "compact_boundary":
            break
        message = line.get("message")
        if line.get("type") not in ("user", "assistant") or line.get("isSidechain") or line.get("isApiErrorMessage"):
            continue
        if isinstance(message, Mapping) and message.get("model") != SYNTHETIC:
            total += characters_in(message.get("content"))
    return total


def characters_in(content: object) -> Characters:
    """The characters of a message's content as the API has it: text, thinking, tool calls and their results.

    An image counts as nothing: its tokens come with the figures, and its bytes say nothing about them.
    """
    if isinstance(content, str):
        return Characters.of(content)
    total = Characters()
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, Mapping):
            continue
        for key in ("text", "thinking", "name"):
            if isinstance(words := block.get(key), str):
                total += Characters.of(words)
        if "input" in block:
            total += Characters.of(json.dumps(block["input"], ensure_ascii=False))
        if "content" in block:
            total += characters_in(block["content"])
    return total
