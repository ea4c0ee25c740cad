"""What a running step is doing at this instant, for whoever draws it: looked at, not told.

Values alone. It decides and changes nothing. What can hurt: the tools' inputs are a model's words, so they are masked
here, as those in events are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flower_mcp.core.books import LiveStep
from flower_mcp.core.masking import mask
from flower_mcp.runtime.gate import Mode
from flower_mcp.runtime.permissions import brief

if TYPE_CHECKING:
    from flower_mcp.runtime.step import StepRun


@dataclass(frozen=True, slots=True)
class Present:
    """A step as it is now.

    `calls`: the tools that the main thread waits for, the oldest first, as events tell them. `turns`: of this run's
    work, with those of the prompt that is being answered. `is_paid`: whether the books have the cost of all that was
    done; the CLI tells it with a prompt's result alone.
    """

    live: LiveStep
    calls: tuple[str, ...] = ()
    turns: int = 0
    is_paid: bool = True


def present_of(run: StepRun) -> Present:
    """Look at a step that runs here."""
    live, session = run.record.live, run.session
    if session is None:
        return Present(live, turns=live.row.num_turns)
    reader = session.reader
    calls = tuple(mask(f"{used.tool}: {brief(used.input)}").text for used in reader.calls.values())
    turns = live.row.num_turns + (reader.turn_messages if session.gate.mode is Mode.WORK else 0)
    return Present(live, calls, turns, is_paid=not reader.turn_messages)
