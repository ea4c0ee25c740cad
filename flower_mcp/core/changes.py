"""What a save changed in a document, section by section, and how a session at work is told of it.

It must not know files, sessions or who saved. What can hurt: a person's save may change a thousand lines, so what is
shown is capped; and it may hold the end of its own fence (fence.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from flower_mcp.core.editing import sections_of
from flower_mcp.core.fence import fenced, one_line
from flower_mcp.core.handoff import FIELDS, Handoff
from flower_mcp.core.headings import OUR_HEADINGS
from flower_mcp.core.texts import render

BEFORE_SHOWN = 1_500  # characters of a section as it was
AFTER_SHOWN = 4_000  # characters of a section as it is
MOST_SHOWN = 8  # sections
OUTSIDE = ""  # the name of what belongs to no section: the title, comments, talk around the document
_NAMES = {**OUR_HEADINGS, OUTSIDE: "outside the sections"}
_UNKNOWN = "Before: nothing, or not known."


@dataclass(frozen=True, slots=True)
class Change:
    """One changed section: a field, the heading of an unknown section, or OUTSIDE. "" is an empty or absent section."""

    section: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """The section's name for people and models."""
        return _NAMES.get(self.section, self.section)


def changes(before: str | None, after: str) -> tuple[Change, ...]:
    """What differs between two texts of one document, in the document's order; `before` None: there was none.

    What stands outside the sections, comments in those that did not change included, comes last. Line ends and blank
    lines around sections are no difference. Texts that differ in nothing else give none.
    """
    old, new = Handoff.from_markdown(before or ""), Handoff.from_markdown(after)
    found = [
        Change(name, getattr(old, name), getattr(new, name))
        for name in FIELDS
        if getattr(old, name) != getattr(new, name)
    ]
    fields = {change.section for change in found}
    extras = [_numbered(handoff) for handoff in (old, new)]
    apart = {key: None for key in {**extras[0], **extras[1]} if extras[0].get(key) != extras[1].get(key)}
    found += [Change(key[0].lstrip("# "), *(each.get(key, "") for each in extras)) for key in apart]
    rests = []
    for text, each in zip((before or "", after), extras, strict=True):
        unknown = {place for place, key in enumerate(each) if key in apart}
        rests.append(_rest(text, fields | unknown))
    was, now = _middles(*rests)
    if was != now:
        found.append(Change(OUTSIDE, was, now))
    return tuple(found)


def _numbered(handoff: Handoff) -> dict[tuple[str, int], str]:
    """The texts of the unknown sections, in their order, by heading and by which one with that heading it is."""
    texts: dict[tuple[str, int], str] = {}
    seen: Counter[str] = Counter()
    for extra in handoff.extra:
        texts[extra.heading, seen[extra.heading]] = extra.text
        seen[extra.heading] += 1
    return texts


def _rest(text: str, changed: Collection[str | int]) -> list[str]:
    """The lines of a text without these sections: fields by their name, unknown sections by their place among them."""
    kept, at, unknown = [], 0, 0
    for span in sections_of(text):
        name = span.field or unknown
        unknown += not span.field
        if name in changed:
            kept.append(text[at : span.heading_start])
            at = max(at, span.body_end)
    return [line for line in _lines("\n".join([*kept, text[at:]])) if line]


def sections_changed(before: str | None, after: str) -> tuple[str, ...]:
    """The names of the changed sections: fields, and the headings of unknown sections."""
    return tuple(change.section for change in changes(before, after) if change.section)


def names_of(found: tuple[Change, ...]) -> str:
    """The changed sections in words, for people."""
    return ", ".join(change.section or change.name for change in found) or "nothing but blanks"


def late_text(found: tuple[Change, ...], *, path: str) -> str:
    """The prompt that tells a session at work what a person changed."""
    blocks = [_block(change) for change in found[:MOST_SHOWN]]
    if len(found) > MOST_SHOWN:
        blocks.append(f"{len(found) - MOST_SHOWN} more sections changed; the file has them.")
    place = f"Its file is `{one_line(path)}`."
    return render("late", {"path": place, "changes": "\n\n".join(blocks)})


def _block(change: Change) -> str:
    was = fenced("before", _shortened(change.before, BEFORE_SHOWN)) if change.before else _UNKNOWN
    now = fenced("now", _shortened(change.after, AFTER_SHOWN)) if change.after else "Now: nothing."
    return f"Section {one_line(change.name)}:\n\n{was}\n\n{now}"


def _shortened(text: str, limit: int) -> str:
    """The text with its middle left out when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]}\n[{len(text) - limit:,} characters left out here; the file has them]\n{text[head - limit :]}"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")]


def _middles(before: list[str], after: list[str]) -> tuple[str, str]:
    """The two texts without the lines that they have in common at their beginnings and ends."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return tuple("\n".join(lines[start : len(lines) - end]).strip() for lines in (before, after))  # type: ignore[return-value]
