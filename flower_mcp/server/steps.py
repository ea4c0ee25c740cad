"""Which steps there are, what each is doing, and which one a caller means.

It knows the workbench and nothing of MCP. What can hurt: a workbench may hold a thousand steps and is looked at with
every call, so a folder is listed again, a live file opened again and a document parsed again only when it changed. A
document may lie there without live state (somebody froze it through the library); its step's true name is then known
only if the file's name is that name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from flower_mcp.core.books import LiveStep, State, StepResult, as_json
from flower_mcp.core.errors import NothingThere, Usage
from flower_mcp.server.memo import Memo, Signature, Stamp, is_settled, signature
from flower_mcp.workbench.documents import Document
from flower_mcp.workbench.locks import is_held
from flower_mcp.workbench.names import file_name
from flower_mcp.workbench.workbench import Workbench

DEFAULT = "work"  # the step's name when nobody gives one
LISTED = 20  # names in an error; more would push the advice out of sight
LONGEST_NAME = 200  # characters
REMEMBERED = 32  # steps; more than an overview shows

PREFIX, SUFFIX, LIVE, HOLD = "交接-", ".md", ".json", ".hold"  # what the names of files are made of

_NEVER: Signature = (0, 0, 0)  # of a file that is to be opened again


@dataclass(frozen=True, slots=True)
class Known:
    """A step as its files say: the state that was written, and when, in nanoseconds since the epoch."""

    signature: Signature
    step: str
    state: State
    changed: int


class Steps:
    """The steps of one workbench. `default` is the step of a caller who names none ("": not given)."""

    def __init__(self, workbench: Workbench, default: str = "") -> None:
        self.workbench = workbench
        self.default = default
        self._known: dict[str, Known] = {}
        self._folders_known: Memo[dict[str, Known]] = Memo(1)
        self._folders_named: Memo[list[str]] = Memo(1)
        self._documents: Memo[Document] = Memo(REMEMBERED)
        self._lives: Memo[LiveStep] = Memo(REMEMBERED)
        self._values: dict[str, tuple[LiveStep, dict[str, Any]]] = {}

    def all(self) -> tuple[Known, ...]:
        """All steps, the one that changed last first. Their states are as written: `state` computes lost."""
        known = dict(self._lives_known())
        for name in self._documents_named():
            if name not in known and file_name(name) == name:
                with suppress(OSError):
                    changed = (self.workbench.notes / f"{PREFIX}{name}{SUFFIX}").lstat().st_mtime_ns
                    known[name] = Known(_NEVER, name, State.IDLE, changed)
        return tuple(sorted(known.values(), key=attrgetter("changed"), reverse=True))

    def _lives_known(self) -> dict[str, Known]:
        """What the live files say. They are only ever replaced, which changes their folder, so it is asked first."""
        stamp = (_signature_of(self.workbench.lives.folder),)
        if (known := self._folders_known.get(LIVE, stamp)) is not None:
            return known
        known = {}
        for entry in files_in(self.workbench.lives.folder, "", LIVE):
            name = entry.name[: -len(LIVE)]
            found = self._look(name, entry)
            if found is not None:
                known[name] = found
        self._known = known
        if all(each.signature != _NEVER for each in known.values()):
            self._folders_known.put(LIVE, stamp, known)
        return known

    def _documents_named(self) -> list[str]:
        """What the documents' files are named after. A file that comes, goes or is replaced changes their folder."""
        stamp = (_signature_of(self.workbench.notes),)
        if (names := self._folders_named.get(PREFIX, stamp)) is None:
            names = [entry.name[len(PREFIX) : -len(SUFFIX)] for entry in files_in(self.workbench.notes, PREFIX, SUFFIX)]
            self._folders_named.put(PREFIX, stamp, names)
        return names

    def exists(self, step: str) -> bool:
        """Whether anything is known of the step. Looks at that step alone."""
        return self.workbench.documents.path(step).exists() or self.workbench.live(step) is not None

    def is_running(self, step: str) -> bool:
        """Whether somebody holds the step's run lock."""
        return is_held(self.workbench.lives.folder / f"{file_name(step)}.lock")

    def named(self, name: str) -> str | None:
        """The step whose files have this name; None when that cannot be told."""
        if file_name(name) == name:
            return name
        if name not in self._known:
            self.all()
        return self._known[name].step if name in self._known else None

    def state(self, known: Known) -> State:
        """The step's state, `lost` when it has not ended and nobody runs it."""
        over = known.state.ended or known.state is State.IDLE
        return known.state if over or self.is_running(known.step) else State.LOST

    def live(self, step: str) -> LiveStep | None:
        """The step whole, its document as it lies on disk now; None when nothing is known. Raises FilesError."""
        stamp = self._stamp(step)
        known = self._lives.get(step, stamp)
        if known is not None and self._still_holds(known):
            return known
        live, document = self.workbench.live(step), self.document(step)
        if live is None:
            if document is None:
                return None
            live = LiveStep(step, State.IDLE, StepResult(run="", step=step))
        edited = document is not None and is_edited(live, document.revision)
        shown = None if document is None else document.state(edited=edited)
        live = replace(live, document=shown, held_since=self._held_since(live))
        self._lives.put(step, stamp, live)
        return live

    def _held_since(self, live: LiveStep) -> str | None:
        """Since when the next launch is held. What a supervisor wrote counts as long as there is one; `flower hold`
        counts also before one has seen it."""
        is_at_work = not live.state.ended and live.state not in (State.IDLE, State.LOST)
        if is_at_work and live.held_since is not None:
            return live.held_since
        hold = self.workbench.holds.state(live.step)
        return None if hold is None else hold.since

    def value(self, live: LiveStep) -> dict[str, Any]:
        """What `live` gave, as JSON; not to be changed by whoever gets it."""
        known = self._values.get(live.step)
        if known is not None and known[0] is live:
            return known[1]
        if len(self._values) >= REMEMBERED:
            self._values.clear()
        value = as_json(live)
        self._values[live.step] = (live, value)
        return value

    def document(self, step: str) -> Document | None:
        """The step's document as it lies on disk now, parsed again only when it changed. Raises FilesError."""
        path = self.workbench.documents.path(step)
        stamp = (_signature_of(path),)
        known = self._documents.get(step, stamp)
        if known is not None:
            return known
        document = self.workbench.documents.read(step, self._documents.last(step))
        if document is not None:
            self._documents.put(step, stamp, document)
        return document

    def remember(self, document: Document) -> None:
        """Keep what was just written, so that it need not be parsed when it is read back."""
        self._documents.put(document.step, None, document)

    def live_signature(self, step: str) -> Signature | None:
        """The signature of a step's live file, None when there is none."""
        return _signature_of(self.workbench.lives.folder / f"{file_name(step)}{LIVE}")

    def _stamp(self, step: str) -> Stamp:
        """The signatures of a step's live file, its document and its hold. Raises FilesError."""
        hold = _signature_of(self.workbench.lives.folder / f"{file_name(step)}{HOLD}")
        return self.live_signature(step), _signature_of(self.workbench.documents.path(step)), hold

    def _still_holds(self, live: LiveStep) -> bool:
        """Whether what was found of a step that has not ended is still so: whether somebody runs it."""
        over = live.state.ended or live.state is State.IDLE
        return over or self.is_running(live.step) is (live.state is not State.LOST)

    def chosen(self, given: str) -> str:
        """The step that a caller means: `given`, else the default one, else the only one, else `work`.

        A default counts before there is anything of it: whoever named it does not mean another one, whose document
        would be written over. Raises Usage, listing the steps, when there are several.
        """
        if given or self.default:
            return given or self.default
        names = [known.step for known in self.all()]
        if len(names) > 1:
            raise Usage(f"There are {len(names)} steps: {listed(names)}.", next="Say which one you mean with `step`.")
        return names[0] if names else DEFAULT

    def existing(self, given: str) -> LiveStep:
        """The step that a caller means, whole as `live` gives it. Raises Usage, NothingThere, FilesError."""
        step = self.chosen(given)
        live = None if len(step) > LONGEST_NAME else self.live(step)
        if live is None:
            raise self.unknown(step)
        return live

    def named_by(self, given: str) -> str:
        """The step that a caller means, of which something is known, without reading its files.

        Raises Usage, NothingThere, FilesError.
        """
        step = self.chosen(given)
        if len(step) > LONGEST_NAME or not self.exists(step):
            raise self.unknown(step)
        return step

    def writable(self, given: str) -> str:
        """The step that a caller means to write: one that exists, or a name that a step may have. Raises Usage."""
        step = self.chosen(given)
        if len(step) > LONGEST_NAME:
            raise Usage(f"A step's name has at most {LONGEST_NAME} characters.", next="Use a short name, like `work`.")
        if _leads_out(step) and not self.exists(step):
            raise Usage(
                f"{step!r} cannot be a step's name: it reads like a path.",
                kept="Nothing was written.",
                next="Use a plain name without slashes and control characters, like `work`.",
            )
        return step

    def unknown(self, step: str) -> NothingThere:
        """The error for a step of which nothing is known."""
        names = [known.step for known in self.all()]
        there = f"The steps are {listed(names)}." if names else "There are no steps yet."
        return NothingThere(
            f"There is no step {step[:LONGEST_NAME]!r}. {there}", next="Name one of them, or write one: write_handoff."
        )

    def _look(self, name: str, entry: os.DirEntry[str]) -> Known | None:
        """What a live file says; None when it cannot be read."""
        try:
            now = signature(entry.stat(follow_symlinks=False))
            before = self._known.get(name)
            if before is not None and before.signature == now:
                return before
            value = json.loads(Path(entry.path).read_bytes())
            if file_name(value["step"]) == name:
                return Known(now if is_settled((now,)) else _NEVER, value["step"], State(value["state"]), now[0])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        return None


def _signature_of(path: Path) -> Signature | None:
    """A file's signature, None when there is none."""
    try:
        return signature(path.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_edited(live: LiveStep, revision: str) -> bool:
    """Whether the document differs from what the step's sessions left; False when the books know no session of it."""
    if not live.row.generations:
        return False
    written = {generation.frozen for generation in live.row.generations if generation.frozen}
    if live.document is not None:
        if live.document.revision == revision:
            return live.document.edited
        written.add(live.document.revision)
    return bool(written) and revision not in written


def listed(names: list[str]) -> str:
    """Names for a sentence, the first ones alone when there are many."""
    shown = ", ".join(names[:LISTED])
    return shown if len(names) <= LISTED else f"{shown} and {len(names) - LISTED} more"


def files_in(folder: Path, prefix: str, suffix: str) -> Iterator[os.DirEntry[str]]:
    """The files of a folder with such names; nothing when there is no folder."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(suffix):
                yield entry


def _leads_out(step: str) -> bool:
    """Whether a name reads like a path, or holds what no name needs."""
    plain = step.strip()
    return (
        not plain
        or plain in {".", ".."}
        or plain.startswith("~")
        or any(sign in step for sign in "/\\")
        or step[1:2] == ":"
        or any(ord(sign) < 32 or ord(sign) == 127 for sign in step)
    )
