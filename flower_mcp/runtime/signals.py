"""What a session tells its step: the SDK's messages, boiled down to what the step decides on.

Values only. Whatever is not here (partial text, unknown system messages) never reaches the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from flower_mcp.core.failures import Outcome
from flower_mcp.core.figures import Cost
from flower_mcp.core.meter import Meter


@dataclass(frozen=True, slots=True)
class Said:
    """Text of the main thread; never the CLI's own error texts."""

    text: str


@dataclass(frozen=True, slots=True)
class Used:
    """A tool call, of the main thread or of an agent (`by_agent`)."""

    tool: str
    tool_use_id: str
    input: Mapping[str, Any] = field(default_factory=dict)
    by_agent: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """The main thread's context changed."""

    meter: Meter


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn's result. `uuids` are the prompts that it took in; `ours` is false for a turn that the CLI injected."""

    outcome: Outcome
    uuids: tuple[str, ...] = ()
    ours: bool = True
    text: str = ""
    cost_usd: Cost | None = None
    messages: int = 0  # of the main thread


@dataclass(frozen=True, slots=True)
class Idle:
    """No turn is under way and no agent runs."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The CLI tries an API call again. `status` None: no answer at all."""

    attempt: int
    most: int
    status: int | None
    error: str


@dataclass(frozen=True, slots=True)
class Stuck:
    """The CLI goes round in circles in one turn: answers cut at the output limit, or streams that break, in a row."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Gone:
    """The process ended without having been closed."""

    outcome: Outcome


class What(StrEnum):
    """What a step is asked for from outside: a stop or a handoff at the next boundary, to launch what stands in the
    open window, or only to look again at what it waits for."""

    STOP = "stop"
    HANDOFF = "handoff"
    LAUNCH = "launch"
    LOOK = "look"


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody asks for something from outside."""

    what: What


Signal = Said | Used | Measured | TurnEnded | Idle | Retrying | Stuck | Gone | Asked


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """An agent or a shell that a session started. `kind` is the CLI's: local_agent, local_bash, …"""

    task_id: str
    kind: str
    description: str
    command: str | None = None
    output_file: str | None = None

    @property
    def is_agent(self) -> bool:
        """Whether it is an agent: agents are waited for, shells are not."""
        return "agent" in self.kind
