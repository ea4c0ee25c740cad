"""Drawing what happens to a window: the events of kind `context` that have a phase, and a learned window's line.

Values in, lines out, as in show.py. The texts that a window came from are an API's own words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flower_mcp.cli.choosing import local_time
from flower_mcp.cli.output import shorten
from flower_mcp.cli.words import Words
from flower_mcp.core.events import Event, Phase
from flower_mcp.core.policy import WindowSource
from flower_mcp.core.texts import used_text, window_text

_FROM = 80  # characters of the text that a window came from, in a run's first lines


def source_text(words: Words, payload: Mapping[str, Any]) -> str:
    """Where a window comes from; of a learned one its date and the text, too."""
    source, learned = str(payload.get("window_source") or WindowSource.GUESSED), payload.get("learned")
    if source != WindowSource.LEARNED or not isinstance(learned, Mapping):
        return words(f"source {source}")
    when, said = local_time(str(learned.get("at") or "")), shorten(str(learned.get("from") or ""), _FROM)
    return words("source learned from", when=when, text=said)


def window_lines(words: Words, event: Event) -> list[str]:
    """The lines for one event."""
    payload = event.payload
    window, at = window_text(_number(payload, "window")), used_text(_number(payload, "handoff_at"))
    match payload.get("phase"):
        case Phase.LEARNED if "refused" in payload:
            learned = payload.get("learned") or {}
            said = shorten(str(learned.get("from") or ""))
            lines = [words("window set refused", window=window, text=said, use=payload["refused"])]
        case Phase.LEARNED:
            learned = payload.get("learned") or {}
            lines = [words("window learned", window=window, text=shorten(str(learned.get("from") or "")), at=at)]
        case Phase.FORGOTTEN:
            values = {
                "old": window_text(_number(payload, "forgotten")),
                "context": used_text(_number(payload, "context")),
                "window": window,
                "source": source_text(words, payload),
            }
            lines = [words(f"window {payload.get('why')}", **values)]
        case Phase.ASSUMED:
            lines = [words("window assumed", model=payload.get("model") or "?", window=window)]
        case Phase.ADVISED:
            contexts = ", ".join(used_text(int(each)) for each in payload.get("contexts") or ())
            lines = [words("hand off earlier", contexts=contexts, window=window, line=payload.get("line") or 0)]
        case _:
            lines = []
    return lines


def _number(payload: Mapping[str, Any], name: str) -> int:
    return int(payload.get(name) or 0)
