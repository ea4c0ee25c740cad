"""What a scripted model was asked and how it answered, readable from any thread while it runs.

It knows requests and replies. It knows no script and no socket.

What can hurt: the model writes from its event loop and a test reads from another thread, so everything goes through
one condition, and readers are given copies.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import anyio.to_thread

from flower_mcp.demo.reply import Reply
from flower_mcp.demo.request import Request


class Outcome(StrEnum):
    """How a request ended, or that it has not."""

    PENDING = "pending"
    ANSWERED = "answered"
    CUT = "cut"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, its reply (None until the script has given one) and how it ended.

    CUT: the reply said so. GONE: the client left first, or the model was stopped.
    """

    request: Request
    reply: Reply | None = None
    outcome: Outcome = Outcome.PENDING


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for anything else than a message."""

    method: str
    path: str
    body: bytes


class Record:
    """Everything that one model was sent, in order of arrival."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._exchanges: list[Exchange] = []
        self._others: list[Visit] = []
        self._errors: list[Exception] = []

    @property
    def exchanges(self) -> list[Exchange]:
        """Requests for messages, with what was answered."""
        with self._changed:
            return list(self._exchanges)

    @property
    def requests(self) -> list[Request]:
        """Requests for messages."""
        return [exchange.request for exchange in self.exchanges]

    @property
    def others(self) -> list[Visit]:
        """All other requests: HEAD, count_tokens, unknown paths."""
        with self._changed:
            return list(self._others)

    @property
    def errors(self) -> list[Exception]:
        """What scripts raised."""
        with self._changed:
            return list(self._errors)

    def arrived(self, make: Callable[[int], Request]) -> Request:
        """Note a request that is made from its number."""
        with self._changed:
            request = make(len(self._exchanges) + 1)
            self._exchanges.append(Exchange(request))
            self._changed.notify_all()
            return request

    def answering(self, request: Request, reply: Reply) -> None:
        """Note the reply that is about to be sent."""
        self._change(request, reply=reply)

    def ended(self, request: Request, outcome: Outcome) -> None:
        """Note how it ended."""
        self._change(request, outcome=outcome)

    def visited(self, visit: Visit) -> None:
        """Note a request for something else."""
        with self._changed:
            self._others.append(visit)
            self._changed.notify_all()

    def failed(self, error: Exception) -> None:
        """Note what a script raised."""
        with self._changed:
            self._errors.append(error)
            self._changed.notify_all()

    def wait_for(self, predicate: Callable[[Exchange], bool], timeout: float) -> Exchange:
        """The first exchange, past or to come, that `predicate` holds for; it is asked again when an exchange changes.

        Blocks the calling thread. Raises TimeoutError, with what had come, after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                for exchange in self._exchanges:
                    if predicate(exchange):
                        return exchange
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"not within {timeout} s; {self._summary()}")

    async def wait_for_async(self, predicate: Callable[[Exchange], bool], timeout: float) -> Exchange:
        """The same for a caller in an event loop, also the model's own."""
        wait = partial(self.wait_for, predicate, timeout)
        return await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)

    def _change(self, request: Request, **changes: Reply | Outcome) -> None:
        with self._changed:
            place = request.number - 1
            self._exchanges[place] = replace(self._exchanges[place], **changes)  # type: ignore[arg-type]
            self._changed.notify_all()

    def _summary(self) -> str:
        lines = [
            f"{each.request.number} {each.request.sender} {each.outcome}: ...{each.request.last_text()[-80:]!r}"
            for each in self._exchanges
        ]
        return "had come: " + ("; ".join(lines) or "nothing")
