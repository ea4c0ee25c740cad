"""Moves that put the document to disk: freeze what the session wrote, or a document assembled by code.

Failing to write is never a reason to stop. The supervisor's own facts go into scene here. What a session did write is
kept, also when code has to fill in the rest.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import anyio

from flower_mcp.core.books import WrittenBy
from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.editing import EditMode, edit_section
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.events import Kind
from flower_mcp.core.facts import added
from flower_mcp.core.handoff import FIELDS, Handoff, degraded
from flower_mcp.core.masking import mask
from flower_mcp.core.runaway import are_thin
from flower_mcp.core.texts import used_text, window_text
from flower_mcp.core.writing import handed_on
from flower_mcp.runtime.documents import Text, freeze_text, state_of, text_given
from flower_mcp.runtime.facts import did_nothing, known
from flower_mcp.runtime.keeping import running
from flower_mcp.runtime.metering import SEED_SENTENCE, thin_sentence, worked
from flower_mcp.runtime.opening import start_within_budget
from flower_mcp.runtime.overflowing import end_fork
from flower_mcp.runtime.scene import add_to_scene, git_lines, running_lines, stopped_lines
from flower_mcp.runtime.step import MoveEnd, StepRun


async def freeze(run: StepRun) -> MoveEnd:
    """Freeze what the session, or a fork of it, wrote."""
    end_fork(run)
    verdict = run.handing.verdict
    if verdict is None or verdict.handoff is None:
        return await degrade(run)
    return await _freeze(run, verdict.handoff, verdict.written_by or WrittenBy.SESSION, verdict.why)


async def degrade(run: StepRun) -> MoveEnd:
    """Assemble a document from what is known, keep whatever the session did write, and freeze that."""
    end_fork(run)
    verdict = run.handing.verdict
    why = (verdict.why if verdict else None) or run.handing.why or "the session could not write"
    if run.session is not None:
        run.handing.stop(run.session.reader.tasks.values())
    given = text_given(run)
    passed = handed_on(given.handoff if given else None, why, did_nothing=given is not None and await did_nothing(run))
    if passed is not None and given is not None:
        return await _freeze(run, given.handoff, WrittenBy.BEFORE, passed.why, given.text)
    left = verdict.handoff if verdict and verdict.handoff else run.handing.partial
    assembled = added(degraded(run.step, run.words, why=why), await known(run))
    return await _freeze(run, _completed_by(assembled, left), WrittenBy.CODE, why)


def _completed_by(assembled: Handoff, partial: Handoff) -> Handoff:
    """The assembled document with what the session had written put in; where it wrote what is next, that counts."""
    written = replace(assembled, next="") if partial.next else assembled
    return replace(added(written, partial), extra=partial.extra)


async def _freeze(run: StepRun, handoff: Handoff, written_by: WrittenBy, why: str | None, given: str = "") -> MoveEnd:
    lines = [
        *([f"- a session that took this document over could not begin: {mask(why or '').text}"] if given else ()),
        *(run.handing.rewinding.ran if run.handing.rewinding else ()),
        *await git_lines(run.setting.workspace),
        *stopped_lines(run.handing.stopped),
        *running_lines(await anyio.to_thread.run_sync(running, run.run_id)),
    ]
    if given:  # not a rendering of it: what a person wrote between two sections is in its own text alone
        given = edit_section(given, "scene", add_to_scene("", lines), EditMode.APPEND)
    handoff = replace(handoff, step=run.step, scene=add_to_scene(handoff.scene, lines))
    run.late.notice()
    await run.record.until_free(partial(run.setting.books.lives.write_lock_path, run.step))
    document = freeze_text(run, handoff, given)
    run.late.frozen(document)
    _keep(run, document, written_by, why)
    run.handoffs += 1
    left = run.handoffs <= run.policy.max_generations
    if not left:
        run.record.change(error=_cap_sentence(run))
    elif are_thin(run.worked):
        run.record.change(error=thin_sentence(run))
        return Ending.FROZEN, Guard.THIN
    else:
        start_within_budget(run)
    return Ending.FROZEN, Guard.LEFT if left else Guard.NONE_LEFT


def _keep(run: StepRun, document: Text, written_by: WrittenBy, why: str | None) -> None:
    """Put a frozen document into the books and tell about it."""
    run.worked.append(worked(run))
    run.handing = replace(
        run.handing, text=document.text, path=document.path, revision=document.revision, frozen_at=time.time(),
        document=document, stopped=[], verdict=None, partial=Handoff(), why="", asks=0, launched=False,
        as_is=False, chosen=None, rewinding=None,
    )  # fmt: skip
    with run.record.together():
        run.record.generation(
            durable=True,
            path=None if document.path is None else str(document.path),
            frozen=document.revision,
            written_by=written_by,
            why=why,
        )
        run.record.document(state_of(document))
    may_be_draft = written_by in (WrittenBy.DRAFT, WrittenBy.REWOUND)
    if may_be_draft and (document.path is not None or run.setting.workbench is None):
        _remove_draft(run, document.handoff)
    run.windows.wrote(run.record.row.context, degraded=document.handoff.degraded)
    if document.handoff.degraded:
        run.record.error(f"交接降级({why})")
    elif why:
        run.record.error(f"交接({why})")
    run.record.event(
        Kind.HANDOFF,
        f"handoff written: {document.path or 'in memory'}",
        phase="done",
        context=run.record.row.context,
        estimated=run.record.live.context_estimated,
        window=run.policy.window,
        degraded=document.handoff.degraded,
        path=None if document.path is None else str(document.path),
        sections={name: getattr(document.handoff, name) for name in FIELDS},
        written_by=str(written_by),
        why=why,
        cost_usd=run.costs.total,
    )


def _remove_draft(run: StepRun, frozen: Handoff) -> None:
    """Remove the draft that was frozen, and none that was written since: nothing else has its words.

    One that stays is older than the next handoff turn, so it hurts nobody.
    """
    lives = run.setting.books.lives
    try:
        draft = lives.read_draft(run.step)
        if draft is None:
            return
        read = Handoff.from_markdown(draft.text, run.step)
        if replace(read, scene=frozen.scene) == frozen and frozen.scene.startswith(read.scene):
            lives.remove_draft(run.step, draft.revision)
    except (OSError, FlowerError) as error:
        run.record.say(f"the draft that was frozen could not be removed: {error}")


def _cap_sentence(run: StepRun) -> str:
    """The seed's sentence at the cap, with the figures."""
    tokens = ", ".join(used_text(each.tokens) for each in run.worked)
    floor = max((each.floor for each in run.worked), default=0)
    return (
        f"{run.policy.max_generations} handoffs in one run are the most; the last document is frozen and waits. "
        f"{SEED_SENTENCE}. "
        f"(The handoff line, {window_text(run.policy.at)}, is probably too near to what a session starts with, "
        f"{used_text(floor)}; tokens worked in each session: {tokens}.) "
        "Run flower again to go on from the document, or give a larger --window."
    )
