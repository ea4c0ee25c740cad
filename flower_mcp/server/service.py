"""What the tools, prompts and resources of one server share: the workbench, its steps, and who calls.

It knows the workbench and nothing of MCP. What can hurt: a server is started before anybody has said where to work, or
in a folder that is no workspace. It starts all the same, since a client shows a server that ends as "connection
closed" and no reason; then every call is answered with a sentence that says what to set, and nothing is made on disk.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from flower_mcp.core.books import LiveStep, State, StepResult, iso
from flower_mcp.core.errors import FlowerError
from flower_mcp.server.caller import Caller, find_caller, latest_session, tool_use_id
from flower_mcp.server.memo import Signature
from flower_mcp.server.steps import Steps
from flower_mcp.workbench.folders import current_folder
from flower_mcp.workbench.workbench import Workbench


class Service:
    """One server's workbench. `open_workbench` is asked until it answers; it raises FlowerError with what to set.

    `step` is the step of callers who name none, `environ` the variables of the process.
    """

    def __init__(
        self,
        open_workbench: Callable[[], Workbench],
        *,
        step: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._open = open_workbench
        self._step = step
        self._steps: Steps | None = None
        self.environ = os.environ if environ is None else environ
        self.writing = threading.Lock()  # held while this server writes a document, so that it knows its own writes
        self.written: dict[str, str] = {}  # step: the revision that this server wrote last
        self._begun: dict[str, Signature | None] = {}  # step: its live file, when it was last seen to have one

    @property
    def steps(self) -> Steps:
        """The workbench's steps. Raises FlowerError when there is no workbench to serve."""
        if self._steps is None:
            self._steps = Steps(self._open(), self._step)
        return self._steps

    @property
    def workbench(self) -> Workbench:
        """The workbench. Raises FlowerError when there is none to serve."""
        return self.steps.workbench

    def note(self, step: str, revision: str) -> None:
        """Remember what this server wrote. Called with `writing` held."""
        self.written[step] = revision

    def begin(self, step: str) -> None:
        """Keep the true name of a step that had no live state; a failure costs only that name."""
        workbench = self.workbench
        with suppress(FlowerError, OSError):
            signature = self.steps.live_signature(step)
            if signature is not None and self._begun.get(step) == signature:
                return
            if workbench.live(step) is None:
                document = self.steps.document(step)
                workbench.lives.begin(
                    LiveStep(
                        step,
                        State.IDLE,
                        StepResult(run="", step=step),
                        document=None if document is None else document.state(),
                        updated_at=iso(time.time()),
                    )
                )
            self._begun[step] = self.steps.live_signature(step)

    def caller(self, meta: Mapping[str, Any] | None) -> Caller | None:
        """The Claude Code session that sent a request with this `_meta`; None for anybody else. May take 0.8 s."""
        use = tool_use_id(meta)
        return self._with_window(find_caller(use, self._places(), self.environ)) if use else None

    def session(self) -> Caller | None:
        """The Claude Code session at work here, for a request that does not say which one sends it."""
        if not self.environ.get("CLAUDECODE"):
            return None
        return self._with_window(latest_session(self._places(), self.environ))

    def _places(self) -> tuple[Path, ...]:
        """The folders in which the calling session may have been started."""
        given = self.environ.get("CLAUDE_PROJECT_DIR")
        places = [Path(given)] if given else []
        with suppress(FlowerError):
            places.append(self.workbench.workspace)
        here = current_folder()
        return (*places, *(() if here is None else (here,)))

    def _with_window(self, caller: Caller | None) -> Caller | None:
        """The same with the window that the supervisor knows, when it runs that session."""
        if caller is None:
            return None
        with suppress(FlowerError):
            for known in self.steps.all():
                if not known.state.ended and known.state is not State.IDLE:
                    live = self.workbench.live(known.step)
                    if live is not None and live.row.session_id == caller.session_id and live.row.window:
                        return replace(caller, window=live.row.window, window_source=live.row.window_source)
        return caller
