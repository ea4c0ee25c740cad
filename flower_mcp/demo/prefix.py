"""What a request begins with, block by block, and how much of it another request begins with too.

A provider's prompt cache keys on exactly this: tools, then system, then messages, each block as it was sent. Shared by
the tests that hold a handoff to its prefix, the cache that the scripted model stands in for (`cache.py`), and the
measurements.

It knows the Messages API's request shape. It knows nothing of scripts, replies or prices.

What can hurt: two requests of one conversation are never equal as bytes. `cache_control` wanders with the end, and the
CLI sends the same text now as a string, now as one block; neither is part of what is cached.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from flower_mcp.demo.request import Request


class Part(StrEnum):
    """The parts of a prompt, in the order in which they are cached."""

    TOOLS = "tools"
    SYSTEM = "system"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a prompt: its `text` is JSON without `cache_control`; `message` is its message's place, else -1.

    `ends_prefix` tells whether a cache breakpoint stands at it.
    """

    part: Part
    message: int
    role: str
    text: str
    ends_prefix: bool

    @property
    def identity(self) -> tuple[str, str, str]:
        """What must be equal for two blocks to be the same to a cache: messages of one role in a row are one."""
        return self.part, self.role, self.text


@dataclass(frozen=True, slots=True)
class CommonPrefix:
    """What two requests have in common from the start: what a prompt cache could serve of the second.

    `messages` leading messages of the first request's `total` are equal. `kept` is the common part and `whole` all of
    the first request, in bytes of JSON, up to the first block that differs. `new` is what the second has beside it.
    """

    tools: bool
    system: bool
    messages: int
    total: int
    kept: int
    whole: int
    new: int

    @property
    def share(self) -> float:
        """The common part of the first request, 0 to 1."""
        return self.kept / self.whole if self.whole else 1.0


def common_prefix_share(first: Request, second: Request) -> CommonPrefix:
    """Compare two requests, cache_control aside, and text as a string equal to text as one block."""
    one, other = list(blocks(first.body)), list(blocks(second.body))
    pairs = zip(one, other, strict=False)
    equal = next((place for place, (mine, its) in enumerate(pairs) if mine.identity != its.identity), None)
    kept = min(len(one), len(other)) if equal is None else equal
    tools, system = (_of(one, part) == _of(other, part) for part in (Part.TOOLS, Part.SYSTEM))
    common = size(one[:kept])
    messages = _equal_messages(first, second)
    return CommonPrefix(tools, system, messages, len(first.messages), common, size(one), size(other) - common)


def blocks(body: Mapping[str, Any]) -> Iterator[Block]:
    """The blocks of a request's prompt, in the order in which a provider caches them."""
    for part in (Part.TOOLS, Part.SYSTEM):
        for block in _as_blocks(body.get(part)):
            yield _block(part, -1, "", block)
    for place, message in enumerate(body.get("messages") or []):
        for block in _as_blocks(message.get("content")):
            yield _block(Part.MESSAGES, place, str(message.get("role", "")), block)


def size(some: list[Block]) -> int:
    """Bytes of the blocks' JSON."""
    return sum(len(block.text.encode("utf-8", "surrogatepass")) for block in some)


def _of(some: list[Block], part: Part) -> list[tuple[str, str, str]]:
    return [block.identity for block in some if block.part is part]


def _equal_messages(first: Request, second: Request) -> int:
    """How many leading messages are equal as a whole."""
    one, other = _by_message(first), _by_message(second)
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (mine, its) in pairs if mine != its), min(len(one), len(other)))


def _by_message(request: Request) -> list[list[tuple[str, str, str]]]:
    by_message: list[list[tuple[str, str, str]]] = [[] for _ in request.messages]
    for block in blocks(request.body):
        if block.part is Part.MESSAGES:
            by_message[block.message].append(block.identity)
    return by_message


def _as_blocks(content: object) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _block(part: Part, place: int, role: str, block: object) -> Block:
    ends_prefix = isinstance(block, Mapping) and bool(block.get("cache_control"))
    return Block(part, place, role, json.dumps(_plain(block), ensure_ascii=False), ends_prefix)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {
            key: _plain(_as_blocks(inner) if key == "content" else inner)
            for key, inner in value.items()
            if key != "cache_control"
        }
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
