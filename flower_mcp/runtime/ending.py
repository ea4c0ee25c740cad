"""Moves that end a run: finished, failed, stopped. They put the reason into the row; closing is the step's business."""

from __future__ import annotations

import math
import shlex

from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.events import Kind
from flower_mcp.core.texts import context_text, window_text
from flower_mcp.runtime.metering import SEED_SENTENCE
from flower_mcp.runtime.step import MoveEnd, StepRun

_OVER: MoveEnd = (Ending.STOP, Guard.ANY)  # what a last move answers is not asked any more


async def finish(run: StepRun) -> MoveEnd:
    """The step is done."""
    run.record.change(ok=True)
    return _OVER


async def fail(run: StepRun) -> MoveEnd:
    """The step failed; say why, when nobody has."""
    if run.record.row.error is None:
        run.record.change(error=_floor_sentence(run))
    run.record.event(Kind.ERROR, run.record.row.error or "", failure=str(run.failure), final=True)
    return _OVER


async def stop(run: StepRun) -> MoveEnd:
    """The step stopped at a limit or because somebody asked; it can go on later."""
    if run.record.row.error is None:
        run.record.change(error=_stop_sentence(run))
    return _OVER


def _floor_sentence(run: StepRun) -> str:
    """A session that was over the line with its first message."""
    meter = run.session.reader.meter if run.session else None
    if run.barren_sessions > 1 or meter is None or meter.messages == 0:
        shorter = (
            f"shorten the document (flower edit {shlex.quote(run.step)})" if run.handing.text else "give a smaller task"
        )
        return (
            f"Two sessions in a row were too full for their first request in this run ({run.handing.why}). "
            f"A handoff cannot help: {shorter}, or a model with a larger window."
        )
    floor = context_text(meter.floor or meter.context, meter.is_estimated)
    return (
        f"The session's first message already carried {floor}, and the handoff line is at "
        f"{window_text(run.policy.at)}: {SEED_SENTENCE}. "
        "(The line is below what a session starts with: give a larger --window, or --no-handoff.)"
    )


def _stop_sentence(run: StepRun) -> str:
    """Why it stopped, and how to go on."""
    budget = run.spec.max_budget_usd
    if run.stop_asked:
        return "Stopped as asked. Run flower again to go on from here."
    spent = run.spent_before + (run.costs.total or 0.0)
    if budget is not None and run.ending is not Ending.TURNS:
        return f"spent {_usd(spent)} of {_usd(budget)} USD; go on with --budget {math.ceil(2 * max(spent, budget))}"
    turns = run.turns_before + run.record.row.num_turns
    limit = run.spec.max_turns or turns
    used = f" ({turns} used, the last one to its end)" if turns > limit else ""
    plural = "" if limit == 1 else "s"
    return f"reached the limit of {limit} turn{plural}{used}; go on with --max-turns {2 * max(turns, limit)}"


def _usd(amount: float) -> str:
    """An amount in USD; four decimals where two would say nothing."""
    return f"{amount:.2f}" if amount == 0 or amount >= 0.1 else f"{amount:.4f}"
