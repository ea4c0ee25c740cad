"""`flower doctor`: the books in the run folder, the config files, and the user's state folder. It reads alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click

from flower_mcp.cli import settings
from flower_mcp.cli.doctor_finding import Examined, Finding
from flower_mcp.cli.phrases import home_path
from flower_mcp.core.errors import FilesError, Usage
from flower_mcp.workbench.files import what_to_do
from flower_mcp.workbench.folders import expanded
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.ledger import LINEAGE, MANIFEST, Manifest, fault_of
from flower_mcp.workbench.owed import UNWRITTEN


def books_check(examined: Examined) -> Iterator[Finding]:
    """Whether manifest and lineage can be read and the run folder written."""
    words = examined.words
    folder = expanded(examined.options.run_dir).absolute()
    path = home_path(folder)
    refused = _refused(folder)
    if refused:
        yield Finding(words("doctor books closed", path=path, why=refused), ok=False, do=(words("doctor name books"),))
        return
    if not folder.exists():
        yield Finding(words("doctor no books", path=path))
        return
    is_well = True
    for name in (MANIFEST, LINEAGE):
        if why := fault_of(folder / name):
            is_well = False
            yield Finding(words("doctor book", path=f"{path}/{name}", why=why), ok=False, do=(words("doctor book do"),))
    if is_well:
        yield Finding(words("doctor books", path=path, count=len(Manifest(folder).rows())))


def state_check(examined: Examined) -> Iterator[Finding]:
    """Whether the state folder can be written, and what lies there that found no other place."""
    words = examined.words
    try:
        folder = examined.state.absolute()
    except FilesError:  # no home, and nothing that says where else
        yield Finding(words("doctor no home"), ok=False, do=(words("doctor no home do"),))
        return
    path = home_path(folder)
    refused = _refused(folder)
    if refused:
        text = words("doctor state closed", path=path, why=refused)
        yield Finding(text, ok=False, do=(words("doctor name state"),))
    else:
        yield Finding(words("doctor state", path=path))
    if why := Known(folder).fault():
        yield Finding(
            words("doctor known", path=f"{path}/known.json", why=why), ok=False, do=(words("doctor known do"),)
        )
    with suppress(OSError):
        left = sorted((folder / UNWRITTEN).iterdir())
        if left:
            names = ", ".join(each.name for each in left[:3]) + (", ..." if len(left) > 3 else "")
            text = words("doctor unwritten", count=len(left), path=f"{path}/{UNWRITTEN}", names=names)
            yield Finding(text, ok=False, do=(words("doctor unwritten do"),))


def config_check(examined: Examined) -> Iterator[Finding]:
    """Which config files there are, and what is wrong with them."""
    words = examined.words
    mine = settings.user_file(examined.environ)
    theirs = examined.workspace / settings.WORKSPACE_FILE
    found = [file for file in (mine, theirs) if _is_there(file)]
    for file in found:
        try:
            _try(file, examined, is_mine=file == mine)
        except Usage as error:
            yield Finding(error.what, ok=False, do=(error.next,))
        else:
            yield Finding(words("doctor config", path=home_path(file)))
    if not found:
        yield Finding(words("doctor no config", path=home_path(mine)))


def _try(file: Path, examined: Examined, *, is_mine: bool) -> None:
    """Read a config file as a run would. Raises Usage."""
    commands = dict(examined.commands)
    if is_mine:
        settings.sound_defaults(file, commands)
        return
    context = click.Context(commands["run"], resilient_parsing=True)
    settings.in_workspace(examined.options, context)


def _is_there(path: Path) -> bool:
    with suppress(OSError):
        return os.path.lexists(path)
    return False


def _refused(folder: Path) -> str:
    """Why nothing could be written to a folder that may not exist yet; "" when it could."""
    try:
        nearest = next(each for each in (folder, *folder.parents) if each.exists())
        if not nearest.is_dir():
            return f"{nearest} is not a folder"
        if not os.access(nearest, os.R_OK | os.W_OK | os.X_OK):
            return f"{nearest} may not be read and written"
    except OSError as error:
        return f"{error.strerror or error}; {what_to_do(error.errno)}"
    return ""
