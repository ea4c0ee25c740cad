"""The books in the run folder: manifest.json, a row a run, and lineage.json, which session to resume for a step.

It must not know what a row means. Both files are shared with other processes and other programs: each change is made
under the lock of the manifest, and rows of other runs keep their very text. What can hurt: a file that is not what it
should be is set aside, never overwritten, and the caller gets a sentence to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from flower_mcp.core.books import StepResult
from flower_mcp.core.errors import FilesError
from flower_mcp.workbench.book_text import text_of
from flower_mcp.workbench.files import make_home, write_whole
from flower_mcp.workbench.json_files import dump, read_json_file, set_aside
from flower_mcp.workbench.locks import PATIENCE, write_lock

MANIFEST, LINEAGE, LOCK = "manifest.json", "lineage.json", "manifest.json.lock"
_BLANK = " \t\r\n"
_OPENS, _BETWEEN, _CLOSES = "[\n", ",\n", "\n]\n"


class Manifest:
    """`manifest.json`: a JSON array with a row a run. Making the object touches nothing on disk.

    It is written whole at each change, by its format; so whoever has it once does not parse again what he knows.
    """

    def __init__(self, run_dir: Path, patience: float = PATIENCE) -> None:
        self.path = run_dir / MANIFEST
        self.lock = run_dir / LOCK
        self._patience = patience
        self._runs: dict[str, object] = {}  # the run of each row, by its text, as they were last read

    def put(self, row: StepResult) -> tuple[str, ...]:
        """Insert the row, or replace the one with the same `run`. All other rows keep their text and their order.

        Answers sentences to say (a broken manifest was set aside). Raises FilesError, LockTimeout.
        """
        with _locked(self.path.parent, self._patience):
            texts, notes = self._texts_or_aside()
            text = text_of(row)
            at = next((n for n, other in enumerate(texts) if self._runs[other] == row.run), len(texts))
            texts[at : at + 1] = [text]
            self._runs[text] = row.run
            write_whole(self.path, (_OPENS + _BETWEEN.join(texts) + _CLOSES).encode("utf-8", "surrogatepass"))
        return notes

    def rows(self) -> tuple[dict[str, Any], ...]:
        """All rows that are objects, oldest first; nothing when there is no manifest or it cannot be read."""
        try:
            rows = _rows(_text(read_json_file(self.path) or b"[]"))
        except ValueError:
            return ()
        self._runs = {text: _run(value) for text, value in rows}
        return tuple(value for _, value in rows if isinstance(value, dict))

    def _texts_or_aside(self) -> tuple[list[str], tuple[str, ...]]:
        """The rows' texts, the run of each known."""
        try:
            data = read_json_file(self.path)
            rows = [] if data is None else _rows(_text(data), self._runs)
        except ValueError as error:
            self._runs = {}
            return [], (_broken(self.path, error),)
        self._runs = {text: self._runs[text] if text in self._runs else _run(value) for text, value in rows}
        return [text for text, _ in rows], ()


@dataclass(frozen=True, slots=True)
class LineageState:
    """The content of lineage.json: `steps` maps a step to the id of its last session; `woke` counts the wakes.

    `notes` are sentences to say: a broken file was set aside.
    """

    workspace: str = ""
    woke: int = 0
    steps: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Lineage:
    """`lineage.json`, so that the next process finds a step's session. Making the object touches nothing on disk.

    `workspace` is recorded at each change, when it is given: a workspace that moved keeps its lineage.
    """

    def __init__(self, run_dir: Path, workspace: str = "", patience: float = PATIENCE) -> None:
        self.path = run_dir / LINEAGE
        self._patience = patience
        self.workspace = workspace

    def read(self) -> LineageState:
        """The lineage; empty when there is none. A broken file is set aside (`notes` says so). Never raises."""
        try:
            return _lineage(self._read(), ())
        except ValueError as broken:
            try:
                with _locked(
                    self.path.parent, self._patience
                ):  # under the lock: what is set aside must be what was found broken
                    return _lineage(*self._read_or_aside())
            except FilesError as error:
                return LineageState(notes=(f"{self.path} could not be read ({broken}), nor set aside: {error}",))

    def remember(self, step: str, session_id: str) -> LineageState:
        """Note the session of a step. Raises FilesError, LockTimeout."""
        return self._change(lambda value: {"steps": {**value["steps"], step: session_id}})

    def wake(self) -> LineageState:
        """Count one more wake; the new count is in the answer. Raises FilesError, LockTimeout."""
        return self._change(lambda value: {"woke": value["woke"] + 1})

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> LineageState:
        with _locked(self.path.parent, self._patience):
            value, notes = self._read_or_aside()
            value |= {"workspace": self.workspace or value["workspace"], **change(value)}
            write_whole(self.path, (dump(value, indent=2) + "\n").encode())
        return _lineage(value, notes)

    def _read_or_aside(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        try:
            return self._read(), ()
        except ValueError as error:
            note = _broken(self.path, error)
            return self._read(), (note,)

    def _read(self) -> dict[str, Any]:
        """The file's object with all our keys, unknown keys kept. Raises ValueError."""
        data = read_json_file(self.path)
        value = {} if data is None else _parsed(data)
        return {"workspace": self.workspace, "woke": 0, "steps": {}, **value}


def fault_of(path: Path) -> str:
    """Why a book cannot be read, "" when it can or is not there; it stays where it lies."""
    try:
        data = read_json_file(path)
        if data is not None:
            _elements(_text(data)) if path.name == MANIFEST else _parsed(data)
    except ValueError as error:
        return str(error)
    return ""


def _lineage(value: Mapping[str, Any], notes: tuple[str, ...]) -> LineageState:
    return LineageState(value["workspace"], value["woke"], dict(value["steps"]), notes)


def _parsed(data: bytes) -> dict[str, Any]:
    """The object in the file, if the keys that we know hold what they should. Raises ValueError."""
    try:
        value = json.loads(_text(data))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    steps = value.get("steps", {})
    kinds = (isinstance(steps, dict), type(value.get("woke", 0)) is int, isinstance(value.get("workspace", ""), str))
    if not all(kinds) or not all(isinstance(session, str) for session in steps.values()):
        raise ValueError("workspace, woke or steps is not what it should be")
    return value


@contextmanager
def _locked(run_dir: Path, patience: float) -> Iterator[None]:
    """The run folder exists and nobody else changes its books."""
    make_home(run_dir)
    with write_lock(run_dir / LOCK, patience):
        yield


def _text(data: bytes) -> str:
    """UTF-8 with or without a BOM. Raises ValueError."""
    return data.decode("utf-8-sig")


def _rows(text: str, known: Mapping[str, object] = MappingProxyType({})) -> list[tuple[str, Any]]:
    """As `_elements`, in half the time for a manifest as we write it: a row a line. One that is `known` gets None."""
    if text.startswith(_OPENS) and text.endswith(_CLOSES):
        texts = text[len(_OPENS) : -len(_CLOSES)].split(_BETWEEN)
        with suppress(ValueError, RecursionError):  # not as we write it, or broken
            return [(each, None if each in known else json.loads(each)) for each in texts]
    return _elements(text)


def _elements(text: str) -> list[tuple[str, Any]]:
    """The elements of a JSON array, each with its own text. Raises ValueError when the text is no array."""
    decoder, found = json.JSONDecoder(), []
    at = _after(text, 0, "[")
    while not text.startswith("]", at):
        try:
            value, end = decoder.raw_decode(text, at)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        found.append((text[at:end], value))
        at = _skip(text, end)
        if text.startswith(",", at):
            at = _skip(text, at + 1)
        elif not text.startswith("]", at):
            raise ValueError(f"it is no JSON array at character {at}")
    if _skip(text, at + 1) != len(text):
        raise ValueError("something follows the JSON array")
    return found


def _after(text: str, at: int, sign: str) -> int:
    """The place after the sign that must come next. Raises ValueError."""
    at = _skip(text, at)
    if not text.startswith(sign, at):
        raise ValueError("it is no JSON array")
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    """The place of the next character that is not blank."""
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _run(value: object) -> object:
    return value.get("run") if isinstance(value, dict) else None


def _broken(path: Path, error: Exception) -> str:
    """Set the file aside; the sentence that says so."""
    aside = set_aside(path)
    return f"{path} could not be read ({error}); it is kept as {aside.name if aside else 'nothing'}, a new one begins."
