"""A scripted model that counts: every reply tells the input tokens by kind that a caching provider would bill.

It knows no script and no price. Input is counted by `flower_mcp/demo/cache.py`, four characters a token; output is the
reply's own text and tool inputs, four characters a token too.

What can hurt: every request counts, also the CLI's side requests and those of an answer that the CLI throws away, since
a provider bills them as well.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable
from dataclasses import dataclass

from flower_mcp.demo.cache import CHARACTERS_PER_TOKEN, PromptCache
from flower_mcp.demo.model import Answer, Reply, Request, Source, Text, ToolUse, Usage, text
from flower_mcp.demo.script import as_script


@dataclass(frozen=True, slots=True)
class Paid:
    """A request, its input tokens by kind and the output tokens of its answer."""

    request: Request
    usage: Usage
    output: int


class Meter:
    """A script around another; `paid` is what has been answered so far, in order."""

    def __init__(self, source: Source) -> None:
        self._inner = as_script(source)
        self._cache = PromptCache()
        self.paid: list[Paid] = []

    async def __call__(self, request: Request) -> Answer:
        """The inner script's reply with its true figures; a failure has none."""
        given = self._inner(request)
        answer = await given if isinstance(given, Awaitable) else given
        reply = text(answer) if isinstance(answer, str) else answer
        if reply.status:
            return reply
        paid = Paid(request, self._cache.take(request.body), output_of(reply))
        self.paid.append(paid)
        return reply.but(usage=paid.usage, output=paid.output)


def output_of(reply: Reply) -> int:
    """Output tokens of a reply, at least one."""
    characters = 0
    for block in reply.blocks:
        match block:
            case Text():
                characters += len(block.text)
            case ToolUse():
                characters += len(block.name) + len(json.dumps(dict(block.input), ensure_ascii=False))
    return max(1, characters // CHARACTERS_PER_TOKEN)
