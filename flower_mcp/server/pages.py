"""A document in pages that fit into a model's answer, and the header that says whose account it is.

Pure text in, text out. What can hurt: a client puts an answer of more than about 10,000 tokens into a file and shows
the model its beginning, so a page stays under 8,000 by a careful estimate; joined, the pages are the document,
character for character.
"""

from __future__ import annotations

from dataclasses import dataclass

from flower_mcp.core.books import Generation, LiveStep, WrittenBy

PAGE = 7_500  # tokens; with the header under 8,000, and so well under what a client still shows
_ASCII, _OTHER = 2, 9  # sixths of a token for a character: three ASCII characters a token, 1.5 tokens for any other
_LAST_PART = 4  # a page ends at a line end if there is one in its last quarter


@dataclass(frozen=True, slots=True)
class Page:
    """Characters [start, end) of a text of `total` characters."""

    text: str
    start: int
    end: int
    total: int

    @property
    def is_last(self) -> bool:
        """Whether nothing follows."""
        return self.end >= self.total


def tokens(text: str) -> int:
    """A careful estimate, rounded up: what a tokenizer makes of it is less."""
    ascii_characters = sum(1 for sign in text if sign < "\x80")
    return -(-(ascii_characters * _ASCII + (len(text) - ascii_characters) * _OTHER) // 6)


def page(text: str, start: int, limit: int = PAGE) -> Page:
    """The page that begins at a character's offset (0 <= start <= len(text))."""
    room, end = limit * 6, start
    for sign in text[start : start + limit * 3]:
        room -= _ASCII if sign < "\x80" else _OTHER
        if room < 0:
            break
        end += 1
    if end < len(text):
        line = text.rfind("\n", end - (end - start) // _LAST_PART, end)
        end = line + 1 if line >= 0 else end
    return Page(text[start:end], start, end, len(text))


def header(what: str, revision: str, shown: Page, *, age: float, missing: tuple[str, ...] = (), more: str = "") -> str:
    """The lines above a page: whose account, revision, age in seconds, what is missing, and how to get the next.

    `more`: further arguments that the next call needs.
    """
    state = f"without {' and '.join(missing)}" if missing else "complete"
    lines = [what, f"revision {revision}, written {age_text(age)}; {state}"]
    if shown.start or not shown.is_last:
        lines.append(f"characters {shown.start} to {shown.end} of {shown.total}")
        if not shown.is_last:
            lines.append(f'NEXT PAGE: call read_handoff again with {more}offset "{shown.end}"')
    return "\n".join(lines)


def age_text(seconds: float) -> str:
    """How long ago, for people: "12 seconds ago", "3 hours ago"."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}s ago"
    return f"{max(0, seconds):.0f} seconds ago"


def account(live: LiveStep, revision: str) -> str:
    """Whose account the step's current document is, as far as the books know."""
    generations = live.row.generations
    author = next((each for each in reversed(generations) if each.frozen == revision), None)
    title = f"Handoff document of step {live.step!r}:"
    if author is not None:
        return f"{title} {_author(author)}, as it was left"
    last = next((each for each in reversed(generations) if each.frozen), None)
    if last is not None:
        return (
            f"{title} newer than {_author(last)}, and changed or written anew by somebody else since: "
            "a person, write_handoff or edit_section"
        )
    return f"{title} no session of this step is in the books, so who wrote it is not known"


def account_of(step: str, generation: Generation, revision: str) -> str:
    """The same for an earlier generation's document."""
    how = "as the session after it was given it" if generation.launched == revision else "as it was left"
    return f"Handoff document of step {step!r}: {_author(generation)}, {how}"


def _author(generation: Generation) -> str:
    whose = f"generation {generation.n} (session {generation.session_id})"
    if generation.written_by is WrittenBy.CODE:
        return f"put together by a program for {whose}"
    if generation.written_by is WrittenBy.BEFORE:
        return f"handed on by {whose}, which could do nothing, as it was given it"
    if generation.written_by is WrittenBy.REWOUND:
        return f"the account of {whose}, written by a fork of that session"
    return f"the account of {whose}"
