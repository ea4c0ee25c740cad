"""The successor's first prompt: the document in a fence that it cannot close, and the person's own words in another.

It must not know files: path and words are given. What can hurt: a document that holds the end of its own fence and an
order behind it (fence.py); a prompt that differs from run to run, so nothing in it is drawn or timed; words of the user
that grow without limit.
"""

from __future__ import annotations

import re

from flower_mcp.core.fence import fenced, one_line
from flower_mcp.core.texts import render

WORDS_SHOWN = 4000
"""Characters of the person's words that a prompt carries, with the lines that say what was left out."""

_GAP_ROOM = 120
_ENTRY = re.compile(r"^## \S+ · (?:flower|say|interrupt)[ \t]*$", re.MULTILINE)


def prompt_block(text: str, *, path: str | None = None, task: str | None = None) -> str:
    """Return the prompt for the session that takes over. Same arguments, same prompt.

    `text`: the document as it stands in its file, decoded; BOM and NULs are taken off. `path`: where it lies, None
    when there is no file. `task`: all that the person said to the step, texts after the first under headings of their
    own; at most 4,000 characters of it are shown.
    """
    document = _clean(text)
    said = _clean(task or "").strip()
    words = shown_words(said)
    whole = None if path is None or words == said else one_line(_beside(path))
    if path is None:
        place = "There is no file of it on the disk: what stands here is all there is."
    else:
        place = f"Its file is `{one_line(path)}`; what stands here is what that file held when you were started."
    return render(
        "takeover",
        {
            "document": fenced("handoff", document, words),
            "path": place,
            "words": _words_block(words, document, whole) if words else "",
        },
    )


def shown_words(task: str, limit: int = WORDS_SHOWN) -> str:
    """Return at most `limit` characters of the person's words: the first text and the newest ones.

    What lies between is left out first, whole texts at a time; then the middles of the first and the newest text.
    A line says how much is missing. `limit` is at least 1,000.
    """
    task = task.strip()
    if len(task) <= limit:
        return task
    first, *later = _entries(task)
    if not later:
        return _middle_out(first, limit)
    room = limit - _GAP_ROOM
    newest = later.pop()
    if len(first) + len(newest) > room:
        first = _middle_out(first, max(room // 2, room - len(newest)))
        newest = _middle_out(newest, room - len(first))
    kept = [newest]
    room -= len(first) + len(newest)
    while later and len(later[-1]) + 2 <= room:
        room -= len(later[-1]) + 2
        kept.insert(0, later.pop())
    gap = [_gap(sum(map(len, later)), len(later))] if later else []
    return "\n\n".join([first, *gap, *kept])


def _entries(task: str) -> list[str]:
    """Split at the headings under which later texts stand; each heading stays with its text."""
    starts = [0, *(match.start() for match in _ENTRY.finditer(task) if match.start())]
    ends = [*starts[1:], len(task)]
    return [task[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def _middle_out(text: str, limit: int) -> str:
    """Cut the middle out of a text that is longer than `limit`; both ends stay."""
    if len(text) <= limit:
        return text
    kept = max(limit - _GAP_ROOM, 0)
    head, tail = kept - kept // 3, kept // 3
    return "\n\n".join([text[:head], _gap(len(text) - kept, 0), text[len(text) - tail :]])


def _gap(characters: int, texts: int) -> str:
    """Return the line that stands where words were left out."""
    count = f" in {texts} later {'text' if texts == 1 else 'texts'}" if texts else ""
    return f"[{characters:,} characters{count} left out here; all of them are in the task's file]"


def _beside(path: str) -> str:
    """Where all of the person's words lie: beside the document, in the step's other file."""
    folder, prefix, name = path.rpartition("交接-")
    return f"{folder}任务-{name}" if prefix else path


def _words_block(words: str, document: str, whole: str | None) -> str:
    place = "" if whole is None else f" (all of them are in `{whole}`: read there what is left out here)"
    block = fenced("task", words, document)
    return f"The user's own words to this step, the first and the newest of them{place}:\n\n{block}"


def _clean(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\0", "")
