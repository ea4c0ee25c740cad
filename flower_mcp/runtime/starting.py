"""Starting a session's process: now, or ahead of time for a successor that has no prompt yet.

A successor's process may be started while its predecessor still writes (a prompt then reaches the model in a tenth of
a second instead of a quarter), and is used only if nothing happened meanwhile that it ought to have seen. One that is
not used is closed like any other session: it has been given no prompt, so it left no transcript.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from flower_mcp.core.failures import Outcome
from flower_mcp.runtime.gate import Gate
from flower_mcp.runtime.keeping import bundled_cli, prepare
from flower_mcp.runtime.options import Opening, firm_settings, options_for, session_environment
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.session import Session
from flower_mcp.runtime.trust import READ_CLAUDE_MD, held_back, left_out_note
from flower_mcp.workbench.files import make_home

if TYPE_CHECKING:
    from flower_mcp.runtime.step import StepRun


def build(run: StepRun, opening: Opening) -> Session:
    """Put a session together; nothing runs yet. Raises OSError when the keeper's files cannot be written."""
    reader = Reader()
    gate = Gate(reader, run.why_break, run.draft_is_complete, run.late.tell)
    environment = session_environment(run.spec, run.policy, run=run.run_id, environ=run.setting.environ)
    spec, workspace = run.spec, run.setting.workspace
    sources, out = held_back(spec, workspace, run.setting.environ, run.setting.known)
    if out:
        run.record.say(left_out_note(out))
        environment[READ_CLAUDE_MD] = "1"
        spec = replace(spec, setting_sources=sources)
    make_home(run.setting.run_dir)  # it may have been cleared away
    keeper = prepare(bundled_cli(), run.setting.run_dir, run_id=run.run_id, ours=environment)
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
    )


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
