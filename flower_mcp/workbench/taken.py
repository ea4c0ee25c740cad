"""`live/<step>.taken`: the revision of a step's document that a session was given last.

A hook of an interactive session writes it when it gives the document, the supervisor when it launches a successor from
it or tells a living session of an edit: so a hook sees at a glance what nobody has to be given any more. It must not
know who asks. What can hurt: two sessions that start at once must not both be given the same document, so a claim is
made under the step's write lock. The standard library alone: `flower hook` cannot wait for more.
"""

from __future__ import annotations

from pathlib import Path

from flower_mcp.workbench.files import inside, make_folder, make_home, read_whole, write_whole
from flower_mcp.workbench.locks import write_lock
from flower_mcp.workbench.names import file_name

SUFFIX, WRITE = ".taken", ".write"
PATIENCE = 0.05  # seconds that a claim waits for the write lock: a hook keeps a person waiting
_LONGEST = 64  # characters that a revision may have; what is longer is none of ours


class Taken:
    """What was given of each step's document, in the folder `live` of the workbench `home`. Touches no disk itself."""

    def __init__(self, home: Path, live: Path) -> None:
        self._home = home
        self._live = live

    def path(self, step: str) -> Path:
        """Where it is kept. Raises FilesError when a link leads out of the workbench."""
        return inside(self._home, self._live / f"{file_name(step)}{SUFFIX}")

    def read(self, step: str) -> str:
        """The revision that was given last; "" when none was. Raises FilesError."""
        data = read_whole(self.path(step))
        text = "" if data is None else data[: _LONGEST * 2].decode("ascii", "replace").strip()
        return text if text.isalnum() and len(text) <= _LONGEST else ""

    def mark(self, step: str, revision: str) -> None:
        """A session is given this revision. Raises FilesError."""
        path = self.path(step)
        self._prepare()
        write_whole(path, f"{revision}\n".encode(), durable=False)  # lost with the power, it is given once more

    def claim(self, step: str, revision: str) -> bool:
        """Mark it, unless somebody has done so already; False then. Raises FilesError, LockTimeout."""
        self._prepare()
        lock = inside(self._home, self._live / f"{file_name(step)}{WRITE}")
        with write_lock(lock, PATIENCE):
            if self.read(step) == revision:
                return False
            self.mark(step, revision)
            return True

    def _prepare(self) -> None:
        make_home(self._home)
        make_folder(self._live)
