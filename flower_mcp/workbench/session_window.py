"""The window of a session that nobody supervises: the best source that there is for it.

`flower hook` asks at every batch of tools, and the MCP server for a session that calls it; both must say the same. It
must not know a transcript, and needs the standard library alone. What can hurt: a state folder that cannot be read,
which costs a source, never the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from flower_mcp.core.amounts import tokens
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.policy import WindowSource, guess_window
from flower_mcp.workbench.sessions import Noted, Sessions
from flower_mcp.workbench.windows import endpoint_of, state_folder

WINDOW = "FLOWER_WINDOW"


def window_of(environ: Mapping[str, str], noted: Noted, model: Callable[[], str]) -> tuple[int, WindowSource]:
    """The window in tokens, and its source: what the person set; else what the status line was told, what an overflow
    taught, what the model's name suggests. `model` gives the session's model; it is asked only if need be."""
    given = tokens(environ.get(WINDOW, ""))
    if given:
        return given, WindowSource.SET
    if noted.window:
        return noted.window, WindowSource.REPORTED
    names = tuple(name for name in (environ.get("ANTHROPIC_MODEL"), model()) if name)
    learned = _learned(environ, names)
    if learned:
        return learned, WindowSource.LEARNED
    return guess_window({"ANTHROPIC_MODEL": names[0]} if names else environ), WindowSource.GUESSED


def noted_of(environ: Mapping[str, str], session_id: str) -> Noted:
    """What the status line was told of a session; zeros where it was not, and for a user without a home."""
    with suppress(FlowerError):
        return Sessions(state_folder(environ)).noted(session_id)
    return Noted()


def _learned(environ: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    with suppress(FlowerError):
        state = state_folder(environ)
        if not (state / "windows.json").exists():
            return None
        from flower_mcp.core.windows import key
        from flower_mcp.workbench.learned import LearnedWindows

        entries = LearnedWindows(state).read().entries
        found = (entries.get(key(endpoint_of(environ), name)) for name in names)
        return next((learned.window for learned in found if learned is not None), None)
    return None
