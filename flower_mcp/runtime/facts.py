"""What the living session's transcript tells: facts for the request to write, and the content of a degraded document.

It decides nothing and writes nothing. What can hurt: the transcript lags behind the stream by a tenth of a second and
is complete only after a result, which both uses come after; a long one is parsed for a second or two, so that happens
in a thread, a line at a time; a file that cannot be read costs the facts and never the document.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import anyio

from flower_mcp.core.facts import fact_lines, found_out
from flower_mcp.core.handoff import Handoff
from flower_mcp.core.happened import Happened, happened, one_line
from flower_mcp.core.texts import render
from flower_mcp.runtime.look import transcript_of
from flower_mcp.runtime.scene import exists
from flower_mcp.runtime.signals import BackgroundTask
from flower_mcp.runtime.step import StepRun
from flower_mcp.workbench.transcripts import lines


async def happened_in(run: StepRun, session_id: str | None) -> Happened:
    """What the transcript of a session says; nothing when there is none."""
    path = transcript_of(run, session_id) if session_id else None
    if path is None:
        return Happened()
    try:
        return await anyio.to_thread.run_sync(lambda: happened(lines(path)))
    except OSError as error:
        run.record.error(f"the transcript could not be read: {error}")
        return Happened()


async def did_nothing(run: StepRun) -> bool:
    """Whether the living session's transcript is there and tells of no work at all."""
    path = transcript_of(run, run.record.row.session_id or "")
    if path is None:
        return False
    try:
        return not await anyio.to_thread.run_sync(lambda: happened(lines(path)))
    except OSError:
        return False


async def with_facts(run: StepRun, prompt: str) -> str:
    """A prompt that asks for the handoff, with what the supervisor knows and writers leave out, if anything.

    The facts stand behind the prompt: the requests before it, and so the prompt cache, stay as they are.
    """
    what = await happened_in(run, run.record.row.session_id)
    found = fact_lines(what, _task_lines(run))
    return f"{prompt}\n\n{render('facts', {'facts': chr(10).join(found)})}" if found else prompt


async def known(run: StepRun) -> Handoff:
    """What code can tell of a session that wrote no handoff."""
    what = await happened_in(run, run.record.row.session_id)
    gone = missing(run.setting.workspace, what.files)
    return found_out(what, gone=gone, known_tasks={task.task_id for task in run.handing.stopped})


def missing(workspace: Path, paths: Iterable[str]) -> frozenset[str]:
    """Those of the paths that lead nowhere; relative ones begin at the workspace."""
    return frozenset(path for path in paths if not exists(workspace / path))


def _task_lines(run: StepRun) -> list[str]:
    """Agents and shells that run now, and agents that were stopped since they did not end in time."""
    running = {} if run.session is None else run.session.reader.tasks
    stopped = [task for task in run.handing.stopped if task.is_agent and task.task_id not in running]
    return [
        *(f"- stopped before it had ended, {_told(task)}" for task in stopped),
        *(f"- still running, ends with this session, {_told(task)}" for task in running.values()),
    ]


def _told(task: BackgroundTask) -> str:
    command = f" ({one_line(task.command, 200)})" if task.command else ""
    return f"{'agent' if task.is_agent else 'shell'}: {one_line(task.description, 100)}{command}"
