"""Names on disk: the file name of a step, and timestamps for archived versions.

Pure functions; they must not know a folder or a clock. What hurts here: a step's name is chosen by a person or a model,
so it may hold path separators, control characters, a device name of Windows, or be empty; and two names that differ
only in case or in Unicode form would meet in one file on a Mac or on Windows.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256

LONGEST = 120  # bytes of UTF-8: with prefix, timestamp and extension still under the 255 that file systems allow
UNNAMED = "step"  # what is left of a name of which nothing is left

_MARK_DIGITS = 6  # hex digits of the name's sha256
_MARKED = re.compile(rf"-[0-9a-f]{{{_MARK_DIGITS}}}$")
_ILLEGAL = frozenset('/\\:*?"<>|')
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Cn", "Zl", "Zp"))  # control, format, surrogate, unassigned, line separators
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$)$", re.IGNORECASE)
_TIMESTAMP = "%Y%m%dT%H%M%S.%fZ"
TIMESTAMP = re.compile(r"\d{8}T\d{6}\.\d{6}Z")
DOCUMENT, TASK, MARKDOWN = "交接-", "任务-", ".md"  # what stands around a step's part in the names of its two files


@lru_cache(maxsize=1024)
def file_name(step: str) -> str:
    """The part of a file's name that stands for a step: at most 120 bytes of UTF-8, never empty, never a path.

    NFKC; illegal, control and invisible characters are stripped, outer dots, spaces, dashes and tildes too, and a
    device name of Windows gets a `_` before it. If the result is not the name itself, `-` and 6 hex digits of the
    name's sha256 follow.

    Different names give different files, also where the file system ignores case: a name that is not its own case
    fold (`Work`) always carries the digits, and so does a name that looks as if it carried them already (`x-1a2b3c`).
    What remains is a collision of 24 bits between names that are alike after stripping.
    """
    safe = _safe(step)
    if safe and safe == step == step.casefold() and _bytes(safe) <= LONGEST and not _MARKED.search(safe):
        return safe
    mark = sha256(step.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_DIGITS]
    return f"{_cut(safe, LONGEST - 1 - _MARK_DIGITS) or UNNAMED}-{mark}"


def document_name(step: str) -> str:
    """The name of the step's document."""
    return f"{DOCUMENT}{file_name(step)}{MARKDOWN}"


def task_name(step: str) -> str:
    """The name of the file with all that the person said to the step."""
    return f"{TASK}{file_name(step)}{MARKDOWN}"


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as a part of a file's name, in UTC, with microseconds: 20261129T160512.123456Z."""
    return datetime.fromtimestamp(seconds, UTC).strftime(_TIMESTAMP)


def timestamp_seconds(text: str) -> float:
    """The inverse of `timestamp`. Raises ValueError."""
    return datetime.strptime(text, _TIMESTAMP).replace(tzinfo=UTC).timestamp()


def _safe(step: str) -> str:
    """The name without what a file's name cannot hold. Stripping may join characters anew, so until nothing changes."""
    before, after = None, step
    while before != after:
        before = after
        normal = unicodedata.normalize("NFKC", after)
        kept = (c for c in normal if c not in _ILLEGAL and unicodedata.category(c) not in _INVISIBLE)
        after = "".join(kept).strip(". ").lstrip("-~. ")
    stem = after.partition(".")[0].rstrip()
    return f"_{after}" if _DEVICE.match(stem) else after


def _cut(text: str, longest: int) -> str:
    """The first `longest` bytes of the text at most, cut between characters; no dot or space at the end."""
    return text.encode("utf-8")[:longest].decode("utf-8", "ignore").rstrip(". ")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8"))
