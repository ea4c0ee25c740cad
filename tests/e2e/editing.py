"""A person at work in tests: saves at given moments, in a thread, and what became of them; and a run by hand."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flower_mcp import AgentSpec, Event, Handoff, HandoffPolicy, Runtime, StepResult, Workbench
from flower_mcp.core.books import WrittenBy
from flower_mcp.core.policy import WindowSource
from flower_mcp.demo.model import Request, ScriptedModel, Story, each_session, text
from flower_mcp.runtime.documents import Text, freeze_text
from flower_mcp.runtime.freezing import _keep
from flower_mcp.runtime.record import Books
from flower_mcp.runtime.step import Setting, StepRun
from flower_mcp.workbench.ledger import Lineage, Manifest
from tests.e2e.steps import TAKING_OVER, Run, bash, document_path, handing_over

NEXT = "port test_resume next"
EDITED = "port test_batch FIRST"


def story(model: ScriptedModel, *, work: int = 1, seconds: float = 0.0) -> None:
    """A session that hands over, and one that does `work` commands of `seconds` each and is done."""
    pause = f"sleep {seconds}; echo goes on" if seconds else "echo goes on"
    first = handing_over(bash("echo one").at(40_000), bash("echo two").at(155_000))
    last = Story([*[bash(pause).at(30_000 + number) for number in range(work)], text("All ported.").at(31_000)])
    model.script = each_session(first, last)


def replace_words(path: Path, old: str = NEXT, new: str = "port test_batch FIRST") -> None:
    """What an editor does that writes in place."""
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new), encoding="utf-8")


def opening_of(model: ScriptedModel, session: str | None) -> Request:
    """The first request of a session."""
    return next(request for request in model.requests if request.session == session and request.asks(TAKING_OVER))


def last_of(model: ScriptedModel, session: str | None) -> Request:
    """The last request of a session: it carries all that the session was told."""
    return [request for request in model.requests if request.session == session][-1]


def live(workspace: Path, step: str = "work") -> dict[str, Any]:
    """The step's live state as it lies on disk; empty before it is there."""
    try:
        state: dict[str, Any] = json.loads((workspace / ".flower" / "live" / f"{step}.json").read_text())
    except FileNotFoundError:
        return {}
    return state


def at_open(act: Callable[[Path], object], workspace: Path) -> Callable[[Runtime, Event], None]:
    """For run_step's `during`: act once, when the window opens."""
    done: list[bool] = []

    def during(_runtime: Runtime, event: Event) -> None:
        if event.kind == "edit" and event.payload.get("phase") == "open" and not done:
            done.append(True)
            act(document_path(workspace))

    return during


@dataclass
class Person:
    """Does things in a thread of its own, each after its moment; `close` waits for it and raises what went wrong."""

    errors: list[BaseException] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def does(self, *acts: Callable[[], object]) -> None:
        """Begin to do these, one after the other."""

        def run() -> None:
            try:
                for act in acts:
                    act()
            except BaseException as error:  # noqa: BLE001  # told in the test's own thread
                self.errors.append(error)

        thread = threading.Thread(target=run)
        self.threads.append(thread)
        thread.start()

    def close(self) -> None:
        """Wait until all is done."""
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()
        if self.errors:
            raise self.errors[0]


def wait(predicate: Callable[[], object], limit: float = 60.0) -> Callable[[], None]:
    """An act: look until it holds."""

    def act() -> None:
        end = time.monotonic() + limit
        while not predicate():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.005)

    return act


def pause(seconds: float) -> Callable[[], None]:
    """An act: let time go by, since the time itself is what is tested."""
    return lambda: time.sleep(seconds)


def idle_run(workspace: Path, run_dir: Path, policy: HandoffPolicy) -> StepRun:
    """A run of step `work` whose first session is written down and never started, to drive parts of it by hand."""
    workbench = Workbench(workspace)
    run_dir.mkdir(exist_ok=True)
    setting = Setting(
        workspace=workspace,
        run_dir=run_dir,
        spec=AgentSpec(),
        prompt="x",
        books=Books(workbench.lives, Manifest(run_dir), Lineage(run_dir, str(workspace))),
        workbench=workbench,
    )
    run = StepRun(setting, policy, WindowSource.SET, StepResult("run", "work"), None)
    run.record.begin_generation(1, "one")
    run.late.begin()
    return run


def close(run: StepRun) -> None:
    """Close what an idle run holds open."""
    run._send.close()
    run._inbox.close()


def freeze(run: StepRun, handoff: Handoff) -> Text:
    """Freeze a document as the run's own move does."""
    run.late.notice()
    frozen = freeze_text(run, handoff)
    run.late.frozen(frozen)
    _keep(run, frozen, WrittenBy.SESSION, None)
    return frozen


def phases(run: Run) -> list[str]:
    """The phases of the edit window, in order."""
    return run.phases("edit")


def elsewhere(workspace: Path, words: str) -> None:
    """Say something from another process."""
    code = f"from flower_mcp import Workbench; holds = Workbench({str(workspace)!r}).holds; {words}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def without_next(path: Path) -> None:
    """Take the content of Next out of a document."""
    content = path.read_text(encoding="utf-8")
    head, _, rest = content.partition("## 下一步 · Next\n")
    path.write_text(head + "## 下一步 · Next\n\n" + rest[rest.index("## 现场") :], encoding="utf-8")
