"""flower-mcp: hands a long Claude task from one session to the next through a document that a person can edit.

The public names, imported on demand: importing the package costs nothing, and neither mcp nor claude_agent_sdk is
imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flower_mcp.core.books import StepResult
    from flower_mcp.core.events import Event
    from flower_mcp.core.handoff import DEGRADED, Handoff, degraded
    from flower_mcp.core.overflow import is_overflow
    from flower_mcp.core.policy import AgentSpec, CompactPolicy, HandoffPolicy, RetryPolicy
    from flower_mcp.runtime.runtime import Runtime
    from flower_mcp.workbench.windows import default_window
    from flower_mcp.workbench.workbench import Workbench

    HANDOFF_PROMPT: str

_HOMES = {
    "Runtime": "flower_mcp.runtime.runtime",
    "AgentSpec": "flower_mcp.core.policy",
    "HandoffPolicy": "flower_mcp.core.policy",
    "CompactPolicy": "flower_mcp.core.policy",
    "RetryPolicy": "flower_mcp.core.policy",
    "StepResult": "flower_mcp.core.books",
    "Event": "flower_mcp.core.events",
    "Handoff": "flower_mcp.core.handoff",
    "HANDOFF_PROMPT": "flower_mcp.core.texts",
    "DEGRADED": "flower_mcp.core.handoff",
    "degraded": "flower_mcp.core.handoff",
    "default_window": "flower_mcp.workbench.windows",
    "is_overflow": "flower_mcp.core.overflow",
    "Workbench": "flower_mcp.workbench.workbench",
}

__all__ = [
    "DEGRADED",
    "HANDOFF_PROMPT",
    "AgentSpec",
    "CompactPolicy",
    "Event",
    "Handoff",
    "HandoffPolicy",
    "RetryPolicy",
    "Runtime",
    "StepResult",
    "Workbench",
    "default_window",
    "degraded",
    "is_overflow",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name from its home when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
