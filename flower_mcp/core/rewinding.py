"""Where a session can be rewound to, and what the API really said, from the lines of its transcript.

It must not know where transcripts lie, nor how far to go back (writing.py does). Other people's format: what does not
fit is passed over, and nothing here raises on any line. The shapes were seen in files of the CLI (2.1.332).

What can hurt: a transcript is a tree, and only the branch of its last message is the conversation; two results of one
message are one request; the CLI writes its own errors as assistant messages, which no model gave.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from flower_mcp.core.transcript import SYNTHETIC, object_of, text_of

LONGEST_DETAILS = 2_000  # characters of an error's own text
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


def error_details(lines_from_the_end: Iterable[Mapping[str, Any]]) -> str:
    """What the API said to the session's last request, when that failed; "" when it did not, or nobody kept it.

    The CLI puts words of its own in place of the API's ("Prompt is too long"), and the numbers stand only here.
    """
    for line in lines_from_the_end:
        if line.get("isSidechain") or line.get("type") not in ("user", "assistant"):
            continue
        return _readable(text_of(line.get("errorDetails")))
    return ""


def _answer(line: Mapping[str, Any]) -> str | None:
    """The id of a message that a model gave whole; None for the CLI's own, and for one that the window cut."""
    message = object_of(line.get("message"))
    if line.get("isApiErrorMessage") or message.get("model") == SYNTHETIC:
        return None
    return None if message.get("stop_reason") == CUT_BY_THE_WINDOW else text_of(message.get("id")) or None


def _readable(details: str) -> str:
    """The message in an error's JSON body, or the text as it is; shortened."""
    start = details.find("{")
    if start >= 0:
        try:
            error = object_of(object_of(json.loads(details[start:])).get("error"))
        except (ValueError, RecursionError):
            error = {}
        details = text_of(error.get("message")) or details
    return details[:LONGEST_DETAILS]
