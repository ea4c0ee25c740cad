"""Facts of a session that its writer leaves out: what failed and stayed so, what was taken back, what still runs.

For the request to write a handoff (ten lines at most), and for a document that code has to put together. It must not
know transcripts or what runs: both come in. What can hurt: a command that failed first and worked later is no fact, and
neither is a search that found nothing; every line here is data of a session, so it is masked, short, and one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from flower_mcp.core.handoff import FIELDS, Handoff
from flower_mcp.core.happened import Call, Happened, Started, Todo, how_it_failed, one_line
from flower_mcp.core.masking import mask
from flower_mcp.core.undone import Undone, undone

T = TypeVar("T")
MOST_LINES = 10
MOST_RUNNING = 4  # of these lines
MOST_UNDONE = 3  # of these lines, where commands that failed need the rest
LAST_TEXT = 2_000  # characters of the last text in a document that code put together
LISTED = 15  # entries of each list there

_LEADING = re.compile(r"\Acd [^;&|]{1,200}(?:&&|;) ?")
_TRAILING = re.compile(r" ?(?:2>&1|\| ?(?:tail|head)(?: -[\w+]{1,12}){0,2}(?: \d{1,9})?)\Z")
_PROBES = frozenset({"grep", "rg", "test", "[", "[[", "diff", "cmp", "which", "pgrep", "command", "type"})
_NEVER_RAN = "<tool_use_error>"  # how the CLI's own refusals begin: wrong input, a tool that is not there


@dataclass(frozen=True, slots=True)
class Failed:
    """A command that failed and never succeeded later: its last call, and how often it failed."""

    call: Call
    times: int = 1


def failed_commands(what: Happened) -> list[Failed]:
    """Commands that failed and did not succeed later, the one that failed last at the end.

    The same command is told by its words, without a `cd` before it and a `| tail` behind it. What ended with 1 since
    it found no match (grep, test, diff, …) did not fail.
    """
    failed: dict[str, Failed] = {}
    for call in what.calls:
        if not call.command or call.failed is None:
            continue
        key = _plain(call.command)
        before = failed.pop(key, None)
        if call.failed and not _is_answer(call, key):
            failed[key] = Failed(call, (before.times if before else 0) + 1)
    return list(failed.values())


def edits_undone(what: Happened) -> list[Undone]:
    """Edits of files that were taken back, one a file: the newest."""
    newest: dict[str, Undone] = {}
    for each in undone((call.change, call.command) for call in what.calls if call.failed is False):
        newest[each.change.path] = each
    return list(newest.values())


def fact_lines(what: Happened, running: Sequence[str] = ()) -> list[str]:
    """What goes behind the request to write a handoff: at most ten lines, none when there is nothing.

    `running`: a line for each agent and shell that still runs.
    """
    kept = list(running[:MOST_RUNNING])
    if len(running) > MOST_RUNNING:
        kept[-1] = f"- and {len(running) - MOST_RUNNING + 1} more that still run"
    failed, taken_back = failed_commands(what), edits_undone(what)
    room = MOST_LINES - len(kept)
    backs = min(len(taken_back), max(MOST_UNDONE, room - len(failed)))
    return [
        *_newest(failed, room - backs, _failed_line, "commands that failed"),
        *_newest(taken_back, backs, _undone_line, "edits that were taken back"),
        *kept,
    ]


def found_out(what: Happened, *, gone: Collection[str] = (), known_tasks: Collection[str] = ()) -> Handoff:
    """What code can tell of a session that wrote no handoff, in the fitting sections; what is unknown is "".

    `gone`: those of its files that are not there any more. `known_tasks`: ids of tasks that are recorded elsewhere.
    """
    running = [one for one in what.started if not one.ended and one.id not in known_tasks]
    return Handoff(
        doing=_paragraphs(_last_text(what.last_text), _todo_state(what)),
        deadends=_paragraphs(
            _listed("Commands that failed (found in the transcript by code):", failed_commands(what), _failed_line),
            _listed("Edits that were taken back (found in the transcript by code):", edits_undone(what), _undone_line),
        ),
        next=_open_todos(what.todos),
        scene=_paragraphs(
            _listed(
                "Files that the session wrote or edited, the newest last:",
                what.files,
                lambda path: f"- {one_line(path, 300)}{' (gone)' if path in gone else ''}",
            ),
            _listed("Started in the background, and no end of it was seen:", running, started_line),
        ),
    )


def added(handoff: Handoff, more: Handoff) -> Handoff:
    """A handoff with the texts of another put behind its own, section by section."""
    texts: dict[str, Any] = {name: _paragraphs(getattr(handoff, name), getattr(more, name)) for name in FIELDS}
    return replace(handoff, **texts)


def started_line(one: Started) -> str:
    """An agent or a shell on one line."""
    command = f" ({one_line(one.command, 200)})" if one.command else ""
    file = f"; output in {one_line(one.output_file, 400)}" if one.output_file else ""
    return f"- {'agent' if one.is_agent else 'shell'}: {one_line(one.description, 100)}{command}{file}"


def _plain(command: str) -> str:
    """What tells a command from another."""
    plain = _LEADING.sub("", " ".join(command.split()))
    for _ in range(3):
        plain = _TRAILING.sub("", plain)
    return plain


def _is_answer(call: Call, plain: str) -> bool:
    """Whether a failure is an answer, or the CLI's own refusal to run it."""
    program = plain.split(" ", 1)[0]
    return call.output.startswith(_NEVER_RAN) or (call.exit_code == 1 and program in _PROBES)


def _failed_line(each: Failed) -> str:
    times = f" {each.times} times" if each.times > 1 else ""
    return f"- failed{times} and never succeeded later: {one_line(each.call.command, 160)}{how_it_failed(each.call)}"


def _undone_line(each: Undone) -> str:
    shown = one_line(each.change.shown, 80)
    put_in = f' (it had put in: "{shown}")' if shown else ""
    return f"- an edit of {one_line(each.change.path, 200)} was {each.how}{put_in}"


def _newest(items: Sequence[T], most: int, line: Callable[[T], str], what: str) -> list[str]:
    """A line for each of the last, and one that counts the rest, `most` in all."""
    if len(items) <= most:
        return [line(each) for each in items]
    left = len(items) - most + 1
    return [f"- {left} more {what}", *(line(each) for each in items[left:])] if most > 0 else []


def _last_text(text: str) -> str:
    if not text.strip():
        return ""
    clean = mask(text).text.strip()
    cut = f"\n(The first {LAST_TEXT:,} of {len(clean):,} characters.)" if len(clean) > LAST_TEXT else ""
    quoted = "\n".join(f"> {line}".rstrip() for line in clean[:LAST_TEXT].splitlines())
    return f"The last thing that the session said, word for word and not checked:\n\n{quoted}{cut}"


def _todo_state(what: Happened) -> str:
    marks = {"completed": "[x]", "in_progress": "[in progress]"}
    return _listed(
        f"The session's own list of todos{f', as of {what.todos_at}' if what.todos_at else ''}:",
        what.todos,
        lambda todo: f"- {marks.get(todo.status, '[ ]')} {one_line(todo.text, 200)}",
    )


def _open_todos(todos: Iterable[Todo]) -> str:
    left = [todo for todo in todos if todo.status != "completed"]
    return _listed("Open in the session's own list (not checked):", left, lambda todo: f"- {one_line(todo.text, 200)}")


def _listed(head: str, items: Sequence[T], line: Callable[[T], str]) -> str:
    """A head and the newest of its items, a line each; "" without items."""
    return "\n".join([head, "", *_newest(items, LISTED, line, "before these")]) if items else ""


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
