"""What an earlier run of the step left: a living session, a document that waits, an id never begun, or nothing.

LiveStep is believed first, then the lineage; whether a session lives is asked of the disk (its transcript), never of
the books. Whatever does not fit stops nobody: the newest document is next best, then the task.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flower_mcp.core.books import Generation, State, iso
from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.events import Kind
from flower_mcp.runtime.documents import current_text
from flower_mcp.runtime.step import MoveEnd, StepRun
from flower_mcp.workbench.transcripts import find

OWED = "the handoff is still to be written"  # why a session has no document although it was asked for one


def is_born(run: StepRun, session_id: str | None) -> bool:
    """Whether the session has a transcript, so that it can be resumed."""
    return session_id is not None and transcript_of(run, session_id) is not None


def transcript_of(run: StepRun, session_id: str) -> Path | None:
    """Where the CLI keeps the session's transcript; None when there is none."""
    config, home = run.setting.environ.get("CLAUDE_CONFIG_DIR"), run.setting.environ.get("HOME")
    return find(session_id, config_dir=Path(config) if config else None, home=Path(home) if home else None)


async def look(run: StepRun) -> MoveEnd:
    """Find out how the step goes on, and take the person's words in."""
    _count_before(run)
    ending = _left_behind(run)
    run.record.change(resumed=ending is not Ending.NEW_TASK)
    _take_words(run, ending)
    return ending, Guard.ANY


def _left_behind(run: StepRun) -> Ending:
    """What is there to go on from."""
    before = run.setting.before
    if run.setting.fresh:
        return Ending.NEW_TASK
    last = before.row.generation if before else None
    if last is not None and last.frozen and current_text(run) is not None:  # no session after it was ever written down
        return Ending.WAITING_DOCUMENT
    session_id = (before.row.session_id if before else None) or _of_lineage(run)
    if is_born(run, session_id):
        run.record.change(session_id=session_id)
        writing = before is not None and before.state in (State.DRAINING, State.WRITING)
        run.owes_handoff = writing or (last is not None and last.why == OWED)
        return Ending.LIVING_SESSION
    if last is not None and _never_begun(last):
        run.next_id = last.session_id
    elif session_id is not None:
        run.record.event(Kind.ERROR, f"the session {session_id} has no transcript any more")
    has_document = current_text(run) is not None  # what is not known here was put away by now
    return Ending.WAITING_DOCUMENT if has_document else Ending.NEW_TASK


def _never_begun(generation: Generation) -> bool:
    """Whether the id was drawn and no message came."""
    return generation.context == 0 and generation.num_turns == 0


def _of_lineage(run: StepRun) -> str | None:
    """The session that the lineage names for the step, when it speaks of this workspace."""
    if not run.setting.is_known:
        return None
    lineage = run.setting.books.lineage.read()
    if lineage.workspace and lineage.workspace != str(run.setting.workspace):
        return None
    return lineage.steps.get(run.step)


def _take_words(run: StepRun, ending: Ending) -> None:
    """Keep what the person said, word for word, and know all of it."""
    words, workbench = run.setting.prompt, run.setting.workbench
    if workbench is None:
        run.words = words
        return
    if run.setting.fresh:
        workbench.documents.put_away(run.step)
    if run.setting.fresh or workbench.tasks.read(run.step) is None:
        if words:
            workbench.tasks.start(run.step, words)
    elif words and not (was_cut_off(run) and workbench.tasks.read(run.step) == words):
        workbench.tasks.add(run.step, words, by="flower", at=iso(time.time()))  # the same command again adds nothing
    run.words = workbench.tasks.read(run.step) or words


def _count_before(run: StepRun) -> None:
    """What earlier runs of this step used, since it last began afresh: turns and USD."""
    rows = [] if run.setting.fresh or not run.setting.is_known else list(_since_fresh(run.setting.rows, run.step))
    run.turns_before = sum(_number(row.get("num_turns"), int) for row in rows)
    run.spent_before = sum(_number(row.get("cost_usd"), float) for row in rows)
    for row in rows:
        for generation in row.get("generations") or ():
            if isinstance(generation, Mapping) and isinstance(generation.get("session_id"), str):
                run.costs.resume(generation["session_id"], _number(generation.get("cost_usd"), float))


def _since_fresh(rows: Iterable[Mapping[str, Any]], step: str) -> Iterable[Mapping[str, Any]]:
    """The step's rows since the last one that began with a first generation."""
    mine = [row for row in rows if row.get("step") == step]
    start = 0
    for index, row in enumerate(mine):
        if not row.get("resumed"):
            start = index
    return mine[start:]


def _number(value: object, kind: type[int] | type[float]) -> Any:
    return kind(value) if isinstance(value, int | float) and not isinstance(value, bool) else kind(0)


def was_cut_off(run: StepRun) -> bool:
    """Whether the run before ended without closing its books: killed, or the machine went down."""
    before = run.setting.before
    return before is not None and not before.state.ended and before.state is not State.IDLE
