"""The document of one generation: what its successor was given, else the last version of it.

It knows the workbench and nothing of MCP. Versions are found by their revision, never by what they say. What can hurt:
an archive holds every version that was ever replaced, so it is searched in a worker thread, newest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flower_mcp.core.books import Generation, LiveStep
from flower_mcp.core.decode import decode
from flower_mcp.core.errors import NothingThere
from flower_mcp.core.handoff import Handoff
from flower_mcp.workbench.files import read_with_time, revision
from flower_mcp.workbench.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Past:
    """A generation's document. `written_at` in seconds since the epoch."""

    generation: Generation
    path: Path
    text: str
    revision: str
    handoff: Handoff
    written_at: float


def with_document(live: LiveStep) -> tuple[Generation, ...]:
    """The generations of a step that left a document, as far as the books know."""
    return tuple(each for each in live.row.generations if each.frozen or each.launched)


def past(workbench: Workbench, live: LiveStep, number: int) -> Past:
    """The document of a generation. Raises NothingThere, FilesError."""
    known = with_document(live)
    generation = next((each for each in reversed(known) if each.n == number), None)
    if generation is None:
        numbers = ", ".join(str(each.n) for each in known)
        raise NothingThere(
            f"The books know no document of generation {number} of step {live.step!r}; "
            + (f"they know {numbers}." if numbers else "they know no generation of it."),
            next="Leave `generation` out for the current document.",
        )
    if generation.launched is None and generation is known[-1]:
        current = workbench.documents.path(live.step)
        found = read_with_time(current)
        if found is not None:
            return _past(live.step, generation, current, *found)
    for wanted in (generation.launched, generation.frozen):
        version = None if wanted is None else _find(workbench, live.step, wanted)
        if version is not None:
            return _past(live.step, generation, *version)
    raise NothingThere(
        f"The document of generation {number} of step {live.step!r} is not on disk any more.",
        next="Leave `generation` out for the current document.",
    )


def _find(workbench: Workbench, step: str, wanted: str) -> tuple[Path, bytes, float] | None:
    """The version with this revision: the current document, else from the archive, newest first."""
    paths = [workbench.documents.path(step), *(version.path for version in reversed(workbench.history(step)))]
    for path in paths:
        found = read_with_time(path)
        if found is not None and revision(found[0]) == wanted:
            return path, *found
    return None


def _past(step: str, generation: Generation, path: Path, data: bytes, written_at: float) -> Past:
    text = decode(data).text
    return Past(generation, path, text, revision(data), Handoff.from_markdown(text, step), written_at)
