"""Starting a session's process: now, or ahead of time for a successor that has no prompt yet.

A successor's process may be started while its predecessor still writes (a prompt then reaches the model in a tenth of
a second instead of a quarter), and is used only if nothing happened meanwhile that it ought to have seen. One that is
not used is closed like any other session: it has been given no prompt, so it left no transcript. What can hurt: its
budget is that of its start, so with one it is started only when the handoff turn has been paid for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from flower_mcp.core.errors import FilesError
from flower_mcp.core.failures import Outcome
from flower_mcp.core.meter import Left, Meter
from flower_mcp.core.policy import RetryPolicy
from flower_mcp.core.transcript import COST_STATE, left_in, saved_cost
from flower_mcp.runtime.gate import Gate
from flower_mcp.runtime.keeping import Keeper, bundled_cli, prepare
from flower_mcp.runtime.options import Opening, firm_settings, options_for, session_environment
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.session import Session
from flower_mcp.runtime.trust import READ_CLAUDE_MD, held_back, left_out_note
from flower_mcp.runtime.watchdog import Watchdog
from flower_mcp.workbench.files import make_home
from flower_mcp.workbench.transcripts import lines_backwards
from flower_mcp.workbench.windows import state_folder

if TYPE_CHECKING:
    from flower_mcp.runtime.step import StepRun


def build(run: StepRun, opening: Opening) -> Session:
    """Put a session together; nothing runs yet. Raises OSError or FilesError when the keeper's files find no place."""
    reader = Reader(Meter.resumed(left_of(run, opening)))
    _take_saved_cost(run, opening)
    gate = Gate(reader, run.why_break, run.draft_is_complete, run.tell)
    environment = session_environment(run.spec, run.policy, run=run.run_id, environ=run.setting.environ)
    spec, workspace = run.spec, run.setting.workspace
    sources, out = held_back(spec, workspace, run.setting.environ, run.setting.known)
    if out:
        run.record.say(left_out_note(out))
        environment[READ_CLAUDE_MD] = "1"
        spec = replace(spec, setting_sources=sources)
    keeper = _keeper(run, environment)
    return Session(
        opening.session_id,
        reader=reader,
        gate=gate,
        keeper=keeper,
        options=lambda stderr: options_for(
            spec,
            opening,
            workspace=workspace,
            add_dirs=(workspace,) if out else (),
            keeper=keeper,
            gate=gate,
            can_use_tool=run.permissions.callback,
            mcp_server=run.setting.mcp_server,
            settings=firm_settings(environment, run.setting.environ),
            stderr=stderr,
        ),
        send=run.receive_from,
        watchdog=Watchdog(reader, (run.setting.retry or RetryPolicy()).stall, lambda: run.permissions.pending > 0),
    )


def _keeper(run: StepRun, environment: Mapping[str, str]) -> Keeper:
    """A keeper with its private files in the run folder, or elsewhere when the disk refuses them there."""
    refused: Exception | None = None
    for folder in keeper_folders(run):
        try:
            if folder is run.setting.run_dir:
                make_home(folder)  # it may have been cleared away
            return prepare(bundled_cli(), folder, run_id=run.run_id, ours=environment)
        except (OSError, FilesError) as error:
            refused = refused or error
    assert refused is not None, "there are folders"
    raise refused


def keeper_folders(run: StepRun) -> tuple[Path, ...]:
    """Where keepers' private files may lie, the usual place first."""
    return (run.setting.run_dir, state_folder(run.setting.environ), Path(tempfile.gettempdir()))


def left_of(run: StepRun, opening: Opening) -> Left | None:
    """What a session that is resumed had carried, from its transcript; None for a new one."""
    from flower_mcp.runtime.look import transcript_of

    path = transcript_of(run, opening.session_id) if opening.resume else None
    return None if path is None else left_in(lambda: lines_backwards(path))


def _take_saved_cost(run: StepRun, opening: Opening) -> None:
    """Let a resumed session's cost go on from the total at which the CLI itself goes on."""
    from flower_mcp.runtime.look import transcript_of

    path = transcript_of(run, opening.session_id) if opening.resume else None
    saved = None if path is None else saved_cost(lines_backwards(path, having=COST_STATE), opening.session_id)
    if saved is not None:
        run.costs.saved(opening.session_id, saved)


class Spare:
    """A successor's process, started ahead of its prompt in the step's task group."""

    def __init__(self, session: Session, opening: Opening) -> None:
        self.session = session
        self.opening = opening
        self._known = anyio.Event()
        self._failure: Outcome | None = None

    def start(self, tasks: TaskGroup) -> None:
        """Begin to connect, without waiting."""
        tasks.start_soon(self._start, tasks)

    async def _start(self, tasks: TaskGroup) -> None:
        self._failure = await tasks.start(self.session.run)
        self._known.set()

    async def ready(self) -> Session | None:
        """The session once it is connected; None when it could not be."""
        await self._known.wait()
        return self.session if self._failure is None and self.session.alive else None
