"""Folders as people and the system name them: `~`, the current folder, the user's home.

Each may be missing: a user may have no home, a name none that is known, and the current folder may have been removed.
It needs the standard library alone, and makes nothing.
"""

from __future__ import annotations

from pathlib import Path

from flower_mcp.core.errors import Usage


def expanded(given: str | Path) -> Path:
    """The path with `~` or `~name` at its beginning replaced. Raises Usage where that names nobody's home."""
    try:
        return Path(given).expanduser()
    except RuntimeError as error:
        raise Usage(
            f"{str(given)!r} begins with a home folder that there is not.", next="Name the whole path."
        ) from error


def home_folder() -> Path | None:
    """The user's home; None for a user without one."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def current_folder() -> Path | None:
    """The folder that this process works in; None when it has been removed."""
    try:
        return Path.cwd()
    except OSError:
        return None
