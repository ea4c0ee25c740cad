"""The move that waits for the world: until a limit is reset, the endpoint can be reached again, or it works again.

A wait is no attempt and no generation, and a person can stop it. What is waited for, and how long, is decided by
failures.py; what it must know beside the words of an error is looked up here: whether the endpoint takes connections,
and when the limit is reset. What can hurt: an endpoint that takes connections and refuses work is no lost network, so
it is looked at before each decision, and a lost connection counts as an attempt when it can be reached. Only a request
tells whether it works again; one that fails each time after an answer or two must not be waited for without end.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

import anyio

from flower_mcp.core.books import iso
from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.events import Kind, Phase
from flower_mcp.core.failures import RULES, Action, Failure, Outcome, action_of, failure_of
from flower_mcp.core.policy import RetryPolicy
from flower_mcp.core.resets import reset_in
from flower_mcp.runtime.endpoint import Address, address_of, answers
from flower_mcp.runtime.signals import Gone, Signal, TurnEnded
from flower_mcp.workbench.windows import endpoint_of

if TYPE_CHECKING:
    from flower_mcp.runtime.step import MoveEnd, StepRun

LONGEST_PAUSE = 15.0  # seconds between two looks at an endpoint: it is to go on as soon as it answers


@dataclass(slots=True)
class Waited:
    """What was waited for one kind of failure since the model last answered. `since`: epoch seconds."""

    since: float
    waits: int = 0


class Waits:
    """What one run waits for, and since when."""

    def __init__(self, run: StepRun) -> None:
        self._run = run
        self._waited: dict[Failure, Waited] = {}
        self.kind = Failure.NONE
        self.outcome = Outcome()

    @property
    def address(self) -> Address | None:
        """What is looked at for the endpoint; None for a provider whose address is not known."""
        environ = {**self._run.setting.environ, **self._run.spec.env}
        return address_of(endpoint_of(environ), environ)

    @property
    def policy(self) -> RetryPolicy:
        """The run's; one without retries waits for nothing either."""
        return self._run.setting.retry or RetryPolicy(offline=0.0)

    def over(self, *, forgiven: bool) -> None:
        """The model has answered; `forgiven`: so often since the last failure that it counts no more."""
        gone = [kind for kind in self._waited if forgiven or RULES[kind].action is Action.WAIT]
        for kind in gone:
            del self._waited[kind]

    def action(self, kind: Failure, outcome: Outcome, *, used_up: bool) -> Action:
        """What a failure asks for now. A wait is taken note of; it begins here and not when the move does."""
        now = time.time()
        waited = self._waited.get(kind, Waited(now))
        action = action_of(
            kind,
            outcome,
            now=now,
            waited=now - waited.since,
            waits=waited.waits,
            offline=self.policy.offline,
            used_up=used_up,
        )
        if action is Action.WAIT and self._run.setting.retry is None:
            return Action.STOP
        if action is Action.WAIT:
            waited.waits += 1
            self._waited[kind] = waited
            self.kind, self.outcome = kind, outcome
        return action

    def of(self, kind: Failure) -> Waited:
        """What was waited for a kind."""
        return self._waited.get(kind, Waited(time.time()))

    async def look_into(self, signal: Signal) -> Signal:
        """A signal of an end, with what the world says about it: can the endpoint be reached, when is a limit reset."""
        if not isinstance(signal, TurnEnded | Gone):
            return signal
        kind = failure_of(signal.outcome)
        if kind in (Failure.NETWORK, Failure.SILENT):
            address = self.address
            with anyio.CancelScope(shield=True):  # a signal that was taken must not be lost to a caller's time limit
                unreachable = address is not None and not await answers(address)
            return replace(signal, outcome=replace(signal.outcome, unreachable=unreachable))
        if kind is Failure.LIMITED and signal.outcome.resets_at is None:
            resets_at = reset_in(signal.outcome.text, time.time(), zone)
            return replace(signal, outcome=replace(signal.outcome, resets_at=resets_at))
        return signal


async def wait(run: StepRun) -> MoveEnd:
    """Wait for what the table named, and go on as after a pause."""
    from flower_mcp.runtime.opening import go_on

    began = time.time()
    run.record.error(f"{run.waits.kind}: {run.waits.outcome.words}")
    ways = {Failure.UNREACHABLE: _until_reachable, Failure.LIMITED: _until_reset}
    over = await ways.get(run.waits.kind, _until_next)(run)
    if run.stop_asked:
        return Ending.STOP, Guard.ANY
    run.record.event(
        Kind.WAIT,
        f"waited {time.time() - began:.0f} s, {'and goes on' if over else 'in vain'}",
        phase=Phase.CLOSED,
        failure=str(run.waits.kind),
        seconds=round(time.time() - began, 1),
        over=over,
    )
    if over:
        return go_on(run)
    since = _clock(run.waits.of(run.waits.kind).since)
    told = f"{run.waits.kind}, since {since}: {run.waits.outcome.words}"
    run.record.change(error=f"{told}. {RULES[run.waits.kind].next}")
    return Ending.GIVE_UP, Guard.ANY


async def _until_reset(run: StepRun) -> bool:
    waits, retry = run.waits, run.waits.policy
    count = waits.of(waits.kind).waits
    until = max(waits.outcome.resets_at or 0.0, time.time()) + retry.pause(count) * random.uniform(0.5, 1.5)
    run.record.event(
        Kind.WAIT,
        f"{waits.kind}: waiting until {_clock(until)} ({waits.outcome.words})",
        phase=Phase.OPEN,
        why=waits.outcome.words,
        failure=str(waits.kind),
        until=iso(until),
        seconds=round(until - time.time()),
    )
    while (left := until - time.time()) > 0 and await _rest(run, min(left, 60.0)):
        continue  # a look each minute: the clock on the wall may be set, or the machine sleep
    return True


async def _until_next(run: StepRun) -> bool:
    """Rest before the next try of what was tried again as often as attempts go, and is waited for."""
    waits, retry = run.waits, run.waits.policy
    waited = waits.of(waits.kind)
    latest = waited.since + retry.offline
    seconds = retry.pause(retry.max_attempts - 1 + waited.waits) * random.uniform(0.75, 1.25)
    until = min(time.time() + seconds, latest)
    run.record.event(
        Kind.WAIT,
        f"{waits.kind}: trying again at {_clock(until)}, until {_clock(latest)} at the latest ({waits.outcome.words})",
        phase=Phase.OPEN,
        why=f"{waits.kind}: {waits.outcome.words}",
        failure=str(waits.kind),
        since=iso(waited.since),
        until=iso(until),
        latest=iso(latest),
        seconds=round(until - time.time(), 1),
    )
    return await _rest(run, until - time.time())


async def _until_reachable(run: StepRun) -> bool:
    waits, retry = run.waits, run.waits.policy
    address, since = waits.address, waits.of(waits.kind).since
    most = retry.offline - (time.time() - since)
    run.record.event(
        Kind.WAIT,
        f"{address} cannot be reached since {_clock(since)}: waiting for it, at most {max(most, 0) / 60:.0f} min",
        phase=Phase.OPEN,
        failure=str(waits.kind),
        address=str(address),
        since=iso(since),
        until=iso(since + retry.offline),
        seconds=round(max(most, 0.0)),
    )
    looks = 0
    while not run.stop_asked and (left := since + retry.offline - time.time()) > 0:
        looks += 1
        seconds = min(left, retry.pause(looks), LONGEST_PAUSE) * random.uniform(0.75, 1.0)
        if await _rest(run, seconds) and (address is None or await answers(address)):
            return True
    return False


async def _rest(run: StepRun, seconds: float) -> bool:
    """Take what comes meanwhile; False when a stop was asked for, which ends it at once."""
    end = anyio.current_time() + seconds
    while not run.stop_asked and (left := end - anyio.current_time()) > 0:
        await run.receive(left)
    return not run.stop_asked


def zone(name: str) -> tzinfo | None:
    """A time zone by its name, the machine's own for none; None for one that is not known."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if not name:
        return datetime.now().astimezone().tzinfo
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _clock(seconds: float) -> str:
    """A moment as a person here reads it; the date where it is not today's."""
    moment, today = datetime.fromtimestamp(seconds).astimezone(), datetime.now().astimezone()
    return moment.strftime("%H:%M" if moment.date() == today.date() else "%Y-%m-%d %H:%M")
