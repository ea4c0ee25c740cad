"""Lines of a session's transcript, as values. The lines come in from outside; nothing is opened here.

Other people's format: whatever does not fit is passed over. The shapes were seen in the CLI's own files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from flower_mcp.core.estimate import REQUEST_FLOOR, Characters
from flower_mcp.core.figures import Context, Cost
from flower_mcp.core.meter import Left, Usage

SYNTHETIC = "<synthetic>"  # the model's name on messages that the CLI wrote itself
COST_STATE = "cost-state"

_KEPT = frozenset({"user", "assistant", "attachment", "system", "queue-operation"})


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


def saved_cost(lines_from_the_end: Iterable[Mapping[str, Any]], session_id: str) -> Cost | None:
    """The total in USD that the CLI last kept of a session, at which a process that resumes it begins; None: none.

    It keeps it at the end of a turn, and when it is ended in order (seen with 2.1.332).
    """
    for line in lines_from_the_end:
        if line.get("type") != COST_STATE or line.get("sessionId") != session_id:
            continue
        total = line.get("totalCostUSD")
        if isinstance(total, int | float) and not isinstance(total, bool) and 0 <= total < math.inf:
            return Cost(float(total))
    return None


def after(lines: Iterable[object], uuid: str) -> list[Mapping[str, Any]]:
    """The lines behind the one with that uuid, oldest first, as far as they belong to the branch that lives.

    The branch of the last message counts; results of its tool calls belong to it, wherever they hang. Lines without a
    uuid stay when they tell of tasks. An unknown uuid: nothing.
    """
    behind: list[Mapping[str, Any]] = []
    found = False
    for line in lines:
        if not isinstance(line, Mapping):
            continue
        if found and text_of(line.get("type")) in _KEPT:
            behind.append(line)
        found = found or line.get("uuid") == uuid
    alive = _living(behind)
    return [line for line in behind if _uuid(line) in alive or line.get("type") == "queue-operation"]


def _living(lines: Sequence[Mapping[str, Any]]) -> set[str]:
    """The uuids of the branch that ends with the last message of the main thread."""
    known = {uuid: line for line in lines if (uuid := _uuid(line)) and not line.get("isSidechain")}
    alive: set[str] = set()
    messages: set[str] = set()
    uuid = next(reversed(known), "")
    while uuid in known and uuid not in alive:
        alive.add(uuid)
        message = object_of(known[uuid].get("message")).get("id")
        messages |= {message} if isinstance(message, str) else set()
        uuid = text_of(known[uuid].get("parentUuid"))
    for uuid, line in known.items():  # parallel calls and their results hang beside the branch
        message = object_of(line.get("message")).get("id")
        if (isinstance(message, str) and message in messages) or text_of(line.get("sourceToolAssistantUUID")) in alive:
            alive.add(uuid)
    return alive


def _uuid(line: Mapping[str, Any]) -> str:
    return text_of(line.get("uuid"))


def words_of(content: object) -> str:
    """The text of a message's or a result's content."""
    if isinstance(content, str):
        return content
    return "\n".join(text_of(block.get("text")) for block in blocks_of(content) if block.get("type") == "text")


def blocks_of(content: object) -> list[Mapping[str, Any]]:
    """The objects in a list; nothing of what is no list."""
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def object_of(value: object) -> Mapping[str, Any]:
    """An object as it is, empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def text_of(value: object) -> str:
    """A text as it is, "" for anything else."""
    return value if isinstance(value, str) else ""


def error_details(lines_from_the_end: Iterable[Mapping[str, Any]]) -> str | None:
    """The API's own words about the main thread's last request, if that failed; None when it did not, or has none.

    The CLI shows "Prompt is too long" in their place, and keeps them in the transcript (seen with 2.1.332).
    """
    for line in lines_from_the_end:
        if line.get("type") != "assistant" or line.get("isSidechain"):
            continue
        details = line.get("errorDetails") if line.get("isApiErrorMessage") else None
        return details if isinstance(details, str) and details.strip() else None
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
