"""Moves while a session works: read it until something ends the work, then let its agents finish.

What can hurt: a turn that ended `completed` is not yet a finished step (agents run on, and the CLI injects turns when
they end), so the work is over only when the CLI says that it is idle. Results of a retired session never get here.
"""

from __future__ import annotations

import anyio

from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.events import Kind
from flower_mcp.core.failures import RULES, Action, Failure, Outcome, failure_of
from flower_mcp.core.meter import Meter, Watermark
from flower_mcp.core.texts import context_text, window_text
from flower_mcp.runtime.costs import not_reported
from flower_mcp.runtime.gate import Mode
from flower_mcp.runtime.metering import heed_meter
from flower_mcp.runtime.opening import run_failed, start_ahead
from flower_mcp.runtime.overflowing import overflowed
from flower_mcp.runtime.permissions import brief
from flower_mcp.runtime.signals import (
    Asked,
    Gone,
    Idle,
    Measured,
    Retrying,
    Said,
    Signal,
    Stuck,
    TurnEnded,
    Used,
)
from flower_mcp.runtime.step import Break, MoveEnd, StepRun
from flower_mcp.runtime.watchdog import ANSWER_LIMIT

REFUSED = Outcome(is_error=True, status=401, error="authentication_failed", text="The credentials were refused.")
UNHEARD = Outcome(
    is_error=True, terminal_reason="hook_stopped", text="The prompt never reached the model: a hook kept it."
)
SETTLE = 10.0  # seconds for more to come from a CLI that is idle, or that does not say when it is
LATE = 2  # messages over the line without a boundary, then the turn is interrupted


async def work(run: StepRun) -> MoveEnd:
    """Read the session until the work ends, one way or another."""
    ended: TurnEnded | None = None
    interrupted = False
    while True:
        signal = await run.receive(_limit(run, ended))
        if ended is not None and (isinstance(signal, Idle) or (signal is None and not run.stop_asked)):
            if await _goes_on(run, signal):
                continue
            return _completed(run, ended)
        if run.stop_asked and anyio.current_time() >= run.stop_by:
            if interrupted:
                return Ending.STOP, Guard.ANY
            interrupted = True
            run.stop_by = anyio.current_time() + ANSWER_LIMIT
            await _interrupt(run)
        if signal is None:
            continue
        if isinstance(signal, TurnEnded):
            account(run, signal)
            run.late.answered(signal.uuids)
            await run.windows.learn_from(signal.outcome)
            if run.stuck is not None:  # we interrupted it, so the end itself teaches nothing
                await run.windows.learn_from(run.stuck.outcome)
            end = _turn_end(run, signal)
            if end is not None:
                return end
            ended = signal
            continue
        if isinstance(signal, Gone):
            if ended is not None and signal.outcome.silent:
                return _completed(run, ended)  # it had ended its turn, and never said that it is idle
            lose_cost(run)
            await run.windows.learn_from(signal.outcome)
            return (Ending.STOP, Guard.ANY) if run.stop_asked else run_failed(run, signal.outcome)
        await take(run, signal)


def _limit(run: StepRun, ended: TurnEnded | None) -> float | None:
    """How long to wait for the next signal, in seconds."""
    if run.stop_asked:
        return max(0.0, run.stop_by - anyio.current_time())
    if ended is not None and run.session is not None and (run.session.reader.idle or not run.session.reader.says_idle):
        return SETTLE  # idle, and something that was said is waited for: a turn for it begins at once, or never
    return None


async def _goes_on(run: StepRun, signal: Signal | None) -> bool:
    """Whether what a person changed or said keeps a session at work whose turn has ended: it begins another turn."""
    if run.stop_asked:
        return False
    if run.late.is_waiting or run.hearing.is_waiting:
        return signal is not None or (run.session is not None and not run.session.reader.idle)
    return await run.tell()


async def _interrupt(run: StepRun) -> None:
    if run.session is not None:
        await run.session.interrupt()


def _completed(run: StepRun, ended: TurnEnded) -> MoveEnd:
    if run.stop_asked:
        return Ending.STOP, Guard.ANY
    run.record.change(text=ended.text)
    return Ending.COMPLETED, Guard.ANY


def _turn_end(run: StepRun, signal: TurnEnded) -> MoveEnd | None:
    """What a turn's end means; None when the work goes on until the CLI is idle."""
    kind = failure_of(signal.outcome)
    if kind in (Failure.OUR_BREAK, Failure.ABORTED) and run.breaking is not None and run.stuck is None:
        return _broken(run, run.breaking)
    if kind is Failure.NONE:
        run.stuck = None
        return run_failed(run, UNHEARD) if signal.ours and not signal.messages else None
    endings = {Failure.BUDGET: Ending.BUDGET, Failure.TURNS: Ending.TURNS}
    if kind is Failure.ABORTED and run.stop_asked:
        endings[kind] = Ending.STOP
    if kind in endings:
        return endings[kind], Guard.ANY
    full = run.stuck is not None and RULES[failure_of(run.stuck.outcome)].action is Action.HAND_OFF
    again = RULES[kind].action is Action.RETRY or run.stuck is not None
    if again and not full and run.why_break() == Break.LINE:
        return _broken(run, Break.LINE)  # over the line it is no use to try again
    stuck, run.stuck = run.stuck, None
    outcome = signal.outcome
    if stuck is not None and (full or kind is Failure.ABORTED):
        outcome = stuck.outcome
    return run_failed(run, REFUSED if kind is Failure.ABORTED and run.refused_401 else outcome)


def _broken(run: StepRun, reason: Break) -> MoveEnd:
    """Our own break, by its reason; a stop that was asked for since comes first."""
    session = run.session
    if run.stop_asked:
        return Ending.STOP, Guard.ANY
    if reason is Break.LINE and session is not None:
        meter = session.reader.meter
        at_once = meter.messages == 1 or run.due_since == 1  # a turn without a boundary is broken some messages later
        fresh = run.is_fresh and at_once and (meter.floor or 0) >= run.policy.at
        return Ending.LINE, Guard.FRESH if fresh else Guard.ANY
    if reason is Break.ASKED and session is not None:
        run.asked_for.add(session.id)
    endings = {Break.ASKED: Ending.ASKED, Break.TURNS: Ending.TURNS, Break.STOP: Ending.STOP}
    return endings.get(reason, Ending.LINE), Guard.ANY


async def take(run: StepRun, signal: Signal) -> None:
    """Tell about a signal that ends nothing."""
    match signal:
        case Said(text):
            run.record.event(Kind.TEXT, text)
        case Used():
            run.record.event(
                Kind.TOOL, f"{signal.tool}: {brief(signal.input)}", tool=signal.tool, by_agent=signal.by_agent
            )
        case Measured(meter):
            measured(run, meter)
            await _heed_line(run, meter)
        case Retrying():
            await _retrying(run, signal)
        case Stuck():
            run.stuck = signal
            await _interrupt(run)
        case Asked() | Idle() | TurnEnded() | Gone():
            pass


async def _heed_line(run: StepRun, meter: Meter) -> None:
    """Interrupt a turn that is over the line and comes to no boundary, as text that is continued does."""
    if run.session is None or run.session.gate.mode is not Mode.WORK or not run.policy.enabled:
        return
    if meter.watermark(run.policy) is not Watermark.DUE:
        return
    run.due_since = run.due_since or meter.messages
    if meter.messages >= run.due_since + LATE:
        run.breaking = Break.LINE
        await _interrupt(run)


def measured(run: StepRun, meter: Meter) -> None:
    """Keep the context, and warn once a generation when the line is near."""
    run.made_progress()
    run.windows.heed()
    heed_meter(run, meter)
    if run.policy.enabled and meter.watermark(run.policy) is not Watermark.BELOW:
        say_near(run, meter)


def say_near(run: StepRun, meter: Meter) -> None:
    """The approach warning, once a generation."""
    if run.near_said:
        return
    run.near_said = True
    context, estimated = meter.context, meter.is_estimated
    left = max(0, run.policy.at - context)
    run.record.event(
        Kind.HANDOFF,
        f"context {context_text(context, estimated)}/{window_text(run.policy.window)}, "
        f"about {window_text(left)} to the handoff",
        phase="near",
        context=context,
        estimated=estimated,
        window=run.policy.window,
        left=left,
    )


def account(run: StepRun, signal: TurnEnded) -> None:
    """Keep what a turn cost, and what it took in."""
    run.hearing.answered(signal.uuids)
    session = run.session
    if session is None:
        return
    meter, budget = session.reader.meter, run.spec.max_budget_usd
    run.costs.report(session.id, signal.cost_usd)
    turns = signal.messages if session.gate.mode is Mode.WORK else 0  # the handoff turn is exempt, in later runs too
    with run.record.together():
        run.record.paid(turns, run.costs.of(session.id), run.costs.total)
        if run.handing.rewinding is None:  # a fork has less
            run.record.measured(meter.context, estimated=meter.is_estimated)
    if budget is not None and session.reader.good and not run.costs.of(session.id):
        run.record.say(not_reported(budget))


def lose_cost(run: StepRun) -> None:
    """A process ended before its turn had a result: what that turn cost is not known, which is not nothing."""
    session, generation = run.session, run.record.row.generation
    if session is None or generation is None or not session.reader.turn_messages:
        return
    told = f"session {generation.n} ended before its result: what its last turn cost is not known"
    run.record.error(told) if run.spec.max_budget_usd is None else run.record.say(told)


async def _retrying(run: StepRun, signal: Retrying) -> None:
    """The CLI tries a call again; refused credentials will not get better by that."""
    run.record.event(
        Kind.RETRY,
        f"the API did not answer ({signal.status or signal.error}); the CLI tries again",
        status=signal.status,
        attempt=signal.attempt,
        by="cli",
    )
    if signal.status == 401 and run.session is not None:
        run.refused_401 = True
        await run.session.interrupt()


async def drain(run: StepRun) -> MoveEnd:
    """Wait for the session's agents, then stop the rest; note what ends with the session."""
    session = run.session
    if session is None:
        return Ending.UNWRITTEN, Guard.ANY
    say_near(run, session.reader.meter)
    run.count_turns()
    session.gate.mode = Mode.DRAIN
    run.handoff_asked = False  # asked for again, it cuts the waiting short
    if agents := session.reader.agents():
        names = ", ".join(task.description for task in agents)
        run.record.event(Kind.DRAIN, f"waiting for {_agents(len(agents))}: {names}", agents=len(agents))
    end = await _until_idle(run, run.policy.drain_timeout)
    if end is None and session.reader.agents():
        left = session.reader.agents()
        run.handing.stop(left)
        for task in left if session.alive else ():
            await session.stop_task(task.task_id)
        run.record.event(Kind.DRAIN, f"stopped {_agents(len(left))} that had not ended", stopped=len(left))
        run.handoff_asked = False
        end = await _until_idle(run, SETTLE) if session.alive else None
    run.handing.stop(session.reader.shells())
    if end is None and run.stop_asked:  # heard before there was anything to wait for
        return Ending.STOP, Guard.ANY
    if end is None:
        start_ahead(run)
    return end or (Ending.DRAINED, Guard.ANY)


def _agents(count: int) -> str:
    return f"{count} agent{'s' * (count != 1)}"


async def _until_idle(run: StepRun, limit: float) -> MoveEnd | None:
    """Read on until no turn is under way and no agent runs; None when it got there or the limit came first."""
    session = run.session
    with anyio.move_on_after(limit):
        while session is not None and not session.reader.idle and not run.handoff_asked:
            signal = await run.receive()
            if run.stop_asked:
                return Ending.STOP, Guard.ANY
            if isinstance(signal, TurnEnded):
                account(run, signal)
            elif isinstance(signal, Gone) and RULES[failure_of(signal.outcome)].action is Action.HAND_OFF:
                await run.windows.learn_from(signal.outcome)
                overflowed(run, signal.outcome)
                return Ending.OVERFLOW, Guard.ANY
            elif isinstance(signal, Gone):
                lose_cost(run)
                return None  # it is resumed to write: only what it knew of its agents is gone
            elif signal is not None:
                await take(run, signal)
    return None
