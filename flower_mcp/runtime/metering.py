"""What a measured context leads to besides the handoff: the books, and what is said about figures that are odd.

It tells and keeps; what is odd is core/meter.py's, and what counts as going round in circles core/runaway.py's. What
can hurt: a condition holds for many messages and is said once a session; and a first message's figures still grow, so
a floor is kept until the second message.
"""

from __future__ import annotations

from flower_mcp.core.events import Kind
from flower_mcp.core.figures import Context
from flower_mcp.core.meter import Condition, Meter
from flower_mcp.core.runaway import Worked, starts_far_above
from flower_mcp.core.texts import context_text, used_text, window_text
from flower_mcp.runtime.step import StepRun

SEED_SENTENCE = "阈值很可能低于这个角色的启动地板,把 window 调大,或 --no-handoff"


def heed_meter(run: StepRun, meter: Meter) -> None:
    """Keep the context and the floor of a session that works, and say what is odd about them."""
    run.reached[run.record.row.session_id or ""] = meter.context
    run.record.measured(meter.context, estimated=meter.is_estimated)
    run.record.event(
        Kind.CONTEXT,
        "",
        context=meter.context,
        estimated=meter.is_estimated,
        window=run.policy.window,
        handoff_at=run.policy.at,
        warn_at=run.policy.warn_at,
    )
    for condition in meter.conditions(run.policy):
        if run.policy.enabled:
            _say_once(run, condition.name, _condition_sentence(run, meter, condition))
    _heed_floor(run, meter)


def worked(run: StepRun) -> Worked:
    """What the living session had used when it handed off."""
    session_id = run.record.row.session_id or ""
    meter = run.session.reader.meter if run.session else Meter()
    floor = run.floors.get(session_id)
    return Worked(
        floor or meter.floor or Context(0),
        run.reached.get(session_id, Context(0)),
        run.policy.at,
        counts=floor is not None and session_id not in run.asked_for,
    )


def thin_sentence(run: StepRun) -> str:
    """Why the step stops after two generations that came to nothing."""
    tokens, floors = (
        " and ".join(used_text(figure) for figure in figures)
        for figures in zip(*((each.tokens, each.floor) for each in run.worked[-2:]), strict=True)
    )
    return (
        f"Two sessions in a row handed off with next to nothing done: {tokens} worked since their first messages, "
        f"which carried {floors}, and the handoff line is at {window_text(run.policy.at)}. {SEED_SENTENCE}. "
        "The last document is frozen and waits: run flower again to go on from it, with a larger --window or a task "
        "in smaller parts."
    )


def _heed_floor(run: StepRun, meter: Meter) -> None:
    """Keep what a fresh session started with, and say when it is far more than the first one had."""
    session_id = run.record.row.session_id or ""
    is_first = meter.messages == 1 or not run.floors.get(session_id)
    if not run.is_fresh or not meter.floor or not is_first:
        return
    run.floors[session_id] = meter.floor
    first = next(iter(run.floors.values()))
    if starts_far_above(first, meter.floor):
        _say_once(
            run,
            "floor",
            f"this session started with {context_text(meter.floor, meter.is_estimated)}, the first one with "
            f"{used_text(first)}: the document, or what it makes the session read at once, may have grown too large",
        )


def _say_once(run: StepRun, what: str, text: str) -> None:
    """Say something about the living session, once."""
    key = (run.record.row.session_id or "", what)
    if key not in run.told:
        run.told.add(key)
        run.record.say(text)


def _condition_sentence(run: StepRun, meter: Meter, condition: Condition) -> str:
    """What is odd, with the figures, and what it means for the handoff."""
    context, reported = context_text(meter.context, meter.is_estimated), used_text(meter.usage.context)
    window = window_text(run.policy.window)
    match condition:
        case Condition.UNKNOWN:
            return (
                f"the endpoint reports no usage: the context is unknown, and estimated at {context} from the "
                "session's text; the handoff goes by that"
            )
        case Condition.TOO_LOW:
            return (
                f"the endpoint reports {used_text(meter.before)}, far below what the session's text comes to: the "
                f"context is estimated at {context}, and the handoff goes by that"
            )
        case Condition.TOO_HIGH:
            return (
                f"the endpoint reports {reported}, far above what the session's text comes to: either many tools "
                "and memory files come with each request, or its figures are too high and the handoff comes early"
            )
        case Condition.ABOVE_WINDOW:
            return (
                f"the API took {reported}, more than the window of {window} ({run.source}): the window is larger, or "
                "the figures are wrong; give the right --window"
            )
        case Condition.FELL:
            return (
                f"the reported context fell to {used_text(meter.before)} although nothing was compacted: figures of "
                "this endpoint may be too low, and the handoff may come late"
            )
