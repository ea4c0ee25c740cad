"""Lines of a session's transcript, as values. The lines come in from outside; nothing is opened here.

Other people's format: whatever does not fit is passed over. The shapes were seen in the CLI's own files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flower_mcp.core.meter import Usage

SYNTHETIC = "<synthetic>"


def context_of(lines_from_the_end: Iterable[Mapping[str, Any]]) -> int | None:
    """The main thread's last context in tokens, from a transcript's lines read backwards; None when there is none.

    Counts what the last request carried. A compaction is a boundary: what it left is the context then.
    """
    for line in lines_from_the_end:
        if line.get("type") == "system" and line.get("subtype") == "compact_boundary":
            metadata = line.get("compactMetadata")
            after = metadata.get("postTokens") if isinstance(metadata, Mapping) else None
            return after if isinstance(after, int) else None
        if line.get("type") != "assistant" or line.get("isSidechain") or line.get("isApiErrorMessage"):
            continue
        message = line.get("message")
        if not isinstance(message, Mapping) or message.get("model") == SYNTHETIC:
            continue
        context = Usage.read(message.get("usage")).context
        if context:
            return context
    return None


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
