"""What an earlier run of the step left: a living session, a document that waits, an id never begun, or nothing.

LiveStep is believed first, then the lineage; whether a session lives is asked of the disk (its transcript), never of
the books. Whatever does not fit stops nobody: the newest document is next best, then the task.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flower_mcp.core.books import OWED, Generation, State, iso
from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.errors import FlowerError
from flower_mcp.runtime.costs import unknown_before
from flower_mcp.runtime.documents import current_text, put_away
from flower_mcp.runtime.lost import GONE, has_worked, without_transcript
from flower_mcp.runtime.person import begin_words, known_words
from flower_mcp.runtime.step import MoveEnd, StepRun
from flower_mcp.runtime.taking import say_taken
from flower_mcp.workbench.tasks import By
from flower_mcp.workbench.transcripts import find

REFUSED = "the CLI refused to go on with it"  # why a session is not resumed although it has a transcript
_ENTRY = re.compile(rf"(?:^|\n)## \S+Z · ({'|'.join(By)})\n\n")


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
    if run.setting.fresh:
        _begin_afresh(run)
    else:
        _take_words(run, ending)
    run.hearing.look()
    if ending is Ending.WAITING_DOCUMENT:
        say_taken(run)
    return ending, Guard.ANY


def _begin_afresh(run: StepRun) -> None:
    """Take the new task in, and put away what was there.

    The first session's id is written down in between. So whoever is killed here has either not begun, or the next run
    begins with the new task: it finds an id that was never born.
    """
    run.words = known_words(run) or ""
    run.hearing.put_away()
    begin_words(run, run.setting.prompt)
    run.next_id = str(uuid.uuid4())
    run.record.begin_generation(1, run.next_id)
    put_away(run)


def _left_behind(run: StepRun) -> Ending:
    """What is there to go on from."""
    before = run.setting.before
    if run.setting.fresh:
        return Ending.NEW_TASK
    last = before.row.generation if before else None
    in_memory = last is not None and last.frozen is not None and last.path is None  # the disk never took the document
    if last is not None and last.frozen and not in_memory and current_text(run) is not None:  # and no session after it
        return Ending.WAITING_DOCUMENT
    session_id = (before.row.session_id if before else None) or _of_lineage(run)
    refused = last is not None and last.session_id == session_id and last.why == REFUSED
    if is_born(run, session_id) and not refused:
        run.record.change(session_id=session_id)
        writing = before is not None and before.state.hands_over
        run.owes_handoff = writing or in_memory or (last is not None and last.why == OWED)
        return Ending.LIVING_SESSION
    if last is not None and session_id == last.session_id and has_worked(run, last):
        why = REFUSED if refused else GONE
        run.record.say(f"the session {session_id} cannot be resumed: {why}")
        return without_transcript(run, last, why)
    if last is not None and not refused:
        run.next_id = last.session_id
        if _was_to_be_put_away(run, last):
            put_away(run)
            return Ending.NEW_TASK
    elif session_id is not None and not refused:
        best = "the document" if current_text(run) is not None else "the task"
        run.record.say(f"the session {session_id} cannot be resumed: {GONE}; it starts from {best}")
    has_document = current_text(run) is not None  # what is not known here was put away by now
    return Ending.WAITING_DOCUMENT if has_document else Ending.NEW_TASK


def _was_to_be_put_away(run: StepRun, first: Generation) -> bool:
    """Whether the document is older than a run that began with a task, and was killed before its first session."""
    before, workbench = run.setting.before, run.setting.workbench
    if first.n != 1 or before is None or before.row.resumed or workbench is None:
        return False
    with suppress(OSError, FlowerError):  # one that cannot be read is said where it would be used
        document = workbench.read(run.step)
        return document is not None and iso(document.written_at) < (before.row.started_at or "")
    return False


def _of_lineage(run: StepRun) -> str | None:
    """The session that the lineage names for the step, when it speaks of this workspace."""
    if not run.setting.is_known:
        return None
    lineage = run.setting.books.lineage.read()
    if run.step in lineage.steps and lineage.workspace not in ("", str(run.setting.workspace)):
        run.record.say(f"{run.setting.books.lineage.path} is about another workspace, {lineage.workspace}: not used")
        return None
    return lineage.steps.get(run.step)


def _take_words(run: StepRun, ending: Ending) -> None:
    """Keep what the person said, word for word, and know all of it."""
    words = run.setting.prompt
    run.words = known_words(run) or ""
    if run.words:
        run.hearing.look()  # what a killed run left in the inbox was said before
    if not run.words and ending is Ending.NEW_TASK:
        if words:
            begin_words(run, words)
    elif words and not (_never_ended(run) and _are_the_last(words, run.words)):
        run.hearing.add(words, By.FLOWER)


def _never_ended(run: StepRun) -> bool:
    """Whether the run before was killed, be it before its first session."""
    before = run.setting.before
    return before is not None and bool(before.row.run) and not before.state.ended


def _are_the_last(words: str, known: str) -> bool:
    """Whether these words are what was said last with a command: the same command again adds nothing.

    What was said in another way since does not count: whoever types the command again has only seen it end.
    """
    first, *later = _ENTRY.split(known)
    commands = [first, *(text for by, text in zip(later[::2], later[1::2], strict=True) if by == By.FLOWER)]
    return commands[-1].rstrip("\n") == words.rstrip("\n")


def _count_before(run: StepRun) -> None:
    """What earlier runs of this step used, since it last began afresh: turns and USD."""
    rows = [] if run.setting.fresh or not run.setting.is_known else list(_since_fresh(run.setting.rows, run.step))
    run.turns_before = sum(_number(row.get("num_turns"), int) for row in rows)
    run.spent_before = sum(_number(row.get("cost_usd"), float) for row in rows)
    if run.spec.max_budget_usd is not None and unknown_before(rows):
        run.record.say("the cost of an earlier run is not known, so the budget does not count it")
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
