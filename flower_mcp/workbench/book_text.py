"""The books' values as JSON text, secrets masked.

It must not know where the text goes. What can hurt: a row has an entry for each of its sessions and is written whole at
every change, thirty times a handoff; masking a thousand entries takes a second. So the text of an entry is made once,
and kept, but for the last one: it changes all the time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from flower_mcp.core.books import Generation, LiveStep, StepResult, as_json
from flower_mcp.workbench.json_files import dump_masked

_NONE = '"generations": []'  # within a JSON text its quotes would be escaped, so this is the key alone
_KEPT = 2_048  # entries; of half a kilobyte each


def text_of(value: StepResult | LiveStep) -> str:
    """The value on one line."""
    row = value.row if isinstance(value, LiveStep) else value
    without = replace(row, generations=())
    bare = replace(value, row=without) if isinstance(value, LiveStep) else without
    entries = ", ".join((*map(_entry, row.generations[:-1]), *map(_made, row.generations[-1:])))
    return dump_masked(as_json(bare)).replace(_NONE, f'"generations": [{entries}]', 1)


@lru_cache(maxsize=_KEPT)
def _entry(generation: Generation) -> str:
    return _made(generation)


def _made(generation: Generation) -> str:
    return dump_masked(as_json(generation))
