"""Running a step in a test: the real supervisor in this process, the real CLI, the scripted model.

`Run` keeps the result and every event. Documents and prompts are named here once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from flower_mcp import AgentSpec, Event, HandoffPolicy, RetryPolicy, Runtime, StepResult
from flower_mcp.demo.model import Reply, Request, Source, Story, asks, each_session, text, tool
from tests.e2e.harness import MODEL

ASKED = "Write the handoff document now."
ASKED_AGAIN = "The handoff document is not complete"
TAKING_OVER = "You are taking over a task"
CUT_OFF = "This session was cut off"
TASK = "Port the test suite to pytest."

DOCUMENT = """## 现在在做 · Doing now

Porting tests/test_export.py, 3 of 7 done.

## 已定的事 · Decided

Fixtures, not classes, since the old setUp hides state.

## 走不通的 · Dead ends

pytest-mock: breaks the spies of test_batch.

## 下一步 · Next

Run pytest -q tests/test_export.py; port test_resume next.

## 现场 · Scene

tests/test_export.py
"""

is_asked = asks(ASKED)
is_asked_again = asks(ASKED_AGAIN)


def document(words: str = "", *, without: str = "") -> str:
    """The document with `words` in its dead ends; `without` leaves a whole section out, by its English name."""
    parts = DOCUMENT.replace("test_batch.", f"test_batch. {words}".rstrip()).split("## ")
    return "## ".join(part for part in parts if not without or f"· {without}" not in part.split("\n")[0])


def bash(command: str, **more: Any) -> Reply:
    """A message that runs a command."""
    return tool("Bash", command=command, description="a step", **more)


def prompt_of(request: Request) -> str:
    """The prompt that opened a session, or the last text in it."""
    return next((words for words in request.last_texts() if TAKING_OVER in words), request.last_text())


@dataclass(slots=True)
class Run:
    """One run of a step, with its events."""

    result: StepResult
    events: list[Event] = field(default_factory=list)

    def phases(self, kind: str = "handoff") -> list[str]:
        """The phases of one kind, in order."""
        return [str(event.payload["phase"]) for event in self.events if event.kind == kind and "phase" in event.payload]

    def of(self, kind: str, phase: str | None = None) -> list[Event]:
        """The events of a kind, and of a phase."""
        return [e for e in self.events if e.kind == kind and (phase is None or e.payload.get("phase") == phase)]


def spec(**changes: Any) -> AgentSpec:
    """The usual agent."""
    return AgentSpec(**{"model": MODEL, "permission_mode": "bypassPermissions", **changes})


def policy(**changes: Any) -> HandoffPolicy:
    """A window of 200,000 and no edit window."""
    return HandoffPolicy(**{"window": 200_000, "edit_window": 0, "write_timeout": 20, "drain_timeout": 20, **changes})


async def run_step(
    workspace: Path,
    prompt: str = TASK,
    *,
    agent: AgentSpec | None = None,
    handoff: HandoffPolicy | bool | None = None,
    fresh: bool = False,
    workbench: bool = True,
    during: Callable[[Runtime, Event], object] | None = None,
    limit: float = 120.0,
    step: str | None = None,
    review: bool = False,
    trust: bool = False,
    retry: RetryPolicy | None = None,
) -> Run:
    """Run a step to its end. `during` is called with each event, and may ask the runtime for things."""
    events: list[Event] = []

    def take(event: Event) -> None:
        events.append(event)
        if during is not None:
            during(runtime, event)

    chosen = policy() if handoff is None else handoff
    async with Runtime(
        workspace=workspace,
        run_dir=workspace.parent / "runs",
        handoff=chosen,
        workbench=workbench,
        retry=retry or RetryPolicy(base=0.05, cap=0.2),
        review=review,
        trust=trust,
    ) as runtime:
        with anyio.fail_after(limit):
            result = await runtime.run(agent or spec(), prompt, step=step, fresh=fresh, on_event=take)
    return Run(result, events)


def document_path(workspace: Path, step: str = "work") -> Path:
    """Where the current document lies."""
    return workspace / ".flower" / "notes" / f"交接-{step}.md"


def archived(workspace: Path) -> list[Path]:
    """The versions that were replaced, oldest first."""
    return sorted((workspace / ".flower" / "notes" / "archive" / "交接").glob("*.md"))


def manifest(workspace: Path) -> list[dict[str, Any]]:
    """The rows of the books."""
    rows: list[dict[str, Any]] = json.loads((workspace.parent / "runs" / "manifest.json").read_text())
    return rows


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def handing_over(*work: Reply, document_text: str = DOCUMENT) -> Story:
    """A session's script: its work in order, and the document when it is asked for."""
    return Story(list(work), branches=[(is_asked, text(document_text).at(156_000))])


def successor() -> Story:
    """A successor that finishes at once."""
    return Story([text("All ported.").at(20_000)], then=text("All ported, again.").at(20_100))


def two_sessions() -> Source:
    """A session that hands over at the line, and a successor that finishes."""
    return each_session(handing_over(bash("echo a").at(40_000), bash("echo b").at(155_000)), successor())
