"""The demo's story: three sessions carry one small task to its end, with a dead end and two handoffs between them.

::

    world = prepare(folder, model.url)         # a repository, an environment
    person = Person()                          # edits the first document when he is told that its window is open
    model.script = script(world.workspace, person=person)     # what the scripted model answers
    ...                                        # run world.task as a step, with the real supervisor
    problems = verify(world)                   # what the disk says about it; empty when all is well

What the model says is written down here; what its tools do is real. So the script listens before it speaks: every
reply names what must have come back from the tools (or, at a session's start, from the document) for its words to be
true. If that has not come, the script answers with an error, and goes on doing so: the demo fails, it does not pretend.

It must not know how sessions are run. What can hurt: a person may edit the document while the demo runs, and is invited
to; only taking out the dead end makes the story impossible to tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flower_mcp.core.texts import load
from flower_mcp.demo.person import LINE, Person
from flower_mcp.demo.reply import Reply, failure
from flower_mcp.demo.request import Request, Sender, texts
from flower_mcp.demo.script import TITLE, Script
from flower_mcp.demo.sessions import Beat, Session, sessions
from flower_mcp.demo.verdict import verify
from flower_mcp.demo.world import DemoWorld, prepare

__all__ = ["FIRST_LINE", "DemoWorld", "Person", "prepare", "script", "verify"]

FIRST_LINE = (
    "The model in this demo is scripted: its words and token figures are written down beforehand, and costs are "
    "reckoned from those; it needs no key and no network, and nothing is charged. Everything else is real: the Claude "
    "Code CLI, its tools, the files, the sessions, the handoffs."
)

# Seconds before an answer begins, and between its parts: the pace of a reader.
THINKING = 0.2
SPEAKING = 0.01
CHUNK = 60  # characters


def script(workspace: Path, pace: float = 1.0, person: Person | None = None) -> Script:
    """The story, for a repository in `workspace`. A new script for each run: it counts what it has told.

    `person` is the scripted person, if there is one: once he has edited the first document, the second session must
    have been given his line, and says where it arrived. `pace` stretches the pauses, which are for the reader's eyes
    alone; 0 leaves them out.
    """
    return _Telling(sessions(workspace), person or Person(), thinking=THINKING * pace, speaking=SPEAKING * pace)


class _Telling:
    """Tells the sessions' parts to whoever asks; once a part cannot be told, it says why to every request."""

    def __init__(self, sessions: tuple[Session, ...], person: Person, *, thinking: float, speaking: float) -> None:
        self._parts = sessions
        self._person = person
        self._thinking, self._speaking = thinking, speaking
        self._opening = load("handoff").split(".")[0]
        self._known: list[str] = []
        self._work: Iterator[Beat] = iter(())
        self._broken = ""

    def __call__(self, request: Request) -> Reply:
        if request.sender is not Sender.MAIN:
            return TITLE
        beat = None if self._broken else self._beat(request)
        if beat is None:
            reason = self._broken or f"it has no words for request {request.number}"
            self._broken = reason
            return failure(400, "invalid_request_error", f"The demo's story cannot be told: {reason}.")
        reply = beat.edited if beat.edited is not None and self._person.has_edited else beat.reply
        return reply.but(chunk=CHUNK, delay=self._thinking, event_delay=self._speaking)

    def _beat(self, request: Request) -> Beat | None:
        """The next beat of the session that asks, if what it needs to hear was said."""
        if request.session not in self._known:
            self._known.append(request.session)
            if len(self._known) <= len(self._parts):
                self._work = iter(self._parts[len(self._known) - 1].work)
        number = len(self._known)
        if number > len(self._parts) or request.session != self._known[-1]:
            self._broken = f"it knows {len(self._parts)} sessions, one after the other"
            return None
        if request.asks(self._opening):
            beat, heard = self._parts[number - 1].document, _tool_results(request)
        else:
            beat, heard = next(self._work, None), request.last_text()
        wanted = beat.heard if beat else ()
        if beat is not None and beat.edit_arrives and self._person.has_edited:
            wanted = (*wanted, LINE)
        missing = [words for words in wanted if words not in heard]
        if missing:
            self._broken = f"session {number} should have been told {missing[0]!r} by now, and was not"
            return None
        return beat


def _tool_results(request: Request) -> str:
    """All that tools have printed in this session; not what the model said about it, nor the documents."""
    blocks = [
        block
        for message in request.messages
        if isinstance(message.get("content"), list)
        for block in message["content"]
        if block.get("type") == "tool_result"
    ]
    return "\n".join(texts(blocks))
