"""What this machine knows as its own: known.json in the user's state folder.

A document comes from here if its step was run or written here, or if its very text was frozen here; anything else may
have come with a cloned repository. `flower hook` asks too, at every start of an interactive session, so this needs the
standard library alone. It must not know what follows from an answer.

What can hurt: the file is shared by all processes of a user, so it changes under a lock and is replaced whole; one that
cannot be read is set aside and counts for nothing, and one that cannot be written costs trust later, never the work
now: `say` gets a sentence, nothing is raised.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flower_mcp.core.errors import FlowerError
from flower_mcp.workbench.files import make_folder, read_whole, write_whole
from flower_mcp.workbench.json_files import dump, set_aside
from flower_mcp.workbench.locks import write_lock
from flower_mcp.workbench.windows import state_folder

KNOWN, LOCK = "known.json", "known.json.lock"
REVISIONS = 1_000  # the last ones frozen here that are kept: months of work
PAIRS = 5_000  # steps and trusted workspaces that are kept: years of work, and still read in a millisecond


@dataclass(frozen=True, slots=True)
class _Content:
    """The file's content, each list in the order in which it became known, and the keys of others."""

    pairs: tuple[tuple[str, str], ...] = ()
    revisions: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()
    more: tuple[tuple[str, Any], ...] = ()


class Known:
    """What is known on this machine. Making the object touches nothing on disk.

    `folder` is the user's state folder, by default the one that the environment says when it is needed. No method
    raises; `say` gets sentences about what could not be read or written.
    """

    def __init__(self, folder: Path | None = None, *, say: Callable[[str], None] = lambda _note: None) -> None:
        self._folder = folder
        self._say = say
        self._last: tuple[bytes, _Content] | None = None  # what was read or written last: parsing takes the longest
        self._pairs: tuple[tuple[tuple[str, str], ...], str] = ((), "[]")

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return (state_folder() if self._folder is None else self._folder) / KNOWN

    def step(self, workspace: Path, step: str) -> bool:
        """Whether the step of this workspace was run, written or trusted here."""
        return (str(workspace), step) in self._read().pairs

    def any_step(self, workspace: Path) -> bool:
        """Whether any step of this workspace was."""
        return any(pair[0] == str(workspace) for pair in self._read().pairs)

    def revision(self, revision: str) -> bool:
        """Whether this very text was frozen here, lately."""
        return bool(revision) and revision in self._read().revisions

    def document(self, workspace: Path, step: str, revision: str) -> bool:
        """Whether a step's document comes from here: by its step, or by its text. Else it is shown, never injected."""
        content = self._read()
        return (str(workspace), step) in content.pairs or (bool(revision) and revision in content.revisions)

    def workspace(self, workspace: Path) -> bool:
        """Whether a person trusts what the workspace brings for Claude Code: its settings, servers and skills."""
        return str(workspace) in self._read().workspaces

    def fault(self) -> str:
        """Why the file counts for nothing, "" when it does not; it stays where it lies."""
        try:
            self._content()
        except (ValueError, OSError, FlowerError) as error:
            return str(error)
        return ""

    def remember(self, workspace: Path, step: str, revision: str = "") -> None:
        """The step is known from now on; a `revision` was frozen here."""
        pair = (str(workspace), step)
        self._change(
            lambda content: replace(
                content,
                pairs=content.pairs if pair in content.pairs else (*content.pairs[1 - PAIRS :], pair),
                revisions=_with(content.revisions, revision),
            )
        )

    def keep(self, revision: str) -> None:
        """This text was written here; of its step nothing is said."""
        self._change(lambda content: replace(content, revisions=_with(content.revisions, revision)))

    def follow(self, workspace: Path, step: str, before: str, after: str) -> None:
        """A person or a tool changed a document through flower: if it was known before, it stays so."""
        if before != after and self.document(workspace, step, before):
            self.keep(after)

    def trust(self, workspace: Path) -> None:
        """What the workspace brings for Claude Code is trusted from now on."""
        name = str(workspace)
        self._change(lambda content: replace(content, workspaces=_with(content.workspaces, name, PAIRS)))

    def _read(self) -> _Content:
        try:
            return self._content()
        except ValueError:
            return self._mended()
        except (OSError, FlowerError) as error:
            self._say(f"What this machine knows as its own cannot be read: {error}")
            return _Content()

    def _mended(self) -> _Content:
        """Set a broken file aside, unless somebody has done so by now."""
        try:
            with self._locked():
                return self._or_aside()
        except (OSError, FlowerError) as error:
            self._say(f"What this machine knows as its own cannot be read: {error}")
            return _Content()

    def _change(self, change: Callable[[_Content], _Content]) -> None:
        try:
            with self._locked():
                before = self._or_aside()
                after = change(before)
                if after != before:
                    data = _data(after, self._text_of(after.pairs))
                    write_whole(self.path, data, durable=False)
                    self._last = (data, after)
        except (OSError, FlowerError) as error:
            self._say(f"What was written here cannot be noted, so it will have to be trusted again: {error}")

    def _text_of(self, pairs: tuple[tuple[str, str], ...]) -> str:
        """Thousands of steps may be known, and a freeze of one of them leaves them as they are."""
        if self._pairs[0] is not pairs:
            self._pairs = (pairs, dump(pairs))
        return self._pairs[1]

    def _locked(self) -> Any:
        folder = self.path.parent
        make_folder(folder)
        return write_lock(folder / LOCK)

    def _or_aside(self) -> _Content:
        """The content; a file that cannot be read is set aside. The lock is held."""
        try:
            return self._content()
        except ValueError:
            aside = set_aside(self.path)
            self._say(f"{self.path} could not be read. It is kept as {aside}; documents have to be trusted again.")
            return _Content()

    def _content(self) -> _Content:
        """Raises ValueError, FilesError."""
        data = read_whole(self.path)
        if data is None:
            return _Content()
        if self._last is None or self._last[0] != data:
            self._last = (data, _parsed(data))
        return self._last[1]


def is_known(workspace: str | os.PathLike[str], step: str, revision: str = "") -> bool:
    """Whether a step's document comes from this machine. Never raises; reads one small file."""
    return Known().document(Path(workspace).resolve(), step, revision)


def _parsed(data: bytes) -> _Content:
    """Raises ValueError."""
    try:
        value = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("no object")
    more = tuple((key, each) for key, each in value.items() if key not in ("pairs", "revisions", "workspaces"))
    pairs = tuple((one, other) for one, other in map(_texts, _list(value, "pairs")))
    revisions = tuple(each for each in _texts(_list(value, "revisions")) if each.isascii() and each.isalnum())
    return _Content(pairs, revisions, _texts(_list(value, "workspaces")), more)


def _with(known: tuple[str, ...], new: str, most: int = REVISIONS) -> tuple[str, ...]:
    """The new one last, and `most` in all."""
    if not new or (known and known[-1] == new):
        return known
    if new in known:
        known = tuple(each for each in known if each != new)
    return (*known[1 - most :], new)


def _data(content: _Content, pairs: str) -> bytes:
    rest = dump({"workspaces": content.workspaces, **dict(content.more)})
    revisions = '","'.join(content.revisions)  # letters and digits alone: encoding a thousand texts takes longest
    listed = f'"{revisions}"' if revisions else ""
    return f'{{"pairs": {pairs}, {rest[1:-1]}, "revisions": [{listed}]}}\n'.encode()


def _list(value: dict[str, Any], key: str) -> list[Any]:
    """Raises ValueError when the key holds something else."""
    found = value.get(key, [])
    if not isinstance(found, list):
        raise ValueError(f"{key} is no list")
    return found


def _texts(found: Any) -> tuple[str, ...]:
    """Raises ValueError when it is no list of texts."""
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError("no list of texts")
    return tuple(found)
