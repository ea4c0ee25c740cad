"""A scripted Messages API on loopback: the model of the demo, and of every test that drives the real Claude Code CLI.

::

    script = Story([tool("Bash", command="ls").at(20_000), text("Done.").at(25_000)])
    async with ScriptedModel(script) as model:              # in the running asyncio loop
        ...                                                 # ANTHROPIC_BASE_URL=model.url
    with ScriptedModel(script).in_thread() as model:        # in a thread and loop of its own
        ...

It answers `POST /v1/messages` from the script, `count_tokens` with an estimate, any HEAD with 200 and all else with
404; all are recorded. It listens on 127.0.0.1 alone and reads no environment. `request.py`, `reply.py` and
`script.py` hold what scripts are made of, and are offered here too; `answer.py`, `wire.py` and `listener.py` are
how it is sent.

What can hurt: a script that raises is answered with 400, so that the CLI does not retry it for minutes, and kept in
`errors`: look at it at the end of a test. A script that blocks (time.sleep) blocks the whole model. starlette and
uvicorn are imported at the start, not with this module.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
import uuid
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from flower_mcp.demo.record import Exchange, Outcome, Record, Visit
from flower_mcp.demo.reply import Reply, Text, Thinking, ToolUse, Usage, context, failure, overflow, text, tool
from flower_mcp.demo.request import Request, Sender
from flower_mcp.demo.script import (
    Answer,
    Predicate,
    Script,
    Source,
    Story,
    as_script,
    asks,
    each_session,
    measured,
    with_limit,
)
from flower_mcp.demo.wire import with_ids

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest

    from flower_mcp.demo.answer import Conversation
    from flower_mcp.demo.listener import Listener, Receive, Scope, Send

__all__ = [
    "Answer",
    "Exchange",
    "Outcome",
    "Predicate",
    "Reply",
    "Request",
    "Script",
    "ScriptedModel",
    "Sender",
    "Source",
    "Story",
    "Text",
    "Thinking",
    "ToolUse",
    "Usage",
    "Visit",
    "asks",
    "context",
    "each_session",
    "failure",
    "measured",
    "overflow",
    "text",
    "tool",
    "with_limit",
]

# Binding a port on loopback takes milliseconds; importing starlette and uvicorn on a loaded machine takes seconds.
START_LIMIT = 20.0
STOP_LIMIT = 2.0
CHARACTERS_PER_TOKEN = 4


class ScriptedModel:
    """A Messages API that answers from `script`, which may be replaced while it runs.

    `requests`, `exchanges`, `others` and `errors` are what has happened so far; `wait_for` waits for what is to come.
    """

    def __init__(self, script: Source) -> None:
        self.script = script
        self._record = Record()
        self._stamp = uuid.uuid4().hex[:8]
        self._listener: Listener | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    @property
    def url(self) -> str:
        """Where it listens: what ANTHROPIC_BASE_URL must be. Raises RuntimeError before the start."""
        if self._listener is None:
            raise RuntimeError("the scripted model is not started: use it as `async with` or `with model.in_thread()`")
        return f"http://127.0.0.1:{self._listener.port}"

    @property
    def requests(self) -> list[Request]:
        """Requests for messages, in order of arrival."""
        return self._record.requests

    @property
    def exchanges(self) -> list[Exchange]:
        """The same with the replies and how each ended."""
        return self._record.exchanges

    @property
    def others(self) -> list[Visit]:
        """Requests for anything else."""
        return self._record.others

    @property
    def errors(self) -> list[Exception]:
        """What the script raised."""
        return self._record.errors

    def wait_for(self, predicate: Predicate, timeout: float = 10.0) -> Request:
        """The first request, past or to come, that `predicate` holds for.

        Blocks. Raises TimeoutError, telling what had come, after `timeout` seconds.
        """
        return self._record.wait_for(lambda exchange: predicate(exchange.request), timeout).request

    async def wait_for_async(self, predicate: Predicate, timeout: float = 10.0) -> Request:
        """The same for a caller in an event loop."""
        return (await self._record.wait_for_async(lambda each: predicate(each.request), timeout)).request

    def wait_for_outcome(self, number: int, outcome: Outcome, timeout: float = 10.0) -> Exchange:
        """Request `number` once it has ended like that. Blocks; raises TimeoutError after `timeout` seconds."""
        return self._record.wait_for(lambda each: each.request.number == number and each.outcome is outcome, timeout)

    def refuse(self) -> None:
        """Refuse connections, and cut those that exist, until `accept`. From any thread but the model's own loop."""
        self._call("close")

    def accept(self) -> None:
        """Listen again on the same port. From any thread but the model's own loop."""
        self._call("open")

    async def __aenter__(self) -> ScriptedModel:
        """Start in the running loop. Raises OSError if no socket is to be had."""
        from flower_mcp.demo.listener import Listener

        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._listener = Listener(self._app)
        await self._listener.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop within a second, whatever hangs."""
        if self._listener is not None:
            await self._listener.stop()

    @contextmanager
    def in_thread(self) -> Iterator[ScriptedModel]:
        """Start in a thread and event loop of its own, for the length of a with block."""
        ready = threading.Event()
        failures: list[BaseException] = []
        stop = asyncio.Event()

        async def live() -> None:
            async with self:
                ready.set()
                await stop.wait()

        def run() -> None:
            try:
                asyncio.run(live())
            except BaseException as error:  # noqa: BLE001  a thread has nobody else to tell
                failures.append(error)
            finally:
                ready.set()

        thread = threading.Thread(target=run, name="scripted-model", daemon=True)
        thread.start()
        try:
            if not ready.wait(START_LIMIT):
                raise TimeoutError(f"the scripted model did not start within {START_LIMIT} s")
            if failures:
                raise failures[0]
            yield self
        finally:
            if self._loop is not None and thread.is_alive():
                self._loop.call_soon_threadsafe(stop.set)
            thread.join(STOP_LIMIT)

    def _call(self, action: str) -> None:
        if self._listener is None or self._loop is None:
            raise RuntimeError("the scripted model is not started")
        if threading.get_ident() == self._thread:
            raise RuntimeError("the model's own loop cannot wait for itself: use in_thread()")
        work: Coroutine[Any, Any, None] = self._listener.open() if action == "open" else self._listener.close()
        asyncio.run_coroutine_threadsafe(work, self._loop).result(STOP_LIMIT)

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.requests import ClientDisconnect
        from starlette.requests import Request as HttpRequest

        from flower_mcp.demo.answer import ClientGone, conversation

        http = HttpRequest(scope, receive)
        try:
            body = await http.body()
        except ClientDisconnect:
            return
        async with conversation(scope, receive, send) as client:
            try:
                if http.method == "POST" and http.url.path.endswith("/v1/messages"):
                    await self._messages(http, body, client)
                else:
                    await self._other(http, body, client)
            except ClientGone:
                return

    async def _other(self, http: HttpRequest, body: bytes, client: Conversation) -> None:
        from starlette.responses import JSONResponse, Response

        path = http.url.path
        self._record.visited(Visit(http.method, path, body))
        if http.method == "HEAD":
            await client.plain(Response())
        elif http.method == "POST" and path.endswith("/v1/messages/count_tokens"):
            await client.plain(JSONResponse({"input_tokens": len(body) // CHARACTERS_PER_TOKEN}))
        else:
            error = {"type": "not_found_error", "message": path}
            await client.plain(JSONResponse({"type": "error", "error": error}, 404))

    async def _messages(self, http: HttpRequest, body: bytes, client: Conversation) -> None:
        from flower_mcp.demo.answer import ClientGone

        headers = {name.lower(): value for name, value in http.headers.items()}
        make = partial(_request, path=http.url.path, headers=headers, raw=body, at=time.time())
        request = self._record.arrived(make)
        try:
            reply = with_ids(await client.unless_gone(self._ask(request)), request, self._stamp)
            self._record.answering(request, reply)
            outcome = await client.give(reply, stream=request.stream)
        except ClientGone:
            self._record.ended(request, Outcome.GONE)
            raise
        self._record.ended(request, outcome)

    async def _ask(self, request: Request) -> Reply:
        try:
            answer: Answer | Awaitable[Answer] = as_script(self.script)(request)
            if inspect.isawaitable(answer):
                answer = await answer
            return text(answer) if isinstance(answer, str) else answer
        except Exception as error:  # noqa: BLE001  a script is anybody's code; its failure is told in the answer and kept
            self._record.failed(error)
            return failure(400, "invalid_request_error", f"the script failed: {error!r}")


def _request(number: int, *, path: str, headers: dict[str, str], raw: bytes, at: float) -> Request:
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    return Request(number, path, headers, body if isinstance(body, dict) else {}, raw, at)
