"""`flower doctor`: the MCP clients on this machine that have an entry for flower-mcp, and whether that entry works.

An entry is tried as its client would: started, greeted, asked for its tools, and ended. What can hurt: an entry in a
project's `.mcp.json` is a command that may have come with a cloned repository, so it is started only where the folder
is trusted; and arguments may hold secrets, so only the program is shown.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flower_mcp.cli.doctor_finding import Examined, Finding
from flower_mcp.cli.doctor_server import tools_of
from flower_mcp.cli.phrases import home_path
from flower_mcp.core.commands import command_line
from flower_mcp.core.errors import Usage
from flower_mcp.workbench.files import read_whole
from flower_mcp.workbench.folders import expanded
from flower_mcp.workbench.known import Known

_OURS = re.compile(r"flower[-_]mcp")
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Entry:
    """What a client's file says about a server: the `client` in words, and how it is started."""

    client: str
    command: str = ""
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    is_projects: bool = False  # it lies in the workspace
    is_desktop: bool = False


def clients_check(examined: Examined) -> Iterator[Finding]:
    """Each entry for flower-mcp that is found."""
    words = examined.words
    found = 0
    for client, file, is_projects, is_desktop in _files(examined.environ, examined.workspace):
        try:
            value = _read(file)
        except ValueError as error:
            text = words("doctor client file", client=client, path=home_path(file), why=str(error))
            yield Finding(text, ok=False, do=(words("doctor client mend"),))
            continue
        for name, server in _servers(value, examined.workspace):
            entry = _entry(client, name, server, examined, is_projects=is_projects, is_desktop=is_desktop)
            if entry is not None:
                found += 1
                yield _tried(examined, entry)
    if not found:
        yield Finding(
            words("doctor no client"),
            do=(words("doctor client add", command=examined.command("config", "claude-code")),),
        )


def _tried(examined: Examined, entry: Entry) -> Finding:
    """What becomes of an entry when it is started."""
    words = examined.words
    again = words("doctor client again", command=_command_for(entry, examined))
    if not entry.command:
        return Finding(words("doctor client url", client=entry.client))
    path = Path(entry.command)
    with suppress(Usage):
        path = expanded(path)
    found = str(path) if path.is_absolute() else shutil.which(entry.command, path=examined.environ.get("PATH"))
    if found is None or not os.access(found, os.X_OK):
        text = words("doctor client missing", client=entry.client, command=entry.command)
        return Finding(text, ok=False, do=(again,))
    if entry.is_projects and not _is_trusted(examined):
        text = words("doctor client strange", client=entry.client, command=entry.command)
        return Finding(text, do=(words("doctor trust do", command=examined.command("trust")),))
    cwd = examined.scratch if entry.is_desktop or not examined.workspace.is_dir() else examined.workspace
    variables = {**examined.environ, "CLAUDE_PROJECT_DIR": str(examined.workspace), **entry.variables}
    if entry.is_desktop:
        variables.pop("CLAUDE_PROJECT_DIR")
    tools, why = tools_of([found, *entry.arguments], cwd, variables)
    if not tools:
        text = words("doctor client fails", client=entry.client, command=entry.command, why=why)
        return Finding(text, ok=False, do=(again,))
    do = (words("doctor client full", command=found),) if entry.is_desktop and not path.is_absolute() else ()
    return Finding(words("doctor client", client=entry.client, command=entry.command, count=tools), do=do)


def _command_for(entry: Entry, examined: Examined) -> str:
    if entry.is_desktop:  # it starts servers anywhere, so the folder must not be one that is seen from here
        return command_line("config", "claude-desktop", workspace=str(examined.workspace))
    return examined.command("config", "claude-code")


def _is_trusted(examined: Examined) -> bool:
    from flower_mcp.runtime.trust import is_trusted

    known = Known(examined.state)
    return not known.fault() and is_trusted(examined.workspace, examined.environ, known)


def _files(environ: Mapping[str, str], workspace: Path) -> Iterator[tuple[str, Path, bool, bool]]:
    """The clients' files that there are: the client in words, the file, is it the project's, a desktop's?"""
    home, config = environ.get("HOME") or environ.get("USERPROFILE"), environ.get("CLAUDE_CONFIG_DIR")
    places: list[tuple[str, Path, bool, bool]] = []
    if config or home:
        places.append(("Claude Code", Path(config or home or "") / ".claude.json", False, False))
    places.append(("Claude Code (.mcp.json)", workspace / ".mcp.json", True, False))
    if sys.platform == "darwin" and home:
        folder: Path | None = Path(home) / "Library" / "Application Support"
    elif sys.platform == "win32":
        folder = Path(environ["APPDATA"]) if environ.get("APPDATA") else None
    else:
        given = environ.get("XDG_CONFIG_HOME")
        folder = Path(given) if given else Path(home) / ".config" if home else None
    if folder is not None:
        places.append(("Claude Desktop", folder / "Claude" / "claude_desktop_config.json", False, True))
    yield from (place for place in places if os.path.lexists(place[1]))


def _read(file: Path) -> Mapping[str, Any]:
    """A client's file. Raises ValueError for what is none."""
    from flower_mcp.core.errors import FilesError

    try:
        value = json.loads((read_whole(file.resolve()) or b"{}").decode("utf-8-sig"))
    except (FilesError, OSError, RuntimeError, RecursionError) as error:
        raise ValueError(error.what if isinstance(error, FilesError) else str(error)) from error
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value


def _servers(value: Mapping[str, Any], workspace: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All servers of a file that count for this workspace."""
    project = _mapping(_mapping(value.get("projects")).get(str(workspace)))
    for holder in (value, project):
        for name, server in _mapping(holder.get("mcpServers")).items():
            yield str(name), _mapping(server)


def _entry(
    client: str,
    name: str,
    server: Mapping[str, Any],
    examined: Examined,
    *,
    is_projects: bool,
    is_desktop: bool,
) -> Entry | None:
    """The entry if it is one of ours; None for other servers."""

    def filled(text: object) -> str:
        known = examined.environ
        return _VARIABLE.sub(lambda one: known.get(one[1]) or one[2] or "", str(text)) if not is_desktop else str(text)

    given = server.get("args")
    arguments = tuple(map(filled, given)) if isinstance(given, list) else ()
    command = filled(server.get("command") or "")
    if name != "flower" and not any(_OURS.search(text) for text in (command, *arguments)):
        return None
    variables = {str(key): filled(text) for key, text in _mapping(server.get("env")).items()}
    return Entry(client, command, arguments, variables, is_projects, is_desktop)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
