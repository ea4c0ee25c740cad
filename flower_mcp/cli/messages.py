"""`flower say`, `flower stop` and `flower handoff`, from any terminal: messages to a step that runs.

They leave a message in the step's inbox; the step's supervisor takes it. What can hurt: a message to a step that does
not run would lie there until somebody starts it, maybe weeks later, so none is left: the sentence says what to type.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence

from flower_mcp.cli.choosing import chosen_step, go_on, is_step, open_workbench, typed
from flower_mcp.cli.holding import who
from flower_mcp.cli.output import Output
from flower_mcp.cli.task import STDIN, read_stdin
from flower_mcp.cli.words import Words, language
from flower_mcp.core.books import LiveStep, State, Supervisor, iso
from flower_mcp.core.errors import NothingThere, Usage
from flower_mcp.server.steps import Steps, listed
from flower_mcp.workbench.inbox import Asks, Message
from flower_mcp.workbench.locks import is_held
from flower_mcp.workbench.workbench import Workbench

PATIENCE = 20.0  # seconds that `flower stop` waits: 10 for the tools, 5 for an interrupt, the rest for the clean-up
TICK = 0.1  # seconds between two looks


def say_command(given: Sequence[str], step_variable: str | None, workspace: str) -> int:
    """Say something to a step that runs; the exit code. Raises Usage, NothingThere, FilesError."""
    workbench = open_workbench(workspace)
    step, text = step_and_text(workbench, given, step_variable)
    step, live = _running(workbench, step, "say", text)
    if text == STDIN:
        text = read_stdin()
    if not text.strip():
        raise Usage("The text is empty.", kept="Nothing was said.", next="Give one: flower say 'TEXT'")
    _put(workbench, step, Asks.SAY, text)
    hands_over = live.state in (State.DRAINING, State.WRITING, State.EDITING, State.HELD)
    _tell("said to the next" if hands_over else "said", step)
    return 0


def stop_command(step: str | None, workspace: str) -> int:
    """Stop a step that runs, and wait for it; the exit code. Raises Usage, NothingThere, FilesError."""
    workbench = open_workbench(workspace)
    step, live = _running(workbench, step, "stop")
    _put(workbench, step, Asks.STOP)
    _tell("asked to stop", step, who=_named(live.supervisor))
    end = time.monotonic() + PATIENCE
    while _runs(workbench, step):
        if time.monotonic() > end:
            _tell("not stopped yet", step, seconds=PATIENCE, who=_named(live.supervisor))
            return 1
        time.sleep(TICK)
    after = workbench.live(step)
    state = after.state if after is not None else State.STOPPED
    _tell("has stopped", step, state=state, command=go_on(workbench, step))
    return 0


def handoff_command(step: str | None, workspace: str) -> int:
    """Ask a step that runs for a handoff; the exit code. Raises Usage, NothingThere, FilesError."""
    workbench = open_workbench(workspace)
    step, live = _running(workbench, step, "handoff")
    _put(workbench, step, Asks.HANDOFF)
    hands_over = live.state in (State.WRITING, State.EDITING, State.HELD)
    _tell("hands off already" if hands_over else "asked to hand off", step)
    return 0


def step_and_text(workbench: Workbench, given: Sequence[str], step_variable: str | None) -> tuple[str | None, str]:
    """What [STEP] TEXT means. One argument is the text, unless it is the name of a step: then the text is missing.

    Raises Usage.
    """
    if not given:
        raise Usage("Say what?", next="flower say 'TEXT', or flower say - < FILE")
    if len(given) > 2:
        raise Usage(
            f"A text is one argument, and these are {len(given)}.",
            next=f"Put it in quotes: flower say {shlex.quote(' '.join(given))}",
        )
    if len(given) == 1:
        if not step_variable and given[0] != STDIN and is_step(workbench, given[0]):
            name = shlex.quote(given[0])
            raise Usage(
                f"{given[0]!r} is a step, and the text to say to it is missing.",
                next=f"flower say {name} 'TEXT'; as a text: flower say STEP {name}",
            )
        return step_variable or None, given[0]
    if not is_step(workbench, given[0]):
        raise Usage(
            f"There is no step {given[0]!r}, and a text is one argument.",
            next=f"Put it in quotes: flower say {shlex.quote(' '.join(given))}",
        )
    return given[0], given[1]


def _running(workbench: Workbench, given: str | None, command: str, text: str = "") -> tuple[str, LiveStep]:
    """The step that is meant, which runs. `text` is what it was to be told.

    Raises Usage when several could be meant, NothingThere when none runs.
    """
    if given is None:
        running = [known.step for known in Steps(workbench).all() if _runs(workbench, known.step)]
        if len(running) > 1:
            raise Usage(
                f"{len(running)} steps run: {listed(running)}.",
                next=f"Name one of them: {typed(workbench, command, 'STEP')}",
            )
        given = running[0] if running else chosen_step(workbench, None, command)
    step = chosen_step(workbench, given, command)
    live = workbench.live(step)
    if live is None or not _runs(workbench, step):
        start = f"To start it with these words: {go_on(workbench, step, 'run')} {_quoted(text)}"
        look = f"`{typed(workbench, 'status', step)}` shows how it stands."
        raise NothingThere(f"The step {step!r} does not run.", kept="Nothing was sent.", next=start if text else look)
    return step, live


def _runs(workbench: Workbench, step: str) -> bool:
    """Whether a supervisor has the step."""
    return is_held(workbench.lives.run_lock(step).path)


def _put(workbench: Workbench, step: str, kind: Asks, text: str = "") -> None:
    workbench.lives.put(step, Message(iso(time.time()), who(), kind, text))


def _tell(name: str, step: str, **values: object) -> None:
    Output().line(Words(language(os.environ))(name, step=step, **values))


def _named(supervisor: Supervisor | None) -> str:
    return "?" if supervisor is None else f"pid {supervisor.pid}, {supervisor.host}"


def _quoted(text: str) -> str:
    """The text for a command line, when it is short enough to be shown."""
    return "- < FILE" if text == STDIN else shlex.quote(text) if len(text) <= 200 else "'TEXT'"
