"""`flower run`: puts a runtime together for one step, lets it run, and says how it went.

The composition root. It must not know Claude's protocol. The order matters: what can be refused is refused before the
heavy imports and before anything is written; what the run itself wrote is taken away again when there was nobody to
log in as, since then it was not a run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flower_mcp.cli.options import RunOptions, refuse_windows
from flower_mcp.cli.output import Output
from flower_mcp.cli.task import is_left, task_asked_for, task_from
from flower_mcp.cli.trust import ask_trust
from flower_mcp.cli.untouched import Untouched
from flower_mcp.cli.words import Words, language
from flower_mcp.core.books import StepResult, as_json
from flower_mcp.core.errors import NoCredentials, RunPartMissing

if TYPE_CHECKING:
    from flower_mcp.cli.asking import Terminal
    from flower_mcp.cli.attending import Attending
    from flower_mcp.cli.controls import Controls
    from flower_mcp.cli.keys import Keys
    from flower_mcp.cli.listening import Listener, Taker
    from flower_mcp.cli.live import LiveArea
    from flower_mcp.cli.saying import Offer
    from flower_mcp.cli.stopping import Stopping
    from flower_mcp.core.policy import AgentSpec, HandoffPolicy
    from flower_mcp.runtime.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Job:
    """One call of a runtime, as the command line puts it together.

    Without `keys` no terminal is read. `also` are told of each event once it is drawn. `hold`, `release`, `more` are
    commands that a person may type; `more` gives the step another task.
    """

    runtime: Runtime
    spec: AgentSpec
    prompt: str
    policy: HandoffPolicy
    go_on: str
    fresh: bool = False
    terminal: Terminal | None = None
    keys: Keys | None = None
    notify: tuple[str, ...] | None = None
    release: str = "flower release"
    verbose: bool = False
    line: int | None = None
    also: tuple[Taker, ...] = ()
    hold: str = "flower hold"
    more: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: its row (None: it was ended before there was one) and the exit code."""

    row: StepResult | None
    exit_code: int


def run_command(
    options: RunOptions,
    words_given: Sequence[str],
    *,
    short: bool,
    commands: Sequence[str],
    by_workspace: Sequence[str] = (),
) -> int:
    """Run the step that the options name; the exit code. Raises FlowerError for what cannot be started.

    `by_workspace` names the options that the workspace's own config file has set.
    """
    from flower_mcp.workbench.json_files import masked

    refuse_windows()
    policy, spec = options.policy(), options.spec()
    options.check_user(os.environ)
    task = task_from(words_given, short=short, commands=commands)
    output, words = Output(as_json=options.as_json, plain=options.plain), Words(language(os.environ))
    runtime_class = load_runtime()
    keys = read_keys() if is_terminal(as_json=options.as_json) else None
    terminal = _terminal(output, words, keys) if keys else None
    trust = options.trust or (keys is not None and ask_trust(options, task, output, words))
    runtime = runtime_class(
        workspace=options.workspace,
        run_dir=options.run_dir,
        handoff=policy,
        mcp_server=own_server(options.workspace, options.step),
        ask=terminal.ask if terminal else None,
        review=options.review,
        trust=trust,
    )
    prompt = _prompt(runtime, options, task, output, words)
    if by_workspace:
        output.line(words("by workspace", names=", ".join(by_workspace)))
    if options.verbose:
        from flower_mcp.cli.account import account_lines

        output.lines(account_lines(words, os.environ, options.model, policy))
    job = Job(
        runtime, spec, prompt, policy, options.go_on(), options.new, terminal, keys, options.notify, options.release(),
        options.verbose, options.at, hold=options.hold(), more=options.go_on(words("more task")),
    )  # fmt: skip
    untouched = Untouched(runtime.workspace, runtime.run_dir)
    try:
        outcome = run_job(job, output, words)
    except Exception:
        untouched.restore(steps=0)  # what could not even begin leaves nothing
        raise
    if outcome.row is not None:
        output.json({"kind": "result", **masked(as_json(outcome.row))})
    if outcome.exit_code == NoCredentials.exit_code and outcome.row is not None:
        _refuse(outcome.row, untouched, job.go_on)
    return outcome.exit_code


def load_runtime() -> type[Runtime]:
    """The runtime's class. Raises RunPartMissing when the install has no supervisor."""
    import gc

    enabled, is_first = gc.isenabled(), "flower_mcp.runtime.runtime" not in sys.modules
    gc.disable()  # the SDK and mcp make a million lasting objects; looking through them again and again takes a tenth
    try:
        import flower_mcp.runtime.moves  # noqa: F401  # so that nothing is imported while steps run
        from flower_mcp.runtime.runtime import Runtime
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] == "claude_agent_sdk":
            raise RunPartMissing("claude-agent-sdk") from error
        raise
    finally:
        if enabled:
            gc.enable()
    if is_first:
        gc.freeze()  # nor are they looked through later, which would keep all steps waiting
    return Runtime


def own_server(workspace: str, step: str) -> Any:
    """The MCP server that the step's sessions get, in this process. Raises Usage, FilesError."""
    from flower_mcp.cli.choosing import open_workbench
    from flower_mcp.server.app import lowlevel

    return lowlevel(open_workbench(workspace), step=step)


def is_terminal(*, as_json: bool) -> bool:
    """Whether somebody can be asked: a terminal on both sides, and no program that reads along."""
    files = (sys.stdin, sys.stdout)
    return not as_json and all(file is not None and file.isatty() for file in files)


def read_keys() -> Keys:
    """The keys of this process's terminal."""
    from flower_mcp.cli.keys import Keys

    return Keys(sys.stdin.fileno())


def run_job(job: Job, output: Output, words: Words) -> Outcome:
    """Run a job to its end and say how it went."""
    import logging

    import anyio

    logging.getLogger().addHandler(logging.NullHandler())  # what libraries log is told by events, not on stderr
    if not output.is_live:
        return anyio.run(partial(_run_job, job, output, words))
    from flower_mcp.cli.live import live_terminal

    with live_terminal(output):
        return anyio.run(partial(_run_job, job, output, words))


async def _run_job(job: Job, output: Output, words: Words) -> Outcome:
    import anyio

    from flower_mcp.cli.attending import Attending
    from flower_mcp.cli.stopping import Stopping

    running = anyio.CancelScope()
    row: StepResult | None = None
    async with job.runtime, anyio.create_task_group() as tasks:
        stopping = Stopping(
            lambda: _drain(job, output, words, running, offer),
            partial(_end, output, words, running),
            lambda: offer is not None and job.runtime.place(job.spec.name) is not None and offer.begin(tasks),
        )
        offer = _offer(job, output, words, stopping.stop)
        area = _area(job, output, words)
        attending = Attending(output, words, tasks, keys=job.keys, notify=job.notify, area=area)
        listener = _listener(job, output, words, attending)
        await tasks.start(stopping.watch)
        attending.start(_controls(job, stopping, output, words))
        with running:
            row = await job.runtime.run(job.spec, job.prompt, fresh=job.fresh, on_event=listener)
        if offer is not None:
            await offer.leave()
        await attending.leave_terminal(now=stopping.received is not None)
        is_forced = row is None
        row = row or _row_left(job)
        _say_end(job, output, words, listener, row)
        await attending.finish(now=is_forced)
        tasks.cancel_scope.cancel()
    return Outcome(row, _exit_code(row, listener, stopping))


def _listener(job: Job, output: Output, words: Words, attending: Attending) -> Listener:
    """What draws the events, and tells those who attend."""
    from flower_mcp.cli.listening import Listener
    from flower_mcp.cli.show import Facts, Log
    from flower_mcp.cli.show_edits import EditFacts

    facts = Facts(
        step=job.spec.name,
        permission_mode=job.spec.permission_mode,
        asks=job.terminal is not None,
        budget=job.spec.max_budget_usd,
        document=document_path(job),
        go_on=job.go_on,
        handoff=job.policy.enabled,
        line=job.line,
        edits=EditFacts(keys=job.keys is not None, release=job.release),
        workspace=job.runtime.workspace,
    )
    return Listener(
        output,
        Log(words, facts, verbose=job.verbose, tool_line=_tool_line(output)),
        job.spec.name,
        lambda: job.runtime.place(job.spec.name),
        lambda window: job.policy.with_window(window).advice(),
        also=(attending.take, *job.also),
    )


def _tool_line(output: Output) -> Callable[[str], str] | None:
    """What cuts a tool's line to the terminal's width; None where there is none."""
    if not output.is_live:
        return None
    from flower_mcp.cli.live_area import fit

    return lambda text: fit(text, output.size[0] - 1)


def _area(job: Job, output: Output, words: Words) -> LiveArea | None:
    """The area below the run; None where the terminal is not live."""
    if not output.is_live:
        return None
    from flower_mcp.cli.live import AreaFacts, LiveArea

    facts = AreaFacts(
        keys=job.keys is not None,
        release=job.release,
        hold=job.hold,
        handoff=job.policy.enabled,
        workspace=job.runtime.workspace,
    )
    return LiveArea(output, words, facts, lambda: job.runtime.present(job.spec.name))


def _controls(job: Job, stopping: Stopping, output: Output, words: Words) -> Controls | None:
    """What the keys do; None where there are none."""
    from flower_mcp.cli.controls import Controls

    if job.keys is None:
        return None
    return Controls(job.runtime, job.spec.name, stopping, output, words, descriptor=sys.stdin.fileno())


def _offer(job: Job, output: Output, words: Words, stop: Callable[[], object]) -> Offer | None:
    """What Ctrl-C offers first; None where nobody is at a terminal."""
    from flower_mcp.cli.saying import Offer
    from flower_mcp.workbench.tasks import By

    if job.keys is None:
        return None
    say = partial(job.runtime.say, step=job.spec.name, by=By.INTERRUPT)
    return Offer(output, words, job.keys, sys.stdin.fileno(), say=say, stop=stop)


def document_path(job: Job) -> Path:
    """Where the step's document lies, or will lie."""
    from flower_mcp.workbench.workbench import Workbench

    return Workbench(job.runtime.workspace).documents.path(job.spec.name)


def _terminal(output: Output, words: Words, keys: Keys) -> Terminal:
    from flower_mcp.cli.asking import Terminal

    return Terminal(output, words, sys.stdin.fileno(), keys.lent)


def _prompt(runtime: Runtime, options: RunOptions, task: str | None, output: Output, words: Words) -> str:
    """What the step is told; "" when it just goes on. Raises Usage when there is nothing to do."""
    from flower_mcp.workbench.ledger import Lineage

    for note in Lineage(runtime.run_dir).read().notes:
        output.line(f"! {note}")
    if task is not None:
        return task

    def say(note: str) -> None:
        output.line(f"! {note}")

    if not options.new and is_left(runtime.workspace, runtime.run_dir, options.step, say):
        return ""
    return task_asked_for(lambda: output.line(words("task"), end=""))


def _drain(job: Job, output: Output, words: Words, running: Any, offer: Offer | None) -> None:
    """The first signal: stop at the next message boundary, or now when nothing runs yet."""
    if offer is not None:
        offer.close()
    if job.keys is not None:
        job.keys.close()
    output.line(words("stopping"))
    if job.terminal is not None:
        job.terminal.give_up()
    if job.runtime.place(job.spec.name) is None:
        running.cancel()
    job.runtime.stop()


def _end(output: Output, words: Words, running: Any) -> None:
    """The second signal."""
    output.line(words("stopping now"))
    running.cancel()


def _row_left(job: Job) -> StepResult | None:
    """The row of a run that was ended by force: the live state has it."""
    from flower_mcp.workbench.workbench import Workbench

    live = Workbench(job.runtime.workspace).live(job.spec.name)
    ours = live is not None and live.supervisor is not None and live.supervisor.pid == os.getpid()
    return live.row if live is not None and ours else None


def _say_end(job: Job, output: Output, words: Words, listener: Listener, row: StepResult | None) -> None:
    from flower_mcp.cli.show import End, last_lines

    if row is None or (listener.refused_credentials and not _reached(row)):
        return  # no session was reached, so it was not a run
    document = document_path(job)
    end = End(
        manifest=job.runtime.run_dir / "manifest.json",
        go_on=job.go_on,
        document=document if document.exists() else None,
        denied=listener.denied,
        ended=listener.ended,
        said=listener.said,
        estimated=listener.estimated,
        more=job.more,
        permission_mode=job.spec.permission_mode,
        workspace=job.runtime.workspace,
    )
    output.lines(last_lines(words, row, end))


def _exit_code(row: StepResult | None, listener: Listener, stopping: Stopping) -> int:
    """The exit code: 0 done, a signal's own, 4 without credentials, else 1."""
    if row is not None and row.ok:
        return 0
    if stopping.exit_code is not None:
        return int(stopping.exit_code)
    return NoCredentials.exit_code if listener.refused_credentials else 1


def _reached(row: StepResult) -> bool:
    """Whether a session of the run had an answer from the model."""
    return any(each.num_turns or each.context for each in row.generations)


def _refuse(row: StepResult, untouched: Untouched, go_on: str) -> None:
    """Raise NoCredentials with what was kept."""
    gone = not _reached(row) and untouched.restore(steps=1)
    kept = "Nothing was written." if gone else f"The step is kept; `{go_on}` goes on with it."
    raise NoCredentials(f"Claude Code: {row.error or 'no credentials'}".rstrip(".") + ".", kept=kept)
