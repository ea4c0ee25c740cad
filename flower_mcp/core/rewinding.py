"""Where a session can be rewound to, from the lines of its transcript.

It must not know where transcripts lie, nor how far to go back (writing.py does). Other people's format: what does not
fit is passed over, and nothing here raises on any line. The shapes were seen in files of the CLI (2.1.332).

What can hurt: a transcript is a tree, and only the branch of its last message is the conversation; two results of one
message are one request; the CLI writes its own errors as assistant messages, which no model gave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flower_mcp.core.transcript import SYNTHETIC, object_of, text_of

CUT_BY_THE_WINDOW = "model_context_window_exceeded"  # an answer with this stop reason had no room


def answered_requests(lines_from_the_end: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The requests of the main thread that the model answered, oldest first, each by the uuid of its last user message.

    A fork that keeps everything up to such a uuid sends that request again. Requests that failed, and those whose
    answer the window cut, are left out. What lies before a compaction is out of reach.
    """
    found: list[str] = []
    wanted: str | None = None
    answer: str | None = None  # of the request that is looked for: the id of its message
    for line in lines_from_the_end:
        uuid = text_of(line.get("uuid"))
        if not uuid or line.get("isSidechain") or wanted not in (None, uuid):
            continue
        if wanted is None and line.get("type") not in ("user", "assistant"):
            continue
        wanted = text_of(line.get("parentUuid"))
        if line.get("type") == "assistant":
            answer = _answer(line) or answer
        elif line.get("type") == "user" and answer is not None:
            found.append(uuid)
            answer = None
        if not wanted:
            break
    return tuple(reversed(found))


def _answer(line: Mapping[str, Any]) -> str | None:
    """The id of a message that a model gave whole; None for the CLI's own, and for one that the window cut."""
    message = object_of(line.get("message"))
    if line.get("isApiErrorMessage") or message.get("model") == SYNTHETIC:
        return None
    return None if message.get("stop_reason") == CUT_BY_THE_WINDOW else text_of(message.get("id")) or None
