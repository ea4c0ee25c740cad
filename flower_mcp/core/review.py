"""The edit window: keep it open, or launch from which text.

Pure, with `now` an argument. Seconds on any one clock. In its simplest form the window is open for `edit_window`
seconds after the freeze; what is launched then is the file as it is, unless a person took away what a successor cannot
do without.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What keeps a document from being launched."""

    NONE = ""
    DELETED = "the file is gone"
    EMPTY = "the file is empty"
    UNREADABLE = "the file cannot be read"
    INCOMPLETE = "a required section is missing"


class Choice(StrEnum):
    """What to do with the window."""

    KEEP_OPEN = "keep open"
    LAUNCH_FILE = "launch the file"
    LAUNCH_LAST_GOOD = "launch the last good version"


@dataclass(frozen=True, slots=True)
class Window:
    """What is known when the question is asked."""

    frozen_at: float
    edit_window: float
    fault: Fault = Fault.NONE


@dataclass(frozen=True, slots=True)
class Review:
    """The answer; `until` (seconds, same clock) when it is to be asked again, for KEEP_OPEN alone."""

    choice: Choice
    until: float | None = None


def review(now: float, window: Window) -> Review:
    """Whether the successor may be launched, and from what."""
    closes = window.frozen_at + window.edit_window
    if now < closes:
        return Review(Choice.KEEP_OPEN, closes)
    if window.fault is Fault.NONE:
        return Review(Choice.LAUNCH_FILE)
    return Review(Choice.LAUNCH_LAST_GOOD)
