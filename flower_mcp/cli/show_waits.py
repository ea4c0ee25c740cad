"""Drawing what a run waits for: the events of kind `wait`. Values in, lines out, as in show.py."""

from __future__ import annotations

from flower_mcp.cli.choosing import local_time
from flower_mcp.cli.output import shorten
from flower_mcp.cli.words import Words
from flower_mcp.core.events import Event, Phase
from flower_mcp.core.texts import time_text


def wait_lines(words: Words, event: Event, go_on: str) -> list[str]:
    """The lines for one event; `go_on` is the command to type later."""
    payload = event.payload
    until = local_time(str(payload.get("until") or ""))
    if payload.get("phase") == Phase.CLOSED:
        name = "waited" if payload.get("over", True) else "waited in vain"
        return [words(name, time=time_text(float(payload.get("seconds") or 0)))]
    if payload.get("address"):
        since = local_time(str(payload.get("since") or ""))
        return [words("waits for endpoint", address=payload["address"], since=since, until=until)]
    if "until" in payload:
        return [words("waits for reset", why=shorten(str(payload.get("why") or "")), until=until, go_on=go_on)]
    return [f"  … {shorten(event.text)}"] if event.text else []
