"""Edits of files, and which of them were taken back: by the reverse edit, an earlier text, or git.

It must not know transcripts or disks: calls come in as values. Writers of handoffs leave such edits out, though each
was an attempt that did not hold. What can hurt: texts are compared by digests, so nothing of a file is kept; what a
command or a person did to a file is seen only when it is edited again; an edit that was made again afterwards holds,
and is not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Any

from flower_mcp.core.transcript import text_of

CHANGERS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
ABSENT = b"absent"  # stands for the text of a file that is not there
LONGEST_SHOWN = 400  # characters

SEPARATORS = re.compile(r"\|\|?|&&?|;|\n")  # between the commands of one command line
_RESTORERS = ("checkout", "restore", "reset")
_MOST_PARTS = 50  # of one command
_MOST_LOOKS = 1_000_000  # comparisons of a path with a file; a session has hundreds


@dataclass(frozen=True, slots=True)
class Change:
    """What a call made of a file. Texts are told by their digests, None where the transcript does not hold them."""

    path: str
    before: bytes | None
    after: bytes | None
    old: bytes = b""
    new: bytes = b""
    shown: str = ""  # the start of what was put in

    @property
    def key(self) -> tuple[bytes, bytes]:
        """What tells this change of a file from others."""
        return (self.old, self.new) if self.old or self.new else (b"", self.after or b"")


class How(StrEnum):
    """How an edit was taken back."""

    EDITED = "edited back"
    WRITTEN = "written back to its earlier text"
    RESTORED = "restored by git"
    OUTSIDE = "taken back by something else, a command or a person"


@dataclass(frozen=True, slots=True)
class Undone:
    """A change that does not hold any more, and how it was taken back."""

    change: Change
    how: How


def change_of(tool: str, path: str, given: Mapping[str, Any], answer: Mapping[str, Any]) -> Change:
    """What a call that went well made of a file: `given` is its input, `answer` the CLI's own record of the result.

    The record has the file's text before the call, and the strings as the CLI really matched them.
    """
    original = answer.get("originalFile")
    before = _digest(original) if isinstance(original, str) else None
    if tool == "Write":
        content = given.get("content")
        before = ABSENT if answer.get("type") == "create" else before
        after = _digest(content) if isinstance(content, str) else None
        return Change(path, before, after, shown=text_of(content)[:LONGEST_SHOWN])
    old, new = answer.get("oldString", given.get("old_string")), answer.get("newString", given.get("new_string"))
    if tool != "Edit" or not isinstance(old, str) or not isinstance(new, str):
        return Change(path, before, None)
    after = None
    if isinstance(original, str) and old:
        after = _digest(original.replace(old, new, -1 if given.get("replace_all") is True else 1))
    return Change(path, before, after, _digest(old), _digest(new), new[:LONGEST_SHOWN])


def undone(steps: Iterable[tuple[Change | None, str]]) -> list[Undone]:
    """The changes that were taken back and not made again, in the order of their files' first edit.

    `steps`: for each call that went well, in order, what it changed, or the command that it ran.
    """
    files: dict[str, _File] = {}
    looks = 0
    for change, command in steps:
        if change is not None:
            files.setdefault(change.path, _File()).take(change)
        elif command:
            for token, is_path in restored(command):
                looks += len(files)
                for path, file in files.items() if looks < _MOST_LOOKS else ():
                    if file.holds and _meets(token, path, is_path=is_path):
                        file.restore()
    return [each for file in files.values() for each in file.undone.values()]


def restored(command: str) -> Iterator[tuple[str, bool]]:
    """The paths that a command has git put back, "" for the whole tree; whether it surely is a path, not a branch."""
    if "git" not in command or not any(name in command for name in _RESTORERS):
        return
    for part in SEPARATORS.split(command)[:_MOST_PARTS]:
        words = [word.strip("'\"") for word in part.split()]
        if "git" not in words:
            continue
        words = words[words.index("git") + 1 :]
        name = next((word for word in words if word in _RESTORERS), "")
        if not name:
            continue
        given = words[words.index(name) + 1 :]
        if name == "reset":
            yield from [("", True)] if "--hard" in given else []
        elif not _leaves_files(name, given):
            sure = name == "restore" or "--" in given
            paths = given[given.index("--") + 1 :] if "--" in given else given
            yield from (
                ("" if path in (".", ":/") else path.removeprefix("./"), sure)
                for path in paths
                if path[:1] not in ("-", "")
            )


def _leaves_files(name: str, given: list[str]) -> bool:
    """Whether the files themselves stay as they are: a new branch, or the index alone."""
    if name == "checkout":
        return bool({"-b", "-B", "--orphan"} & set(given))
    return bool({"--staged", "-S"} & set(given)) and not {"--worktree", "-W"} & set(given)


def _meets(token: str, path: str, *, is_path: bool) -> bool:
    if not token or path == token or path.endswith(f"/{token}"):
        return True
    return is_path and f"/{token.rstrip('/')}/" in path


class _File:
    """One file's changes: those that hold, and those that were taken back."""

    def __init__(self) -> None:
        self.undone: dict[tuple[bytes, bytes], Undone] = {}
        self.holds: dict[tuple[bytes, bytes], Change] = {}
        self._texts: list[bytes] = []  # the texts that led to the present one, which is the last
        self._places: dict[bytes, int] = {}
        self._made: list[Change | None] = []  # each led from one of these texts to the next; None: something else
        self._is_new = False

    def take(self, change: Change) -> None:
        if change.before is not None and change.before == change.after:
            return
        self._is_new = self._is_new or change.before == ABSENT
        self._meet(change.before)
        self.undone.pop(change.key, None)
        gone = self._go(change.after, change)
        reverse = (change.new, change.old)
        if gone:
            self._take_back(gone, How.EDITED if change.old else How.WRITTEN)
        elif change.old and reverse in self.holds:
            self._take_back([self.holds[reverse]], How.EDITED)
        elif change.key != (b"", b""):
            self.holds[change.key] = change

    def restore(self) -> None:
        """Git has put the file back. One that this session made is not in git, as far as is known."""
        if self._is_new:
            return
        self._take_back(list(self.holds.values()), How.RESTORED)
        self._forget()

    def _take_back(self, changes: list[Change], how: How) -> None:
        for change in changes:
            taken_back = None if change.key in self.holds else self.undone.pop((change.new, change.old), None)
            if taken_back is not None:  # this change had taken that one back
                self.holds[taken_back.change.key] = taken_back.change
        for change in changes:
            if self.holds.pop(change.key, None) is not None:
                self.undone[change.key] = Undone(change, how)

    def _meet(self, text: bytes | None) -> None:
        """Learn of the text that the next change begins with: another one when something else changed the file."""
        if text is None:
            self._forget()
        elif not self._texts:
            self._push(text)
        elif self._texts[-1] != text:
            self._take_back(self._go(text, None), How.OUTSIDE)

    def _go(self, text: bytes | None, by: Change | None) -> list[Change]:
        """Follow the file's text; the changes that are gone when an earlier text is there again."""
        if text is None or not self._texts:
            self._forget()
            return []
        place = self._places.get(text)
        if place is None:
            self._push(text)
            self._made.append(by)
            return []
        gone, self._made = self._made[place:], self._made[:place]
        for each in self._texts[place + 1 :]:
            del self._places[each]
        del self._texts[place + 1 :]
        return [change for change in gone if change is not None]

    def _push(self, text: bytes) -> None:
        self._places[text] = len(self._texts)
        self._texts.append(text)

    def _forget(self) -> None:
        self._texts.clear()
        self._places.clear()
        self._made.clear()


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
