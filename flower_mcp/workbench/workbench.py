"""The workbench: `.flower/` in a workspace, where supervisors, servers and editors meet.

A facade over documents, tasks and live state; it must not know sessions or MCP. What can hurt: `.flower` may be a file,
or a link that leads out of the workspace; then nothing is read or written, with a sentence that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from flower_mcp.core.books import LiveStep
from flower_mcp.core.errors import FilesError
from flower_mcp.core.handoff import Handoff
from flower_mcp.workbench.archive import Version
from flower_mcp.workbench.documents import Document, Documents, Frozen
from flower_mcp.workbench.holds import Holds
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.live import Live
from flower_mcp.workbench.locks import PATIENCE, RunLock
from flower_mcp.workbench.taken import Taken
from flower_mcp.workbench.tasks import Tasks
from flower_mcp.workbench.unknown import left

FOLDER = ".flower"


def _silent(_note: str) -> None:
    """Where nobody wants to hear."""


class Workbench:
    """The workbench of a workspace. Making the object touches nothing on disk; the first write makes the folders.

    `workspace` is a folder that exists (its links are resolved once, here). `say` gets sentences about files that could
    not be read and were set aside; `patience`: seconds to wait for a write lock. Raises FilesError when the workspace
    or `.flower` is no folder, or `.flower` a link that leads out.
    """

    def __init__(
        self, workspace: str | Path, *, say: Callable[[str], None] = _silent, patience: float = PATIENCE
    ) -> None:
        self.workspace = Path(workspace).resolve()
        if not self.workspace.is_dir():
            raise FilesError(f"The workspace {self.workspace} is not a folder.", next="Make it, or name another one.")
        self.folder = _folder(self.workspace)
        self.notes = self.folder / "notes"
        archive = self.notes / "archive" / "交接"
        self.lives = Live(self.folder / "live", home=self.folder, archive=archive, say=say, patience=patience)
        self.known = Known(say=say)
        self.documents = Documents(self.folder, self.write_lock, froze=self._froze, changed=self._changed)
        self.tasks = Tasks(self.folder, self.write_lock, self.known.keep)
        self.holds = Holds(self.lives)
        self.taken = Taken(self.folder, self.lives.folder)

    def read(self, step: str) -> Document | None:
        """The step's document as it lies on disk now, None when there is none. Raises FilesError."""
        return self.documents.read(step)

    def freeze(self, step: str, handoff: str | Handoff, expected: str | None = None) -> Frozen:
        """Write the step's document, secrets masked; the one before it goes to the archive.

        `expected`: the revision that must be there ("" or "new": none; None: whatever is there). Raises Conflict,
        FilesError, LockTimeout.
        """
        return self.documents.freeze(step, handoff, expected)

    def edit(self, step: str, section: str, text: str, mode: str = "replace", expected: str | None = None) -> Document:
        """Change one section of the step's document and nothing else. `section`: a field or a heading's name.

        Raises Usage, NothingThere, Conflict, FilesError, LockTimeout.
        """
        return self.documents.edit(step, section, text, mode, expected)

    def comes_from_here(self, document: Document) -> bool:
        """Whether a document was written on this machine, or is trusted: else it is shown, never injected."""
        return self.known.document(self.workspace, document.step, document.revision)

    def words(self, step: str) -> str | None:
        """All that the person said to the step; None when nothing was, or when it was not written here."""
        words = self.tasks.read(step)
        is_unknown = words is not None and self.tasks.path(step) in self._unknown_files(step)
        return None if is_unknown else words

    def history(self, step: str) -> tuple[Version, ...]:
        """The versions before the current one, oldest first."""
        return self.documents.history(step)

    def live(self, step: str) -> LiveStep | None:
        """What the step is doing; None when nothing is known. State `lost`: it did not end, and nobody runs it."""
        return self.lives.read(step)

    def run_lock(self, step: str) -> RunLock:
        """The lock to hold as long as the step runs."""
        return self.lives.run_lock(step)

    def write_lock(self, step: str) -> AbstractContextManager[None]:
        """A context manager that holds the lock for one freeze or edit. Raises LockTimeout."""
        return self.lives.write_lock(step)

    def _froze(self, step: str, revision: str) -> None:
        """The text is this machine's, and so is the step, unless files of it lie there that somebody else wrote."""
        if self._unknown_files(step):
            self.known.keep(revision)
        else:
            self.known.remember(self.workspace, step, revision)

    def _unknown_files(self, step: str) -> tuple[Path, ...]:
        return left(self.lives, self.tasks, self.workspace, step, self.known)

    def _changed(self, step: str, before: str, after: str) -> None:
        self.known.follow(self.workspace, step, before, after)


def _folder(workspace: Path) -> Path:
    """The workbench's folder, its links resolved. Raises FilesError."""
    folder = workspace / FOLDER
    try:
        resolved = folder.resolve()
    except (OSError, RuntimeError) as error:
        raise FilesError(f"{folder} is a link that leads in a circle.", next="Remove the link.") from error
    if workspace not in resolved.parents:
        raise FilesError(
            f"{folder} is a link that leads out of the workspace, to {resolved}.",
            kept="Nothing was read or written.",
            next="Remove the link, or work in the folder that it leads to.",
        )
    if resolved.exists() and not resolved.is_dir():
        raise FilesError(f"{folder} is not a folder.", kept="Nothing was read or written.", next="Move it away.")
    return resolved
