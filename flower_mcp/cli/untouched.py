"""What a run made on disk, so that it can be taken away when it was no run after all.

It knows folders alone. What can hurt: nothing may be taken away that was there before, nor what another run made.
"""

from __future__ import annotations

import shutil
from pathlib import Path


class Untouched:
    """The folders that a run would make and that are not there yet."""

    def __init__(self, workspace: Path, run_dir: Path) -> None:
        folders = (workspace / ".flower", run_dir)
        self._missing = [_topmost_missing(folder) for folder in folders if not folder.exists()]
        self._live = folders[0] / "live"

    def restore(self, *, steps: int) -> bool:
        """Take away what the run made where nothing was, if no more than so many steps began there; whether it did."""
        if not self._missing or len(list(self._live.glob("*.json"))) > steps:
            return False
        for folder in self._missing:
            shutil.rmtree(folder, ignore_errors=True)
        return True


def _topmost_missing(folder: Path) -> Path:
    while not folder.parent.exists():
        folder = folder.parent
    return folder
