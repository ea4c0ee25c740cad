"""The supervisor: runs steps, each at most once at a time, and puts their parts together.

The public face of runtime. It reads what earlier runs left under the step's run lock, builds the step's setting, and
lets `StepRun` do the rest. It must not decide anything about a step that runs.
"""

from __future__ import annotations

import inspect
import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from flower_mcp.core.books import LiveStep, State, StepResult, as_json
from flower_mcp.core.errors import Busy, FilesError, FlowerError, NothingThere, Usage
from flower_mcp.core.events import Place
from flower_mcp.core.failures import LATER
from flower_mcp.core.policy import AgentSpec, HandoffPolicy, RetryPolicy, WindowSource
from flower_mcp.runtime.before import carried
from flower_mcp.runtime.hearing import forget_requests
from flower_mcp.runtime.permissions import Asker
from flower_mcp.runtime.present import Present, present_of
from flower_mcp.runtime.record import Books, OnEvent
from flower_mcp.runtime.signals import What
from flower_mcp.runtime.step import Setting, StepRun
from flower_mcp.runtime.trust import Belief, claim
from flower_mcp.workbench.files import make_home
from flower_mcp.workbench.folders import expanded
from flower_mcp.workbench.holds import Holds
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.ledger import Lineage, Manifest
from flower_mcp.workbench.live import Live
from flower_mcp.workbench.locks import IN_A_LOOP, RunLock
from flower_mcp.workbench.owed import refusal
from flower_mcp.workbench.tasks import By
from flower_mcp.workbench.windows import default_window
from flower_mcp.workbench.workbench import Workbench


class Runtime:
    """Runs steps in one workspace. An async context manager; several steps may run at once, each once.

    `workspace` is a folder that exists. `run_dir` (books) is relative to the current folder. `workbench=False`: no
    document on disk, handed on through the prompt alone. `handoff` and `retry` take a policy or a bool. `mcp_server` is
    a low-level MCP server that sessions get, in process, under the name `flower`. `ask` answers permission questions;
    without it nobody is there. `review` holds at every handoff, until `release`. `trust`: the steps' files and the
    workspace's settings for Claude Code are believed, whoever wrote them. Raises Usage for a workspace or a run_dir
    that cannot be used.
    """

    def __init__(
        self,
        *,
        workspace: str | Path,
        run_dir: str | Path = "runs",
        workbench: bool = True,
        handoff: bool | HandoffPolicy = True,
        retry: bool | RetryPolicy = True,
        mcp_server: Any | None = None,
        ask: Asker | None = None,
        review: bool = False,
        trust: bool = False,
    ) -> None:
        self.workspace = _workspace(workspace)
        self.run_dir = _run_dir(run_dir, self.workspace)
        self.policy = handoff if isinstance(handoff, HandoffPolicy) else HandoffPolicy(enabled=bool(handoff))
        self._retry = retry if isinstance(retry, RetryPolicy) else (RetryPolicy() if retry else None)
        self._notes: list[str] = []
        self._workbench = Workbench(self.workspace, say=self._notes.append, patience=IN_A_LOOP) if workbench else None
        self._lives = (
            self._workbench.lives
            if self._workbench
            else Live(self.run_dir / "live", home=self.run_dir, say=self._notes.append, patience=IN_A_LOOP)
        )
        self._mcp_server = mcp_server
        self._ask = ask
        self._review = review
        self._trust = trust
        self._known = Known(say=self._notes.append)
        self._holds = Holds(self._lives)
        self._running: dict[str, StepRun] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left open here: every run closes what it opened, also when it is cancelled."""

    async def run(
        self,
        spec: AgentSpec,
        prompt: str = "",
        *,
        step: str | None = None,
        fresh: bool = False,
        on_event: OnEvent | None = None,
    ) -> StepResult:
        """Run a step to its end and answer its row.

        An earlier run of the step is gone on with: its living session is resumed and told `prompt` (empty: just go on),
        or a document that waits is launched. `fresh` moves what was there into the archive and starts with `prompt`.
        `on_event` is a plain function, called in order with each Event. Raises Busy when the step runs already, Usage
        for what cannot be run; failures of the world are in the row.
        """
        if on_event is not None and inspect.iscoroutinefunction(on_event):
            raise Usage(
                "on_event must be a plain function; it is called from the event loop and must not block.",
                next="Give a function made with def, not with async def.",
            )
        spec = spec.named(step or spec.name)
        prompt = prompt if prompt.strip() else ""
        if spec.name in self._running:
            raise Busy(spec.name, f"in this process, pid {os.getpid()}")
        lock = self._lives.run_lock(spec.name)
        if not self._acquired(lock):
            raise Busy(spec.name, _holder(self._lives.read(spec.name)))
        try:
            run, notes = self._prepared(spec, prompt, fresh, on_event, lock.keep if lock.is_ours else _nothing_to_keep)
            self._running[spec.name] = run
            for note in notes:
                run.record.say(note)
            return await run.run()
        finally:
            self._running.pop(spec.name, None)
            lock.release()

    def stop(self, step: str | None = None) -> None:
        """Ask a running step (or all of them) to stop at its next message boundary, 10 s from now at most."""
        for run in self._chosen(step):
            run.ask(What.STOP)

    def say(self, text: str, step: str | None = None, *, by: By = By.SAY) -> None:
        """Say something to a running step (or to all of them): its session is told with its next request.

        The words are kept in the task's file, so that every later session gets them. Raises NothingThere when no such
        step runs here: nobody would hear it.
        """
        chosen = self._chosen(step)
        if not chosen:
            raise NothingThere(
                "Nothing runs here that could be told.",
                kept="Nothing was said.",
                next="Start a step first: Runtime.run",
            )
        for run in chosen:
            run.hearing.add(text, by)
            run.wake()

    def hand_off(self, step: str | None = None) -> None:
        """Ask a running step (or all of them) for a handoff at its next message boundary."""
        for run in self._chosen(step):
            run.ask(What.HANDOFF)

    def hold(self, step: str | None = None) -> None:
        """Keep the successor of a running step (or of all of them) from starting, until `release`."""
        for name in self._named(step):
            self._holds.hold(name, "the run's own terminal")
        self._wake(step)

    def release(self, step: str | None = None, *, as_is: bool = False) -> None:
        """Let the successor start; `as_is` launches what stands in the document, whatever is wrong with it."""
        for name in self._named(step):
            self._holds.release(name, as_is=as_is)
        self._wake(step)

    def launch_now(self, step: str | None = None) -> None:
        """Close the edit window of a running step (or of all of them), and launch what stands in the document."""
        for run in self._chosen(step):
            run.ask(What.LAUNCH)

    def place(self, step: str) -> Place | None:
        """Where in the books a running step stands: what a line about it carries. None when it does not run here."""
        run = self._running.get(step)
        return None if run is None else run.record.place

    def present(self, step: str) -> Present | None:
        """What a step is doing at this instant. None when it does not run here."""
        run = self._running.get(step)
        return None if run is None else present_of(run)

    def _acquired(self, lock: RunLock) -> bool:
        """Take the run lock. On a disk that takes no lock file the step runs without one, and that is said."""
        try:
            return lock.acquire()
        except FilesError as error:
            if refusal(error) is None:
                raise
            self._notes.append(f"{error} Without it, nothing keeps a second flower from running this step.")
            return True

    def _named(self, step: str | None) -> list[str]:
        return [*self._running] if step is None else [step]

    def _wake(self, step: str | None) -> None:
        for run in self._chosen(step):
            run.wake()

    def _chosen(self, step: str | None) -> list[StepRun]:
        return [run for name, run in self._running.items() if step in (None, name)]

    def _prepared(
        self, spec: AgentSpec, prompt: str, fresh: bool, on_event: OnEvent | None, keep_lock: Callable[[], bool]
    ) -> tuple[StepRun, tuple[str, ...]]:
        """Read what earlier runs left, and put a run together, with what was noticed. The run lock is held."""
        with suppress(FilesError):  # what cannot be written there is said when it is written
            make_home(self.run_dir)
        lineage_file = Lineage(self.run_dir, str(self.workspace), IN_A_LOOP)
        books = Books(self._lives, Manifest(self.run_dir, IN_A_LOOP), lineage_file)
        lineage = books.lineage.read()
        belief = self._belief(spec.name, prompt, fresh)
        with suppress(FlowerError):
            forget_requests(self._lives, spec.name)
        before = self._lives.read(spec.name, owner=True)
        if before is None and self._lives.is_newer(spec.name):
            raise FilesError(
                f"What is known of the step {spec.name!r} was written by a newer flower-mcp.",
                kept="Nothing was changed.",
                next="Update flower-mcp, or use another step: --step NAME",
            )
        rows, notes = _rows(books)
        lacking = _lacking(before, rows) if belief.known else None
        in_lineage = belief.known and spec.name in lineage.steps and lineage.workspace in ("", str(self.workspace))
        something = not fresh and (before is not None or in_lineage or self._has_document(spec.name))
        if not prompt and not something:
            raise Usage("There is nothing to go on with: give a task.", next="Give one: flower 'TASK'")
        environ = {**os.environ, **spec.env, **({"ANTHROPIC_MODEL": spec.model} if spec.model else {})}
        source = WindowSource.SET if self.policy.window_given else WindowSource.GUESSED
        policy = self.policy if self.policy.window_given else self.policy.with_window(default_window(environ))
        wake = lineage.woke + 1 if in_lineage and not fresh else None
        setting = Setting(
            workspace=self.workspace,
            run_dir=self.run_dir,
            spec=spec,
            prompt=prompt,
            books=books,
            workbench=self._workbench,
            retry=self._retry,
            fresh=fresh,
            before=carried(before, rows) if belief.known else before,
            rows=_with(rows, lacking),
            mcp_server=self._mcp_server,
            ask=self._ask,
            environ=environ,
            review=self._review,
            keep_lock=keep_lock,
            wake=wake,
            known=self._known,
            is_known=belief.known,
            unknown=belief.document,
        )
        row = StepResult(run=str(uuid.uuid4()), step=spec.name, window=policy.window, window_source=str(source))
        run = StepRun(setting, policy, source, row, on_event)
        if lacking is not None:
            run.record.mend(lacking)
        if before is not None and before.row.session_id:
            run.record.remember(before.row.session_id)
        if in_lineage and not fresh:
            run.record.wake()
        noticed = (*([belief.note] if belief.note else []), *self._notes, *notes, *lineage.notes)
        self._notes.clear()
        return run, noticed

    def _belief(self, step: str, prompt: str, fresh: bool) -> Belief:
        """Make the step this machine's, and learn what counts of what lies there. Raises Usage, FilesError."""
        if self._trust:
            self._known.trust(self.workspace)
            self._known.remember(self.workspace, step)
        return claim(self.workspace, self._workbench, self._lives, self._known, step, prompt=prompt, fresh=fresh)

    def _has_document(self, step: str) -> bool:
        return self._workbench is not None and self._workbench.documents.path(step).exists()


def _nothing_to_keep() -> bool:
    """In place of a look at the run lock, where the disk takes none."""
    return True


def _workspace(given: str | Path) -> Path:
    path = expanded(given)
    if not path.exists():
        raise Usage(f"The workspace {path} does not exist.", next="Make it, or name another one: --workspace DIR")
    if not path.is_dir():
        raise Usage(f"The workspace {path} is not a folder.", next="Name a folder: --workspace DIR")
    return path.resolve()


def _run_dir(given: str | Path, workspace: Path) -> Path:
    path = expanded(given).absolute()
    lies_within, is_within = (
        workspace in (each, *each.parents) for each in (Path(os.path.normpath(path)), path.resolve())
    )
    if lies_within and not is_within:
        raise Usage(
            f"The run folder {path} is a link that leads out of the workspace, to {path.resolve()}.",
            kept="Nothing was written.",
            next="Remove the link, or name the folder that it leads to: --run-dir DIR",
        )
    if path.is_symlink() and not path.exists():
        raise FilesError(
            f"The run folder {path} is not a folder: it is a link that leads nowhere.",
            kept="Nothing was written.",
            next="Remove the link, or use another folder: --run-dir DIR",
        )
    nearest = next(parent for parent in (path, *path.parents) if parent.exists())
    if not nearest.is_dir():
        raise Usage(f"The run folder {path} cannot be made: {nearest} is not a folder.", next="Use --run-dir DIR")
    if not os.access(nearest, os.R_OK | os.W_OK | os.X_OK):
        raise Usage(f"The run folder {path} cannot be read and written.", next="Use another one: --run-dir DIR")
    return path


def _holder(live: LiveStep | None) -> str:
    """Who runs a step, as far as its live state tells."""
    if live is None or live.supervisor is None:
        return "another process"
    since = live.supervisor.since[:19].replace("T", " ")  # seconds are enough for people
    return f"pid {live.supervisor.pid} on {live.supervisor.host}, since {since} UTC"


def _lacking(before: LiveStep | None, rows: tuple[Mapping[str, Any], ...]) -> StepResult | None:
    """The row of the run before, when the manifest has not got it as it ended; None when nothing is lacking.

    A run that was killed has not ended its row, and one whose disk refused could not put it there.
    """
    if before is None or not before.row.run:  # a server's own entry for a step that never ran has no run
        return None
    if not before.state.ended:
        why = before.row.error or f"The supervisor ended without closing its books. {LATER}"
        return replace(before.row.ended_in(before.state), state=State.STOPPED, error=why)
    known = next((row for row in rows if row.get("run") == before.row.run), None)
    return None if known is not None and known.get("ended_at") == before.row.ended_at else before.row


def _with(rows: tuple[Mapping[str, Any], ...], row: StepResult | None) -> tuple[Mapping[str, Any], ...]:
    """The rows as they are once this one is among them."""
    if row is None:
        return rows
    others = tuple(other for other in rows if other.get("run") != row.run)
    return (*others, as_json(row))


def _rows(books: Books) -> tuple[tuple[Mapping[str, Any], ...], tuple[str, ...]]:
    """The manifest's rows; what is wrong with the file is told when it is next written."""
    try:
        return books.manifest.rows(), ()
    except (OSError, FlowerError) as error:
        return (), (str(error),)
