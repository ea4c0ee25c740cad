"""Which folder a server works in: named, else the variables, else the current folder, unless that is no workspace.

It reads what it is given and looks at folders; it makes nothing. What can hurt: a desktop client starts servers in `/`
or in the home folder, where a `.flower` would be litter, and would mix the steps of all projects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from flower_mcp.core.errors import Usage
from flower_mcp.workbench.folders import current_folder, expanded, home_folder
from flower_mcp.workbench.workbench import Workbench

VARIABLES = ("FLOWER_WORKSPACE", "CLAUDE_PROJECT_DIR")
_SET = "Start the server with `--workspace FOLDER`, or set FLOWER_WORKSPACE, to the project's folder."


def choose(given: str | None, environ: Mapping[str, str], current: Path | None, home: Path | None) -> Path:
    """The workspace. `current` None: that folder was removed; `home` None: the user has none.

    Raises Usage, with what to set, when nothing names one, or what is named is no folder.
    """
    named = [("--workspace", given), *((name, environ.get(name)) for name in VARIABLES)]
    for source, value in named:
        if value:
            folder = _folder(value)
            if folder is None or not folder.is_dir():
                raise Usage(f"{source} is {value!r}, which is not a folder.", kept="Nothing was made.", next=_SET)
            return folder.resolve()
    if current is None or is_no_workspace(current, home):
        where = "a folder that was removed" if current is None else str(current)
        raise Usage(
            f"This server does not know in which folder to work: it was started in {where}.",
            kept="Nothing was made.",
            next=_SET,
        )
    return current.resolve()


def is_no_workspace(folder: Path, home: Path | None) -> bool:
    """Whether a folder is the root of a file system or somebody's home."""
    folder = folder.resolve()
    homes = (Path("/root"), *(() if home is None else (home.resolve(),)))
    return folder in (folder.parent, *homes) or folder.parent in (Path("/home"), Path("/Users"))


def opener(given: str | None, environ: Mapping[str, str]) -> Callable[[], Workbench]:
    """What gives the workbench when it is first needed, and raises FlowerError as long as there is none to serve."""
    return lambda: Workbench(choose(given, environ, current_folder(), home_folder()))


def _folder(given: str) -> Path | None:
    """The folder of this name; None where it begins with a home that there is not."""
    with suppress(Usage):
        return expanded(given)
    return None
