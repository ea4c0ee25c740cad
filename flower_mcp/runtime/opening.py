"""Moves that open a session: begin with the task, resume, launch from a document; and the pause before a retry."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import anyio

from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.errors import NothingThere
from flower_mcp.core.events import Kind
from flower_mcp.core.failures import RULES, Action, Failure, Outcome, failure_of, most_retries
from flower_mcp.core.handoff import Handoff
from flower_mcp.core.meter import Left
from flower_mcp.core.runaway import Starts
from flower_mcp.core.texts import context_text, load
from flower_mcp.runtime.documents import current_text
from flower_mcp.runtime.edits import newest, wait_while_held
from flower_mcp.runtime.look import REFUSED, is_born, was_cut_off
from flower_mcp.runtime.options import Opening
from flower_mcp.runtime.overflowing import looked_into, overflowed
from flower_mcp.runtime.starting import left_of
from flower_mcp.runtime.step import MoveEnd, StepRun
from flower_mcp.runtime.taking import mark_taken
from flower_mcp.runtime.trust import opening_words

REFUSED_IDS = (Failure.NO_CONVERSATION, Failure.ID_IN_USE)  # what the CLI has refused once is never tried again
BESIDE = 2.0  # seconds that a retired session with nothing to stop stays: one that ends takes time from one that starts
Prompt = str | Callable[[], Awaitable[str]]


async def begin(run: StepRun) -> MoveEnd:
    """Start the first session with the task. Raises NothingThere when nobody has said one."""
    if not run.words.strip():
        raise NothingThere(
            f"The step {run.step!r} left nothing to go on from.",
            kept="Nothing was started.",
            next="Give a task: flower 'TASK'",
        )
    session_id = run.new_session_id()
    run.is_fresh = True
    run.late.begin()
    words = opening_words(run.words, run.setting.unknown)
    return await _open(run, Opening(session_id), _next_number(run, session_id), words, phase="started")


async def resume(run: StepRun) -> MoveEnd:
    """Go on in the session that there is: in its process when it lives, else in a new one."""
    session_id = run.record.row.session_id or ""
    run.is_fresh = False
    if run.session is not None and run.session.alive:
        if run.owes_handoff:
            run.owes_handoff = False
            return Ending.ASKED, Guard.ANY
        await run.session.say(load("retry"))
        return Ending.OPENED, Guard.ANY
    before = run.setting.before
    run.late.resume(before.document.revision if before is not None and before.document is not None else None)
    number = _number_of(run, session_id)
    prompt = "" if run.owes_handoff else _words_for_resumed(run)
    ending, guard = await _open(run, Opening(session_id, resume=True), number, prompt, phase="resumed")
    if not run.owes_handoff or ending is not Ending.OPENED:
        return ending, guard  # what is owed is still owed: the next try is to write, too
    run.owes_handoff = False
    run.near_said = True  # it was near in the run before
    return Ending.ASKED, Guard.ANY


async def launch(run: StepRun) -> MoveEnd:
    """Start the successor from the document; the session before is closed beside it.

    What is sent is read when the process is there, last of all. A document that an earlier run left may be held.
    """
    left = budget_left(run)
    if run.stop_asked:
        return Ending.STOP, Guard.ANY  # before the old session is retired: the document waits
    if left is not None and left <= 0:
        return Ending.BUDGET, Guard.ANY
    if not run.handing.text:
        if not await wait_while_held(run):
            return Ending.STOP, Guard.ANY
        document = current_text(run)
        if document is not None:
            run.handing.text, run.handing.path = document.text, document.path
            run.handing.revision = document.revision
    if not run.handing.text:
        return run_failed(run, Outcome(is_error=True, text="the document to start from is gone"))
    run.handing.launched = True
    if run.spare is not None and run.spare.opening.budget_usd != left:
        run.drop_spare()  # something was paid for since
    session_id = run.spare.opening.session_id if run.spare else run.new_session_id()
    number = _next_number(run, session_id)
    _mark_launched(run, session_id, run.handing.revision)
    if (retired := run.retire()) is not None:
        run.start_soon(retired.close_retired, BESIDE if not retired.reader.tasks else 0.0)
    run.is_fresh = True
    return await _open(run, Opening(session_id), number, partial(_takeover, run), phase="launched")


async def _takeover(run: StepRun) -> str:
    """The successor's first prompt, from the newest text there is; the books name that text."""
    marked = run.handing.revision
    run.hearing.look()
    seen = await newest(run)
    path = run.handing.path
    run.late.begin(None if path is None else seen)
    mark_taken(run, run.handing.revision)
    before = run.setting.before
    if run.handing.revision != marked and run.handing.document is None and before is not None and before.row.generation:
        run.record.mend(before.row.with_generation(launched=run.handing.revision, edited=True))
    return Handoff().prompt_block(seen.text, path=None if path is None else str(path), task=run.words or None)


def start_ahead(run: StepRun) -> None:
    """Start the successor's process while its predecessor writes, if there will be one.

    With a budget not yet: a process gets its budget at its start, and what the writing costs is not known.
    """
    if run.handoffs < run.policy.max_generations and budget_left(run) is None:
        run.start_ahead(Opening(run.new_session_id()))


def start_within_budget(run: StepRun) -> None:
    """With a budget: start the successor's process once the document is written, so beside the edit window."""
    left = budget_left(run)
    if left is not None and left > 0:
        run.start_ahead(Opening(run.new_session_id(), budget_usd=left))


async def pause(run: StepRun) -> MoveEnd:
    """Wait before a retry, a little longer each time; a stop ends it at once."""
    retry = run.setting.retry
    seconds = retry.pause(run.failures_in_a_row) * random.uniform(0.75, 1.25) if retry else 0.0
    run.record.change(attempts=run.record.row.attempts + 1)
    run.record.event(
        Kind.RETRY,
        f"{run.failure}: trying again in {seconds:.0f} s",
        attempt=run.record.row.attempts,
        seconds=round(seconds, 1),
        failure=str(run.failure),
    )
    with anyio.move_on_after(seconds):
        while not run.stop_asked:
            await run.receive()
    return (Ending.STOP, Guard.ANY) if run.stop_asked else go_on(run)


def go_on(run: StepRun) -> MoveEnd:
    """What can be gone on from after a pause or a wait: the session when it has begun, else what it began with."""
    session_id = run.record.row.session_id
    is_refused = run.failure in REFUSED_IDS
    if is_refused or not is_born(run, session_id):
        run.leave()
        run.next_id = None if is_refused else session_id
        run.owes_handoff = False  # what comes now has not been asked for one
        generation = run.record.row.generation
        if is_refused:
            run.record.generation(durable=True, why=REFUSED)
        is_later = generation is not None and generation.n > 1
        has_document = bool(run.handing.text) or (is_later and current_text(run) is not None)
        return Ending.PAUSED, Guard.UNBORN_DOCUMENT if has_document else Guard.UNBORN_TASK
    return Ending.PAUSED, Guard.BORN


def run_failed(run: StepRun, outcome: Outcome, *, used_up: bool = False) -> MoveEnd:
    """Ask the table of failures what an outcome asks for, and keep the reason. `used_up`: it was tried again enough."""
    outcome = looked_into(run, outcome)
    kind = failure_of(outcome)
    rule = RULES[kind]
    run.failure = kind
    if rule.action is Action.HAND_OFF:
        overflowed(run, outcome)
        run.barren_sessions += int(run.session is not None and run.session.reader.good == 0)
        return Ending.OVERFLOW, Guard.BARREN if run.barren_sessions > 1 else Guard.ANY
    retry = run.setting.retry
    most = most_retries(kind, retry.max_attempts if retry else 0)
    action = run.waits.action(kind, outcome, used_up=used_up or run.failures_in_a_row >= most)
    run.good_at_failure = run.session.reader.good if run.session else 0
    if action is Action.WAIT:
        if run.session is not None and not run.session.alive:
            run.leave()
        return Ending.WAIT, Guard.ANY
    is_start = run.session is not None and run.session.reader.good == 0  # without a process none was made
    run.starts = run.starts.failed(kind, outcome.words) if is_start else Starts()
    run.failures_in_a_row += 1
    told = f"{kind}: {outcome.words}"
    run.record.event(Kind.ERROR, told, failure=str(kind))
    hopeless = run.starts.are_hopeless and rule.limit is not None  # a busy or distant endpoint gets better by itself
    if action is Action.RETRY and not hopeless:
        run.record.error(told)
        if run.session is not None and not run.session.alive:
            run.leave()
        return Ending.RETRY, Guard.ANY
    if hopeless:
        told = f"{run.starts.count} starts in a row failed alike: {told}"
    run.record.change(error=" ".join(part for part in (told, rule.next) if part))
    return Ending.GIVE_UP, Guard.ANY


async def _open(run: StepRun, opening: Opening, number: int, prompt: Prompt, *, phase: str) -> MoveEnd:
    """Write the id down, start the process, send the first prompt; one that is made last of all comes as a function."""
    left = budget_left(run)
    if left is not None and left <= 0:
        return Ending.BUDGET, Guard.ANY
    carried = left_of(run, opening)
    context = carried.context if carried else None
    with run.record.together():
        run.record.change(context=context or 0, live={"context_estimated": bool(carried and carried.estimated)})
        run.record.begin_generation(number, opening.session_id, owed=run.owes_handoff)
    failure = await run.open(replace(opening, budget_usd=left))
    session = run.session
    if failure is not None and run.stop_asked:
        return Ending.STOP, Guard.ANY
    if failure is not None or session is None:
        return run_failed(run, failure or Outcome(is_error=True, exited=True))
    if _has_no_credentials(session.account):
        return run_failed(run, Outcome(is_error=True, error="authentication_failed", text="Not logged in."))
    await run.windows.settle()
    if not opening.resume:
        run.hearing.begin()
    if prompt:  # none for a session that is resumed only to write its handoff
        await run.hearing.open(session, prompt if isinstance(prompt, str) else await prompt())
    run.record.remember_session()
    run.record.event(
        Kind.SESSION,
        _told(run, number, phase, carried),
        phase=phase,
        window=run.policy.window,
        window_source=str(run.source),
        handoff_at=run.policy.at,
        model=session.model or run.spec.model,
        context=context,
        estimated=bool(carried and carried.estimated),
        wake=run.setting.wake,
        **(run.windows.origin() if run.windows.learned else {}),
    )
    return Ending.OPENED, Guard.ANY


def _has_no_credentials(account: dict[str, object]) -> bool:
    """What the CLI said at connect: no token and no key, on Anthropic's own API."""
    return (
        account.get("apiProvider") == "firstParty"
        and account.get("tokenSource") in (None, "none")
        and account.get("apiKeySource") in (None, "none")
    )


def budget_left(run: StepRun) -> float | None:
    """USD that the step may still spend; None without a budget."""
    budget = run.spec.max_budget_usd
    return None if budget is None else budget - run.spent_before - (run.costs.total or 0.0)


def _number_of(run: StepRun, session_id: str) -> int:
    """The number of a session that is known, here or from the run before; 1 when it is not."""
    before = run.setting.before
    known = (*(before.row.generations if before else ()), *run.record.row.generations)
    return next((generation.n for generation in reversed(known) if generation.session_id == session_id), 1)


def _next_number(run: StepRun, session_id: str) -> int:
    """The number of a new session: one more than the last; an id drawn before keeps its number."""
    if run.setting.fresh and not run.record.row.generations:
        return 1
    before = run.setting.before
    known = (*(before.row.generations if before else ()), *run.record.row.generations)
    for generation in known:
        if generation.session_id == session_id:
            return generation.n
    return max((generation.n for generation in known), default=0) + 1


def _mark_launched(run: StepRun, session_id: str, revision: str) -> None:
    """Note with the session that left the document which revision of it was launched."""
    generation, before = run.record.row.generation, run.setting.before
    if generation is not None:
        if generation.session_id != session_id and generation.launched is None:
            run.record.generation(launched=revision)
    elif before is not None and before.row.generation and before.row.generation.frozen:
        edited = before.row.generation.frozen != revision
        run.record.mend(before.row.with_generation(launched=revision, edited=edited))


def _words_for_resumed(run: StepRun) -> str:
    """What a resumed session is told: that it was cut off, if it was, and what was said and it has not taken in."""
    words = run.hearing.for_resumed()
    if run.failures_in_a_row or was_cut_off(run):
        return "\n\n".join(part for part in (load("continue"), words) if part)
    before = run.setting.before
    return words or load("stopped" if before is not None and before.state.ended else "continue")


def _told(run: StepRun, number: int, phase: str, left: Left | None) -> str:
    """The line for people: which session, and for a resumed one the context that reopening it will read."""
    context_read = "" if left is None else f", context {context_text(left.context, left.estimated)}"
    wake = "" if run.setting.wake is None else f", wake {run.setting.wake}"
    return f"{run.step}: session {number} {phase}{context_read}{wake}"
