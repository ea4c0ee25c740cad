"""Scripts: functions from a request to a reply, and the few ways to build one from others.

A script is asked once for each POST to `/v1/messages`. It may be async. It runs in the event loop of the model that
asks it, one call at a time unless it awaits, so a script may keep state without locks.

What can hurt: not every request belongs to the conversation under test. Subagents and the CLI's own side requests
(a title for the session) arrive in between, and a fault makes the CLI send the same request again. `Story` keeps
the first two out of its count; a repeated request takes the next reply, so a story says `[failure(529, ...),
text("ok")]` for one failure and its retry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from flower_mcp.demo.reply import Reply, failure, overflow, text
from flower_mcp.demo.request import Request, Sender

Answer = Reply | str
Script = Callable[[Request], Answer | Awaitable[Answer]]
Source = Script | Answer
Predicate = Callable[[Request], bool]

TITLE = text('{"title": "A scripted session"}')


def as_script(source: Source) -> Script:
    """A script that always gives the same answer, unless `source` is one already."""
    if isinstance(source, str | Reply):
        answer = source
        return lambda _request: answer
    return source


class Story:
    """One reply after the other for the main thread, over all sessions that use the model.

    `branches` are looked at first, in order: `(predicate, source)`, and take no reply from the story. `then`
    answers when the story is told; without it the model answers 400, which the CLI does not retry, naming the
    request that nobody had foreseen. `agents` answers subagents, `side` the CLI's side requests.
    """

    def __init__(
        self,
        replies: Iterable[Source],
        *,
        then: Source | None = None,
        branches: Sequence[tuple[Predicate, Source]] = (),
        agents: Source = "Done.",
        side: Source = TITLE,
    ) -> None:
        self._replies = [as_script(reply) for reply in replies]
        self._then = as_script(_nothing_left if then is None else then)
        self._branches = [(predicate, as_script(source)) for predicate, source in branches]
        self._agents = as_script(agents)
        self._side = as_script(side)
        self.told = 0

    @property
    def left(self) -> int:
        """Replies that nobody has asked for yet."""
        return len(self._replies) - self.told

    def __call__(self, request: Request) -> Answer | Awaitable[Answer]:
        """The next reply, or the one of a branch, an agent or a side request."""
        if request.sender is Sender.AGENT:
            return self._agents(request)
        if request.sender is Sender.SIDE:
            return self._side(request)
        for predicate, script in self._branches:
            if predicate(request):
                return script(request)
        if not self.left:
            return self._then(request)
        self.told += 1
        return self._replies[self.told - 1](request)


def asks(opening: str) -> Predicate:
    """A predicate for a branch: the prompt begins with `opening` (see `Request.asks`)."""
    return lambda request: request.asks(opening)


def each_session(*sources: Source) -> Script:
    """The n-th session seen gets the n-th source, all later ones the last: a script for each generation."""
    scripts = [as_script(source) for source in sources]
    seen: list[str] = []

    def script(request: Request) -> Answer | Awaitable[Answer]:
        if request.session not in seen:
            seen.append(request.session)
        return scripts[min(seen.index(request.session), len(scripts) - 1)](request)

    return script


def with_limit(source: Source, tokens: int, characters_per_token: int = 4) -> Script:
    """The same script behind a window of `tokens`: a longer request is answered with 400, prompt is too long.

    The length is that of the whole body in characters, divided by `characters_per_token`.
    """
    inner = as_script(source)

    def script(request: Request) -> Answer | Awaitable[Answer]:
        carried = _carried(request, characters_per_token)
        return overflow(carried, tokens) if carried > tokens else inner(request)

    return script


def measured(source: Source, characters_per_token: int = 4) -> Script:
    """The same script, each reply saying the context that the body carries, counted as `with_limit` counts."""
    inner = as_script(source)

    async def script(request: Request) -> Answer:
        given = inner(request)
        answer = await given if isinstance(given, Awaitable) else given
        reply = text(answer) if isinstance(answer, str) else answer
        return reply.at(_carried(request, characters_per_token))

    return script


def _carried(request: Request, characters_per_token: int) -> int:
    return len(request.raw.decode("utf-8", "replace")) // characters_per_token


def _nothing_left(request: Request) -> Reply:
    return failure(
        400,
        "invalid_request_error",
        f"the story has no reply for request {request.number}: {request.last_text()[-200:]}",
    )
