"""The handoff turn: the session that did the work writes its document, in the same client, with the same tools.

Exempt from the watermark, the budget, the turns and the caller's text events. What can hurt: a turn that the CLI
injects may come first, so ours is known by its prompt's uuid; a budget that runs out here must not cost the document,
so the session is then reopened without one and asked again.
"""

from __future__ import annotations

import time
from dataclasses import replace

import anyio

from flower_mcp.core.books import OWED
from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.events import Kind
from flower_mcp.core.failures import RULES, Action, Failure, Outcome, failure_of, most_retries
from flower_mcp.core.handoff import FIELDS, Extra, Handoff
from flower_mcp.core.texts import context_text, handoff_turn, render, window_text
from flower_mcp.core.writing import Then, TurnEnd, Written, judge, then
from flower_mcp.runtime.documents import draft_left
from flower_mcp.runtime.facts import with_facts
from flower_mcp.runtime.gate import Mode
from flower_mcp.runtime.opening import run_failed
from flower_mcp.runtime.options import Opening
from flower_mcp.runtime.overflowing import abandon_forks, looked_into, overflowed
from flower_mcp.runtime.signals import Gone, Measured, Said, Stuck, TurnEnded
from flower_mcp.runtime.step import MoveEnd, StepRun
from flower_mcp.runtime.watchdog import ANSWER_LIMIT
from flower_mcp.runtime.working import account, lose_cost

CLOCK_TICK = 0.05  # seconds; a file's time may lag behind the clock by a tick of the kernel's


async def ask(run: StepRun) -> MoveEnd:
    """Ask for the document."""
    estimated = run.record.live.context_estimated
    used, window = context_text(_context(run), estimated), window_text(run.policy.window)
    run.record.event(
        Kind.HANDOFF,
        f"context {used}/{window}: writing the handoff",
        phase="writing",
        context=_context(run),
        estimated=estimated,
        window=run.policy.window,
    )
    run.handing.asks = 1
    run.handing.began = time.time()
    prompt = await with_facts(run, handoff_turn(used, window))
    return await write(run, prompt, Handoff())


async def ask_again(run: StepRun) -> MoveEnd:
    """Ask once more, naming what is missing; what is there already is kept."""
    verdict = run.handing.verdict
    missing = " and ".join(verdict.missing) if verdict else "doing and next"
    run.handing.asks += 1
    return await write(run, render("again", {"missing": missing}), run.handing.partial)


def new_draft(run: StepRun) -> Handoff | None:
    """The draft that the session handed in since the turn began, if any."""
    draft = draft_left(run)
    if draft is None or draft.written_at < run.handing.began - CLOCK_TICK:
        return None
    return Handoff.from_markdown(draft.text, run.step)


async def write(run: StepRun, prompt: str, before: Handoff) -> MoveEnd:
    """Run one handoff turn and judge it."""
    outcome, text, after = await _tried(run, prompt)
    if run.handing.rewinding is None:  # a fork's figures are those of an earlier request
        await run.windows.learn_from(outcome)
    if run.stop_asked:
        return Ending.STOP, Guard.ANY
    if after is Then.OWE:
        run.record.generation(why=OWED)
        run.owes_handoff = True
        abandon_forks(run)
        return run_failed(run, outcome, used_up=True)
    handoff = _joined(before, Handoff.from_markdown(text, run.step), text)
    if run.handing.rewinding is None or run.handing.asks > 1:
        run.handing.partial = handoff
    else:  # a fork knows less than what its session had written before it was too full
        run.handing.partial = _joined(run.handing.partial, handoff, "")
    return judged(run, outcome, handoff)


def judged(run: StepRun, outcome: Outcome, handoff: Handoff | None = None) -> MoveEnd:
    """Judge how a handoff turn ended, in the session or in a fork of it, and keep the verdict."""
    rewinding = run.handing.rewinding
    if rewinding is None and RULES[failure_of(outcome)].action is Action.HAND_OFF:
        outcome = looked_into(run, outcome)
        overflowed(run, outcome)
    written = Written(
        _end(outcome), handoff, new_draft(run), run.handing.asks, _detail(outcome),
        rewound=rewinding.by if rewinding else 0, overflow=run.handing.why,
    )  # fmt: skip
    run.handing.verdict = judge(written)
    return run.handing.verdict.ending, Guard.ANY


async def _tried(run: StepRun, prompt: str) -> tuple[Outcome, str, Then]:
    """Run the turn, and again after what passes: what the session knows is worth some tries. And what follows."""
    failures = 0
    while True:
        outcome, text = await _turn(run, prompt)
        failures += 1
        kind = failure_of(outcome)
        after = then(
            kind, exited=outcome.exited, failures=failures, most=_most(run, kind), is_fork=bool(run.handing.rewinding)
        )
        if run.stop_asked or after in (Then.JUDGE, Then.OWE):
            return outcome, text, after
        goes_on = await (_pause(run, kind, failures) if after is Then.REPEAT else _reopen_without_budget(run))
        if not goes_on:
            return outcome, text, Then.JUDGE


def _most(run: StepRun, kind: Failure) -> int:
    """How often a handoff turn is tried again; between two waits for the same it is tried once."""
    retry = run.setting.retry
    return 0 if retry is None or run.waits.of(kind).waits else most_retries(kind, retry.max_attempts)


async def _pause(run: StepRun, kind: Failure, failures: int) -> bool:
    """Wait a little before the turn is tried again; False when a stop was asked for, which ends it at once."""
    run.record.event(Kind.RETRY, f"{kind}: the handoff is asked for again", failure=str(kind))
    with anyio.move_on_after(run.setting.retry.pause(failures) if run.setting.retry else 0.0):
        while not run.stop_asked:
            await run.receive()
    return not run.stop_asked


async def _turn(run: StepRun, prompt: str) -> tuple[Outcome, str]:
    """Send a prompt and collect the main thread's text until its result, within the policy's time."""
    session = run.session
    if session is None or not session.alive:
        return Outcome(is_error=True, exited=True, text="the session had ended"), ""
    session.gate.mode = Mode.WRITE
    mine = await session.say(prompt)
    texts: list[str] = []
    with anyio.move_on_after(run.policy.write_timeout):
        outcome = await _result(run, mine, texts)
        return outcome, "\n\n".join(texts)
    await session.interrupt()
    with anyio.move_on_after(ANSWER_LIMIT):
        await _result(run, mine, texts)
    late = f"nothing in {run.policy.write_timeout:.0f} s"
    return Outcome(is_error=True, terminal_reason="aborted_streaming", text=late), "\n\n".join(texts)


async def _result(run: StepRun, mine: str, texts: list[str]) -> Outcome:
    """Read until the result of the prompt `mine`, or a stop; text of turns before it is dropped."""
    while not run.stop_asked:
        signal = await run.receive()
        match signal:
            case Said(text):
                texts.append(text)
            case Measured(meter) if run.handing.rewinding is None:
                run.record.measured(meter.context, estimated=meter.is_estimated)
            case TurnEnded():
                account(run, signal)
                if mine in signal.uuids or (signal.ours and not signal.uuids):
                    return signal.outcome
                texts.clear()
            case Gone(outcome):
                lose_cost(run)
                return outcome
            case Stuck(outcome):
                if run.session is not None:
                    await run.session.interrupt()
                return outcome
            case _:
                pass
    return Outcome()


async def _reopen_without_budget(run: StepRun) -> bool:
    """Resume the session in a new process that has no budget; its document must get written."""
    session_id = run.record.row.session_id
    run.leave()
    failure = await run.open(Opening(session_id or "", resume=True))
    return failure is None and not run.stop_asked


def _joined(before: Handoff, after: Handoff, text: str) -> Handoff:
    """The newer reading, completed from the older one; prose that is no document is kept as a section of its own."""
    fields = {name: getattr(after, name) or getattr(before, name) for name in FIELDS}
    nothing_read = not any(getattr(after, name) for name in FIELDS) and not after.extra
    extra = after.extra or before.extra
    if nothing_read and text.strip():
        extra = (*before.extra, Extra("What the session answered", text.strip("\n"), after="scene"))
    return replace(after, **fields, extra=extra)


def _end(outcome: Outcome) -> TurnEnd:
    kind = failure_of(outcome)
    if kind in (Failure.NONE, Failure.OUR_BREAK):
        return TurnEnd.CUT if outcome.stop_reason == "max_tokens" else TurnEnd.COMPLETED
    if RULES[kind].action is Action.HAND_OFF:
        return TurnEnd.FULL
    if kind is Failure.OUTPUT_LIMIT:
        return TurnEnd.CUT
    if kind in (Failure.SILENT, Failure.ABORTED):
        return TurnEnd.TIMEOUT
    return TurnEnd.DIED if outcome.exited else TurnEnd.ERROR


def _detail(outcome: Outcome) -> str:
    return outcome.words if outcome.is_error else ""


def _context(run: StepRun) -> int:
    return (run.session.reader.meter.context if run.session else 0) or run.record.row.context
