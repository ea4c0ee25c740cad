"""`flower status` and `flower list`: what the steps of a workspace are doing, once or as it changes.

They read alone, from what lies on disk, so they work beside any supervisor and without one. What can hurt: a step's
state is `lost` when nobody holds its run lock, which no file's change tells, so following looks twice a second.
"""

from __future__ import annotations

import json
import os
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from flower_mcp.cli.bar import SMALLEST, context_bar, plain
from flower_mcp.cli.choosing import chosen_step, local_time, no_steps, open_workbench, typed
from flower_mcp.cli.output import Output, shorten
from flower_mcp.cli.phrases import cost_text, home_path
from flower_mcp.cli.width import terminal_width
from flower_mcp.cli.words import Words, language
from flower_mcp.core.books import LiveStep, State, as_json, iso
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.events import Kind
from flower_mcp.core.texts import context_text, used_text, window_text
from flower_mcp.server.steps import Steps
from flower_mcp.workbench.workbench import Workbench

LOOK = 0.5  # seconds between two looks of --follow
_AT_WORK = frozenset(State) - {State.IDLE, State.DONE, State.FAILED, State.STOPPED, State.LOST}
_LABEL = 9  # cells
_RECENT = 200  # events: a step that waits tells nothing more, but others of the folder may


def status_command(step: str | None, workspace: str, *, follow: bool, as_json: bool) -> int:
    """Show one step, or all of them; with `follow` again at each change, until none is at work. The exit code.

    Raises Usage, NothingThere, FilesError.
    """
    workbench = open_workbench(workspace)
    if step is not None:
        step = chosen_step(workbench, step, "status")
    steps = Steps(workbench)
    if step is None and not steps.all():
        raise no_steps(workbench)
    output, words = Output(as_json=as_json), Words(language(os.environ))
    show = _json_shower(output) if as_json else _text_shower(output, words, workbench)
    if not follow:
        show(_lives(steps, step))
        return 0
    for lives in _changes(steps, step):
        show(lives)
    return 0


def list_command(workspace: str, *, as_json: bool) -> int:
    """Print a line for each step, the one that changed last first; the exit code. Raises NothingThere, Usage."""
    workbench = open_workbench(workspace)
    output, steps = Output(as_json=as_json), Steps(workbench)
    known = steps.all()
    if not known:
        raise no_steps(workbench)
    rows = [(each.step, str(steps.state(each)), each.changed / 1e9) for each in known]
    if as_json:
        for name, state, changed in rows:
            output.json({"step": name, "state": state, "changed_at": iso(changed)})
        return 0
    widest, states = max(cells(shorten(name, 40)) for name, _, _ in rows), max(len(state) for _, state, _ in rows)
    for name, state, changed in rows:
        shown = shorten(name, 40)
        output.line(f"{shown}{' ' * (widest - cells(shown))}  {state:<{states}}  {local_time(changed)}")
    return 0


def step_lines(
    words: Words, live: LiveStep, *, width: int = 80, ascii_only: bool = False, until: str = "", release: str = ""
) -> list[str]:
    """A step in a few lines, each at most `width` cells as far as names and paths allow. `until`: it waits so long.

    `release` is what to type to let a held one go.
    """
    row = live.row
    lines = [_first(words, live)]
    if row.window:
        lines += _context_lines(words, live, width, ascii_only=ascii_only)
    if row.num_turns or row.cost_usd is not None:
        cost = cost_text(words, row.cost_usd)
        lines.append(
            _labelled(
                words("status cost"), words("status figures", cost=cost, turns=words.counted("turn", row.num_turns))
            )
        )
    lines.append(_labelled(words("status document"), _document(words, live)))
    if row.session_id:
        lines.append(_labelled(words("status session"), row.session_id))
    if live.supervisor is not None and live.state in _AT_WORK:
        by = live.supervisor
        text = words("status run by", pid=by.pid, host=by.host, since=local_time(by.since))
        lines.append(_labelled(words("status run"), text))
    if until:
        lines.append(_labelled(words("status waits"), words("status waits until", until=local_time(until))))
    if live.held_since is not None:
        text = words("status held since", since=local_time(live.held_since), command=release)
        lines.append(_labelled(words("status held"), text))
    if row.error:
        lines.append(_labelled(words("status why"), shorten(row.error, 500)))
    return lines


def waits_until(workbench: Workbench, live: LiveStep) -> str:
    """When the wait of a step that waits is over, as its last event of it says; "" when it does not wait, or no event
    tells."""
    if live.state is not State.WAITING:
        return ""
    for event in reversed(workbench.lives.tail(_RECENT)):
        if event.get("step") == live.step and event.get("kind") == Kind.WAIT:
            return str(event.get("until") or "")
    return ""


def cells(text: str) -> int:
    """How wide a terminal shows a text: two cells for a wide character, none for a combining one."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _first(words: Words, live: LiveStep) -> str:
    parts = [shorten(live.step, 60), words(f"state {live.state}")]
    if live.row.generation is not None:
        parts.append(words("status generation", n=live.row.generation.n))
    if live.updated_at is not None:
        parts.append(local_time(live.updated_at))
    return "  ".join(parts)


def _context_lines(words: Words, live: LiveStep, width: int, *, ascii_only: bool) -> list[str]:
    """The bar with its figures; the handoff line beside it where there is room, else below."""
    row, context = live.row, context_text(live.row.context, live.context_estimated)
    figures = f"{context}/{window_text(row.window)} ({words(f'source {row.window_source}')})"
    line = "" if live.at is None else words("hands off", at=used_text(live.at))
    room = width - 2 - _LABEL - 1
    beside = f"{figures}, {line}" if line and room - cells(figures) - cells(line) - 2 >= SMALLEST else figures
    bar = context_bar(row.context, row.window, (live.warn_at, live.at), width=min(40, room - cells(beside)))
    below = [] if not line or beside != figures else [_labelled("", line)]
    return [_labelled(words("status context"), f"{plain(bar) if ascii_only else bar} {beside}"), *below]


def _document(words: Words, live: LiveStep) -> str:
    document = live.document
    if document is None:
        return words("status no document")
    missing = words("status missing", missing=", ".join(document.missing)) if document.missing else ""
    marks = [
        mark
        for mark in (
            missing or words("status complete"),
            words("status degraded") if document.degraded else "",
            words("status edited") if document.edited else "",
            document.revision,
        )
        if mark
    ]
    return f"{home_path(document.path)}: {', '.join(marks)}"


def _labelled(label: str, text: str) -> str:
    return f"  {label}{' ' * max(1, _LABEL - cells(label))}{text}"


def _lives(steps: Steps, step: str | None) -> list[LiveStep]:
    """The step, or all, whole. A step that cannot be read is left out of many, and raises alone."""
    if step is not None:
        live = steps.live(step)
        return [] if live is None else [live]
    found = []
    for known in steps.all():
        try:
            live = steps.live(known.step)
        except FlowerError:
            continue
        if live is not None:
            found.append(live)
    return found


def _changes(steps: Steps, step: str | None) -> Iterator[list[LiveStep]]:
    """What there is now, and again after each change, until no step is at work."""
    shown: list[LiveStep] | None = None
    while True:
        lives = _lives(steps, step)
        if lives != shown:
            yield lives
            shown = lives
        if not any(live.state in _AT_WORK for live in lives):
            return
        time.sleep(LOOK)


def _json_shower(output: Output) -> Callable[[Sequence[LiveStep]], None]:
    """A line of JSON for each step that is new or has changed."""
    shown: dict[str, str] = {}

    def show(lives: Sequence[LiveStep]) -> None:
        for live in lives:
            value = as_json(live)
            line = json.dumps(value, sort_keys=True, default=str)
            if shown.get(live.step) != line:
                shown[live.step] = line
                output.json(value)

    return show


def _text_shower(output: Output, words: Words, workbench: Workbench) -> Callable[[Sequence[LiveStep]], None]:
    """A few lines for each step that is new or has changed, an empty line between two."""
    shown: dict[str, list[str]] = {}
    width = terminal_width()
    ascii_only = not output.takes(context_bar(1, 2))

    def show(lives: Sequence[LiveStep]) -> None:
        for live in lives:
            until, release = waits_until(workbench, live), typed(workbench, "release", live.step)
            lines = step_lines(words, live, width=width, ascii_only=ascii_only, until=until, release=release)
            if shown.get(live.step) != lines:
                if shown:
                    output.line("")
                shown[live.step] = lines
                output.lines(lines)

    return show
