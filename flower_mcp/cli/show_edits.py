"""Drawing what happens to a document while it waits, and after: the events of kind `edit`.

Values in, lines out, as in show.py. Faults and section names are the reader's own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flower_mcp.cli.choosing import local_time
from flower_mcp.cli.output import shorten
from flower_mcp.cli.words import Words
from flower_mcp.core.events import Event, Phase


@dataclass(frozen=True, slots=True)
class EditFacts:
    """What is known beforehand. `keys`: somebody at the terminal can press them. `release`: the command to type."""

    keys: bool = False
    release: str = "flower release"


def edit_lines(words: Words, facts: EditFacts, event: Event) -> list[str]:
    """The lines for one event."""
    payload = event.payload
    match payload.get("phase"):
        case Phase.OPEN:
            lines = _open(words, facts, payload.get("seconds") or 0)
        case Phase.SEEN:
            sections = ", ".join(payload.get("sections") or ()) or words("outside")
            lines = [words("edited", sections=sections)]
        case Phase.BROKEN:
            lines = _broken(words, facts, payload.get("faults") or ())
        case Phase.HELD:
            since = local_time(str(payload.get("since") or ""))
            lines = [words("held", since=since, by=payload.get("by") or "?", command=facts.release)]
        case Phase.RELEASED:
            lines = [words("released as is" if payload.get("as_is") else "released")]
        case Phase.LATE:
            name = "late" if payload.get("delivered") else "too late"
            lines = [words(name, section=payload.get("section") or words("outside"))]
        case _:
            lines = []
    return lines


def fault_line(words: Words, what: str, line: int | None) -> str:
    """One thing that is wrong with a document, with its line if there is one."""
    return f"  {what}" if line is None else f"  {words('in line', line=line)}: {what}"


def _broken(words: Words, facts: EditFacts, faults: Iterable[Mapping[str, Any]]) -> list[str]:
    lines = [shorten(fault_line(words, str(fault.get("what")), fault.get("line")).strip()) for fault in faults]
    mend = words("edited mend", command=f"{facts.release} --as-is")
    return [words("edited broken"), *(f"  {line}" for line in lines), mend]


def _open(words: Words, facts: EditFacts, seconds: float) -> list[str]:
    keys = words("keys") if facts.keys else ""
    if seconds:
        return [words("edit", seconds=f"{seconds:g}") + keys]
    return [words("edit held") + keys]
