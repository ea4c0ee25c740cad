"""The status line: a bar of the context with the handoff line in it, and what waits or runs in the workspace.

It keeps what the CLI tells it, the window above all: no other hook is told that. It must not know a transcript, and
needs the standard library alone. What can hurt: it is drawn every few hundred milliseconds of a session's life, and
its line goes to a terminal, so nothing in it may come from a document.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flower_mcp.cli.bar import context_bar, plain
from flower_mcp.cli.hook_due import hands_off, policy_of
from flower_mcp.core.texts import used_text, window_text
from flower_mcp.core.waiting import greeting
from flower_mcp.workbench.sessions import Noted, Sessions
from flower_mcp.workbench.waiting import Waiting

if TYPE_CHECKING:
    from flower_mcp.cli.hook import Call

CELLS = 20


def status_line(call: Call) -> str:
    """One line for a person, with its end."""
    noted = noted_in(call.event)
    session_id = call.text("session_id")
    if noted.window and session_id:
        Sessions().note(session_id, noted)
    model = call.event.get("model")
    name = str(model.get("id") or "") if isinstance(model, Mapping) else ""
    policy = policy_of(call.environ, noted, lambda: name)
    lines = (policy.at,) if hands_off(call.environ) else ()
    bar = context_bar(noted.context, policy.window, lines, width=CELLS)
    standing = _standing(call)
    if not standing and lines and noted.context >= policy.at:
        standing = "handoff due: /flower:handoff, then /clear"
    parts = (f"flower {bar} {used_text(noted.context)}/{window_text(policy.window)}", standing)
    line = " · ".join(part for part in parts if part) + "\n"
    return line if _has_utf8() else plain(line).replace("·", "|").encode("ascii", "replace").decode()


def noted_in(event: Mapping[str, Any]) -> Noted:
    """The window and the context that the CLI tells."""
    said = event.get("context_window")
    fields = said if isinstance(said, Mapping) else {}
    window, context = (fields.get(name) for name in ("context_window_size", "total_input_tokens"))
    return Noted(_count(window), _count(context))


def _count(value: object) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return int(value) if is_number else 0  # type: ignore[call-overload]  # mypy does not follow is_number


def _standing(call: Call) -> str:
    """What runs in the workspace, or waits there; "" when nothing does."""
    workspace = call.workspace
    if workspace is None:
        return ""
    told = greeting(found.lying for found in Waiting(workspace).found())
    if told.running:
        return "flower is running here: flower status"
    return "a handoff document waits: /clear takes it over" if told.given is not None else ""


def _has_utf8() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return encoding.lower().replace("-", "") == "utf8"
