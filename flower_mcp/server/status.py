"""What `handoff_status` answers: a step whole, or an overview of all, as JSON and as the same in short text.

It knows values and steps, nothing of MCP. What can hurt: Claude Code shows a model only the JSON and other clients
show only the text, so each of them has to stand alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from flower_mcp.core.books import LiveStep, State, seconds
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.texts import context_text, used_text, window_text
from flower_mcp.server.caller import Caller
from flower_mcp.server.pages import age_text
from flower_mcp.server.steps import Known, Steps

WHOLE = 20  # steps that are shown whole
NAMED = 200  # steps after these that are shown with their state alone


def one(steps: Steps, live: LiveStep, caller: Caller | None) -> tuple[dict[str, Any], str]:
    """A step as JSON and as text."""
    lines = [*_lines(live), *_caller_lines(caller)]
    return {**steps.value(live), "caller": _caller(caller)}, "\n".join(lines)


def overview(steps: Steps, caller: Caller | None) -> tuple[dict[str, Any], str]:
    """All steps as JSON and as text: the latest whole, more by name and state, the rest as a number."""
    known = steps.all()
    whole, unread = _whole(steps, known[:WHOLE])
    short = [*unread, *known[WHOLE : WHOLE + NAMED]]
    named = [{"step": each.step, "state": str(steps.state(each))} for each in short]
    rest = max(0, len(known) - WHOLE - NAMED)
    lines = [line for live in whole for line in _lines(live)] or ([] if named else ["There are no steps yet."])
    if named:
        lines.append("more: " + ", ".join(f"{each['step']} ({each['state']})" for each in named))
    if rest:
        lines.append(f"and {rest} more")
    value = {"steps": [steps.value(live) for live in whole], "more": named, "rest": rest, "caller": _caller(caller)}
    return value, "\n".join([*lines, *_caller_lines(caller)])


def _whole(steps: Steps, known: Sequence[Known]) -> tuple[list[LiveStep], list[Known]]:
    """The steps whole, without those that vanished meanwhile; and those that cannot be read.

    One bad file must not hide the others, nor itself: whoever asks for that step alone is told what is wrong with it.
    """
    whole: list[LiveStep] = []
    unread: list[Known] = []
    for each in known:
        try:
            live = steps.live(each.step)
        except FlowerError:
            unread.append(each)
            continue
        if live is not None:
            whole.append(live)
    return whole, unread


def _lines(live: LiveStep) -> Sequence[str]:
    """A step in two or three lines."""
    row = live.row
    facts = [f"step {live.step!r}: {live.state}"]
    if row.session_id:
        facts.append(f"session {row.session_id}")
    if row.generations:
        facts.append(f"generation {row.generations[-1].n}" + _of(live.max_generations))
    if row.window:
        context = context_text(row.context, live.context_estimated)
        facts.append(f"context {context}/{window_text(row.window)} ({row.window_source})")
    if live.at is not None:
        facts.append(f"hands off at {used_text(live.at)}")
    if row.cost_usd is not None:
        facts.append(f"cost {row.cost_usd:.2f} USD")
    lines = [", ".join(facts), f"  {_document_line(live)}"]
    if row.error:
        lines.append(f"  error: {' '.join(row.error.split())}")
    return lines


def _of(most: int | None) -> str:
    return "" if most is None else f" (at most {most} handoffs)"


def _document_line(live: LiveStep) -> str:
    document = live.document
    if document is None:
        return "no document" if live.state is not State.LOST else "no document; nobody runs this step any more"
    state = f"without {' and '.join(document.missing)}" if document.missing else "complete"
    marks = "".join(
        f", {mark}" for mark, holds in (("degraded", document.degraded), ("edited", document.edited)) if holds
    )
    age = ""
    if document.written_at is not None:
        with suppress(ValueError):
            age = f", written {age_text(time.time() - seconds(document.written_at))}"
    sections = ", ".join(f"{name} {count}" for name, count in document.sections.items())
    return f"document {document.path}: revision {document.revision}, {state}{marks}{age}; characters: {sections}"


def _caller(caller: Caller | None) -> Mapping[str, Any] | None:
    if caller is None:
        return None
    return {
        "session_id": caller.session_id,
        "agent_id": caller.agent_id,
        "context": caller.context,
        "context_estimated": caller.context_estimated,
        "window": caller.window,
        "window_source": caller.window_source,
    }


def _caller_lines(caller: Caller | None) -> Sequence[str]:
    if caller is None:
        return ()
    context = "not known yet" if caller.context is None else context_text(caller.context, caller.context_estimated)
    agent = f" (asked by its agent {caller.agent_id})" if caller.agent_id else ""
    return (
        f"you: session {caller.session_id}{agent}, context {context}/{window_text(caller.window)} "
        f"({caller.window_source})",
    )
