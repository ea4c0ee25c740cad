"""The handoff under way, as the moves of one run share it: asked for, written, frozen, waiting to be launched.

A value that changes; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from flower_mcp.core.handoff import Handoff
from flower_mcp.core.writing import WritingVerdict
from flower_mcp.runtime.overflowing import Rewinding
from flower_mcp.runtime.signals import BackgroundTask
from flower_mcp.workbench.following import Seen

if TYPE_CHECKING:
    from flower_mcp.runtime.documents import Text


@dataclass(slots=True)
class Handing:
    """The handoff under way."""

    verdict: WritingVerdict | None = None
    asks: int = 0
    began: float = 0.0
    partial: Handoff = Handoff()  # noqa: RUF009  # frozen
    document: Text | None = None
    stopped: list[BackgroundTask] = field(default_factory=list)
    text: str = ""
    path: Path | None = None
    revision: str = ""
    frozen_at: float = 0.0
    why: str = ""
    launched: bool = False
    as_is: bool = False  # the person said: launch it as it stands
    chosen: Seen | None = None  # what was chosen when the window closed
    rewinding: Rewinding | None = None  # after an overflow

    def stop(self, tasks: Iterable[BackgroundTask]) -> None:
        """Take note of tasks that end with the session, each once: a handoff that had to wait is begun again."""
        new = {task.task_id: task for task in tasks}
        self.stopped = [task for task in self.stopped if task.task_id not in new] + [*new.values()]
