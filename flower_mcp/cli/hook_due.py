"""Once a session, at the watermark: the notice that a handoff is due.

The context comes from the transcript's end, the window from the best source that there is without a supervisor. It must
not know stdin or stdout, and needs the standard library alone. What can hurt: it runs after every batch of tools, so a
session that was told costs one look for a file, and of a transcript no more than its end is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flower_mcp.core.amounts import is_yes, tokens
from flower_mcp.core.errors import Usage
from flower_mcp.core.policy import FixedLine, HandoffPolicy
from flower_mcp.workbench.session_window import window_of
from flower_mcp.workbench.sessions import Noted, Sessions

if TYPE_CHECKING:
    from flower_mcp.cli.hook import Call

LINES = 400  # lines at a transcript's end in which the last answer stands: a batch may have many results
END = 8 * 2**20  # bytes; a transcript longer than that is never estimated from all its characters


def notice(call: Call) -> str:
    """The notice, marked as said now; "" below the line, and where it was said."""
    session_id, path = call.text("session_id"), Path(call.text("transcript_path"))
    sessions = Sessions()
    if not call.text("transcript_path") or sessions.is_said(session_id) or not hands_off(call.environ):
        return ""
    noted = sessions.noted(session_id)
    policy = policy_of(call.environ, noted, lambda: _model(path))
    context = _context(path) or noted.context
    if context < policy.at or not sessions.say(session_id):
        return ""
    from flower_mcp.core.texts import render, used_text, window_text

    return render("due", {"used": used_text(context), "window": window_text(policy.window)})


def hands_off(environ: Mapping[str, str]) -> bool:
    """Whether the person wants handoffs at all."""
    return not is_yes(environ.get("FLOWER_NO_HANDOFF", ""))


def policy_of(environ: Mapping[str, str], noted: Noted, model: Any) -> HandoffPolicy:
    """Where a handoff is due in this session. `model` gives its model's name; it is asked only if need be."""
    headroom, at = (_set(environ, name) for name in ("FLOWER_HEADROOM", "FLOWER_AT"))
    size, _ = window_of(environ, noted, model)
    with suppress(Usage):
        if at:
            return FixedLine(line=at).with_window(size)
        return HandoffPolicy(window=size, headroom=headroom)  # type: ignore[arg-type]  # None: not given
    return HandoffPolicy(window=size)


def _set(environ: Mapping[str, str], name: str) -> int | None:
    return tokens(environ.get(name, ""))


def _context(path: Path) -> int:
    """The context in tokens; 0 when it cannot be told quickly."""
    from flower_mcp.core.transcript import context_of, left_in

    with suppress(OSError):
        context = context_of(_end(path))
        if context is not None:
            return context
        if os.stat(path).st_size <= END:  # noqa: PTH116  # the endpoint reports no usage: count characters
            left = left_in(lambda: _all(path))
            return left.context if left is not None else 0
    return 0


def _model(path: Path) -> str:
    """The model of the session's last answer; "" when there is none."""
    from flower_mcp.core.transcript import SYNTHETIC, object_of, text_of

    with suppress(OSError):
        for line in _end(path):
            model = text_of(object_of(line.get("message")).get("model"))
            if line.get("type") == "assistant" and model not in ("", SYNTHETIC):
                return model
    return ""


def _end(path: Path) -> Iterator[dict[str, Any]]:
    return islice(_all(path), LINES)


def _all(path: Path) -> Iterator[dict[str, Any]]:
    from flower_mcp.workbench.transcripts import lines_backwards

    return lines_backwards(path)
