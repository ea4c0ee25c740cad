"""What a hook says of a workspace's handoff documents: at a session's start, and for a compaction's summary.

core/waiting.py decides which document is given; here it is put into words and marked as taken. It must not know stdin
or stdout, and needs the standard library alone. What can hurt: what does not fit would not arrive whole, so a longer
document is pointed at; and the names of files that came with a repository are somebody else's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from flower_mcp.core.books import State, iso
from flower_mcp.core.commands import command_line
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.takeover import prompt_block, shown_words
from flower_mcp.core.texts import render
from flower_mcp.core.waiting import ROOM, Lying, greeting
from flower_mcp.workbench.sessions import Sessions
from flower_mcp.workbench.waiting import Found, Waiting, text_of

FEW_WORDS = 1_000  # characters of the person's words that go with a document for which all of them are too many
TOLD = 3  # steps that are told of in a line each
NAMED = 10  # other steps that are named
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f`\u2028\u2029]")


def at_start(workspace: Path | None, preferred: str = "") -> str:
    """What a new session is told: the document that waits, marked as taken now; lines about the rest. "": nothing."""
    Sessions().clean()
    waiting = Waiting(workspace) if workspace is not None else None
    if waiting is None or waiting.home is None:
        return ""
    found = {one.lying.step: one for one in waiting.found()}
    told = greeting((one.lying for one in found.values()), preferred)
    lines = [
        *(render("running", {"step": _name(one.step), "state": _state(one)}) for one in told.running[:TOLD]),
        *(_stranger(found[one.step]) for one in told.strange[:TOLD]),
    ]
    if told.given is not None and _claimed(waiting, told.given):
        if told.others:
            lines.append(render("others", {"steps": ", ".join(_name(one.step) for one in told.others[:NAMED])}))
        room = ROOM - sum(_length(line) + 2 for line in lines)
        lines.append(_document(waiting, found[told.given.step], room))
    return "\n\n".join(lines)


def at_compaction(workspace: Path | None) -> str:
    """What the summary is to name: the newest document that waits. "": nothing."""
    waiting = Waiting(workspace) if workspace is not None else None
    if waiting is None or waiting.home is None:
        return ""
    found = {one.lying.step: one for one in waiting.found()}
    fresh = greeting(one.lying for one in found.values()).given
    if fresh is None:
        return ""
    values = {"path": _plain(str(found[fresh.step].path)), "written": _written(fresh)}
    return render("compacting", values) + "\n"


def _claimed(waiting: Waiting, lying: Lying) -> bool:
    """Whether this session may have it. Where that cannot be written down it may: twice is better than never."""
    taken = waiting.taken()
    try:
        return taken.claim(lying.step, lying.revision)
    except FlowerError:
        with suppress(FlowerError):
            taken.mark(lying.step, lying.revision)  # the lock alone was in the way
        return True


def _document(waiting: Waiting, found: Found, room: int) -> str:
    """The document as it is given, or where it is when it does not fit."""
    step, written = _name(found.lying.step), _written(found.lying)
    values = {"step": step, "written": written, "path": _plain(str(found.path))}
    whole = _whole(waiting, found, render("waiting", values))
    return next((text for text in whole if _length(text) <= room), render("pointer", values))


def _whole(waiting: Waiting, found: Found, before: str) -> Iterator[str]:
    """The document with the person's words, then with few of them."""
    if len(found.data) > 4 * ROOM:
        return
    text, words = text_of(found.data), waiting.words(found)
    tasks: Iterable[str] = dict.fromkeys((words, shown_words(words, FEW_WORDS)))
    for task in tasks:
        yield f"{before}\n\n{prompt_block(text, path=str(found.path), task=task or None)}"


def _stranger(found: Found) -> str:
    return render(
        "stranger", {"path": _plain(str(found.path)), "command": _plain(command_line("trust", found.lying.step))}
    )


def _state(lying: Lying) -> str:
    return lying.state if lying.state in {str(state) for state in State} else "unknown"


def _written(lying: Lying) -> str:
    return f"{iso(lying.written_at)[:16].replace('T', ' ')} UTC"


def _name(step: str) -> str:
    return _plain(step)[:200]


def _plain(text: str) -> str:
    """On one line, and without what ends a span of code."""
    return _UNSEEN.sub(" ", text)


def _length(text: str) -> int:
    """Characters as the CLI counts them: those beyond the first plane count twice."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
