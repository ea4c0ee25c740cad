"""The move after an overflow: a fork of the session, at an earlier request, writes the document.

The session itself takes no further prompt, but its history up to a request that was answered does, and holds nearly all
that it knew. Same tools, same prompt, same hooks: what the provider has cached still counts. Each call is one attempt,
and goes further back than the one before (writing.py says how far); when none is left, a draft that the session once
wrote is taken, else code writes.

What can hurt: a fork is no session of the step. It is never written down as one, never resumed and never retired; what
it costs is its session's. Whatever it ends with, the session that overflowed must be the step's again before anything
is retired (`end_fork`). The two must not run at once: the session is closed first.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import anyio

from flower_mcp.core.books import iso
from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.events import Kind
from flower_mcp.core.failures import Outcome
from flower_mcp.core.handoff import Handoff
from flower_mcp.core.happened import after, happened, ran_lines
from flower_mcp.core.rewinding import answered_requests
from flower_mcp.core.texts import handoff_turn, render, used_text, window_text
from flower_mcp.core.writing import back_to, unrewound
from flower_mcp.runtime.documents import draft_left
from flower_mcp.runtime.facts import missing, with_facts
from flower_mcp.runtime.handoff_turn import judged, write
from flower_mcp.runtime.look import transcript_of
from flower_mcp.runtime.opening import start_ahead
from flower_mcp.runtime.options import Opening
from flower_mcp.runtime.overflowing import Rewinding, end_fork
from flower_mcp.runtime.step import MoveEnd, StepRun
from flower_mcp.workbench.transcripts import lines_backwards

CLOSING = 10.0  # seconds for the session's process to end; a shell of it takes the CLI 5 s
GRACE = 15.0  # seconds beyond write_timeout: a turn that is interrupted then has 10 s for its result


async def rewind(run: StepRun) -> MoveEnd:
    """Have a fork write, further back than the one before."""
    rewinding = run.handing.rewinding
    if rewinding is None:
        rewinding = run.handing.rewinding = await _left(run)
    elif run.handing.verdict is not None:
        rewinding.reasons.append(run.handing.verdict.why or "")
    end_fork(run)
    if run.stop_asked:
        return Ending.STOP, Guard.ANY
    rewinding.attempts += 1
    kept = back_to(len(rewinding.requests), rewinding.attempts)
    if kept is None:
        return _unrewound(run, rewinding)
    rewinding.by = len(rewinding.requests) - kept + 1
    return await _attempt(run, rewinding, rewinding.requests[kept - 1])


async def _left(run: StepRun) -> Rewinding:
    """Close the session that is too full, and find out what it can be rewound to."""
    session, session_id = run.session, run.record.row.session_id or ""
    if session is not None:
        run.handing.stop(session.reader.tasks.values())
        run.count_turns()
        session.close(retired=True)
        with anyio.move_on_after(CLOSING):
            await session.closed.wait()
    if run.spare is None:
        start_ahead(run)
    path = transcript_of(run, session_id)
    requests = () if path is None else await anyio.to_thread.run_sync(_requests, path)
    return Rewinding(session, session_id, requests)


def _requests(path: Path) -> tuple[str, ...]:
    return answered_requests(lines_backwards(path))


async def _attempt(run: StepRun, rewinding: Rewinding, at: str) -> MoveEnd:
    """Start a fork at a line of the session's history, and have it write."""
    rewinding.ran = await _ran(run, at)
    used, window = used_text(run.record.row.context), window_text(run.policy.window)
    back = f"{rewinding.by} request{'s' * (rewinding.by > 1)}"
    run.record.event(
        Kind.HANDOFF,
        f"context {used}/{window}: writing the handoff from {back} earlier",
        phase="writing",
        context=run.record.row.context,
        window=run.policy.window,
        rewound=rewinding.by,
        attempt=rewinding.attempts,
        why=run.handing.why,
    )
    run.handing.asks = 1
    run.handing.began = time.time()
    fork = Opening(str(uuid.uuid4()), fork_of=rewinding.session_id, at=at)
    ask = "\n\n".join((handoff_turn(used, window), render("rewound", {"requests": back})))
    prompt = await with_facts(run, ask)
    with anyio.move_on_after(run.policy.write_timeout + GRACE):
        run.costs.fork(fork.session_id, rewinding.session_id)
        failure = await run.start(fork)
        return judged(run, failure) if failure is not None else await write(run, prompt, Handoff())
    return judged(run, Outcome(is_error=True, silent=True, text="the fork did not answer"))


async def _ran(run: StepRun, at: str) -> list[str]:
    """Lines for scene: what ran after that line of the session's transcript."""
    path = transcript_of(run, run.record.row.session_id or "")
    if path is None:
        return []
    what = await anyio.to_thread.run_sync(lambda: happened(after(_since(path, at), at)))
    return ran_lines(what, missing(run.setting.workspace, what.files))


def _since(path: Path, at: str) -> list[dict[str, object]]:
    """A transcript's lines from the one with that uuid on, oldest first."""
    since = []
    for line in lines_backwards(path):
        since.append(line)
        if line.get("uuid") == at:
            break
    return since[::-1]


def _unrewound(run: StepRun, rewinding: Rewinding) -> MoveEnd:
    """No fork wrote: the draft that the session wrote earlier, if it is whole."""
    reasons = "; ".join(reason for reason in dict.fromkeys(rewinding.reasons) if reason)
    why = reasons or f"{run.handing.why}; there is no earlier request to rewind to"
    rewinding.ran = []
    run.handing.verdict = unrewound(_draft(run, rewinding.session_id), run.handing.partial, why)
    return run.handing.verdict.ending, Guard.ANY


def _draft(run: StepRun, session_id: str) -> Handoff | None:
    """The draft that lies there, when it is this session's: written after the session began."""
    draft = draft_left(run)
    before = run.setting.before
    known = (*(before.row.generations if before else ()), *run.record.row.generations)
    began = min((each.started_at or "" for each in known if each.session_id == session_id), default="")
    if draft is None or iso(draft.written_at) < began:
        return None
    return Handoff.from_markdown(draft.text, run.step)
