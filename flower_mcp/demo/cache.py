"""A provider's prompt cache, as documented, for a model that has none: how many tokens of a request it would serve.

Rules, from the provider's page on prompt caching (platform.claude.com/docs/en/build-with-claude/prompt-caching, and its
model pages for the minimum; looked up on 2026-11-30):

- A breakpoint (`cache_control` at a block) writes one entry: the prefix that ends with that block. Nothing is written
  in between.
- At each breakpoint an entry is looked for at that block, then at the block before it, 20 places in all.
- A prefix is all of tools, system and messages before it; the model is part of it, and `tool_choice` and `thinking`
  are part of a prefix that reaches into the messages.
- A prefix below a minimum length is neither written nor found: 1,024 tokens with Sonnet 5 and Sonnet 4.5.

`input` is what stands behind the last breakpoint, `cache_read` the longest prefix found, `cache_creation` what lies in
between: the three add up to the request. A token is four characters of the blocks' JSON.

What can hurt: entries never expire here, as if each request came within five minutes of the one before. And a real
provider may lose an entry, and counts with a tokenizer; so these are a lower bound on what is paid for afresh.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from flower_mcp.demo.prefix import Block, Part, blocks
from flower_mcp.demo.reply import Usage

CHARACTERS_PER_TOKEN = 4
LOOKBACK = 20  # places looked at from a breakpoint, its own among them
MINIMUM = 1_024  # tokens


class PromptCache:
    """What has been written by requests so far."""

    def __init__(self, minimum: int = MINIMUM) -> None:
        self._minimum = minimum
        self._entries: set[bytes] = set()

    def take(self, body: Mapping[str, Any]) -> Usage:
        """The input tokens of a request by kind; what it marks is in the cache from now on."""
        sent = list(blocks(body))
        ends = [each // CHARACTERS_PER_TOKEN for each in accumulate(len(block.text) for block in sent)]
        keys = _keys(body, sent)
        marked = [place for place, block in enumerate(sent) if block.ends_prefix and ends[place] >= self._minimum]
        found = [near for place in marked if (near := self._nearest(keys, place)) is not None]
        self._entries.update(keys[place] for place in marked)
        total = ends[-1] if ends else 0
        read = ends[max(found)] if found else 0
        written = ends[marked[-1]] - read if marked else 0
        return Usage(input=total - read - written, cache_creation=written, cache_read=read)

    def _nearest(self, keys: list[bytes], place: int) -> int | None:
        """The nearest place at or before a breakpoint where an entry ends, as far as is looked."""
        looked_at = range(place, max(-1, place - LOOKBACK), -1)
        return next((each for each in looked_at if keys[each] in self._entries), None)


def _keys(body: Mapping[str, Any], sent: list[Block]) -> list[bytes]:
    """A key for the prefix that ends with each block."""
    sofar = hashlib.sha256(str(body.get("model", "")).encode())
    keys, part = [], Part.TOOLS
    for block in sent:
        if block.part is Part.MESSAGES and part is not Part.MESSAGES:
            sofar.update(json.dumps([body.get("tool_choice"), body.get("thinking")], sort_keys=True).encode())
        part = block.part
        sofar.update(json.dumps(block.identity).encode())
        keys.append(sofar.digest())
    return keys
