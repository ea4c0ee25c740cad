"""What a run believes of what it finds: the step's own files, and what the workspace brings for Claude Code.

A cloned repository can bring a `.flower/` and a `.claude/`. Of the first, the files of a step that this machine does
not know go to the archive before anything reads them, and an unknown document is named to the session as a file that it
must not obey. Of the second, whatever can run a command or grant a permission is left out until a person has trusted
the folder, here or in Claude Code's own dialog, which a run without a terminal does not show. It must not ask anybody.

What can hurt: leaving out the project's settings leaves out its CLAUDE.md too, so that is let in by another way.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flower_mcp.core.commands import command_line
from flower_mcp.core.errors import FlowerError, Usage
from flower_mcp.core.policy import AgentSpec
from flower_mcp.core.texts import render
from flower_mcp.workbench.files import read_whole
from flower_mcp.workbench.folders import home_folder
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.live import Live
from flower_mcp.workbench.unknown import left, make_private, put_aside
from flower_mcp.workbench.workbench import Workbench

SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
SERVERS = ".mcp.json"
FOLDERS = (".claude/agents", ".claude/commands", ".claude/skills")  # each may hold hooks, or `!` commands
LEFT_OUT = ("project", "local")  # the CLI's sources that a workspace fills
# Has the CLI read CLAUDE.md and .claude/rules of a folder that is added, which it does not otherwise.
READ_CLAUDE_MD = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"

_LONGEST = 80  # characters of a command that a sentence shows
_MOST = 6  # things of one file that a sentence names


@dataclass(frozen=True, slots=True)
class Belief:
    """What an earlier run's books are worth. `known`: they are this machine's. `document`: where an unknown document
    lies now. `note` says it to people; "" when there is nothing to say."""

    known: bool = True
    document: Path | None = None
    note: str = ""


def look(workbench: Workbench, step: str) -> Belief:
    """What a run would believe, without changing anything: `document` is where an unknown one lies. Raises
    FilesError."""
    if workbench.known.step(workbench.workspace, step):
        return Belief()
    document = workbench.read(step)
    strange = document is not None and not workbench.comes_from_here(document)
    files = left(workbench.lives, workbench.tasks, workbench.workspace, step, workbench.known)
    return Belief(not files and not strange, document.path if document is not None and strange else None)


def claim(
    workspace: Path, workbench: Workbench | None, lives: Live, known: Known, step: str, *, prompt: str, fresh: bool
) -> Belief:
    """Make the step this machine's; what lies there and is not believed goes to the archive. The run lock is held.

    Raises Usage when there is an unknown document and no task, so that nothing can be started; FilesError.
    """
    if known.step(workspace, step):
        return Belief()
    tasks = None if workbench is None else workbench.tasks
    files = left(lives, tasks, workspace, step, known)
    document = None if workbench is None else workbench.read(step)
    strange = workbench is not None and document is not None and not workbench.comes_from_here(document)
    if not prompt and document is None and not files:
        return Belief(known=False)  # nothing will start
    if not prompt and (strange or document is None):
        raise refused(step, document.path if document is not None else files[0])
    if workbench is not None:
        make_private(workbench.folder)
    folder = put_aside(lives, files)
    gone = workbench.documents.put_away(step) if workbench is not None and strange else None
    known.remember(workspace, step)
    note = _note(step, folder, gone)
    return Belief(known=False, document=None if fresh else gone, note=note)


def refused(step: str, path: Path) -> Usage:
    """The error where there is no task, and what could be gone on from is not believed."""
    return Usage(
        f"{path} was not written on this machine, so no session is started from it.",
        kept="Nothing was changed.",
        next=f"Read it: {command_line('show', step)}. To go on from it: {command_line('trust', step)}. "
        "Or give a task: flower 'TASK'",
    )


def _note(step: str, folder: Path | None, document: Path | None) -> str:
    parts = []
    if document is not None:
        parts.append(f"the document of step {step!r} was not written on this machine: it is not used")
        parts.append(f"it lies at {document} now")
    if folder is not None:
        parts.append(f"what is known of the step {step!r} was not written on this machine and counts for nothing")
        parts.append(f"it lies in {folder} now")
    return "; ".join(parts)


def opening_words(words: str, document: Path | None) -> str:
    """The first prompt: the person's words, and a warning where an unknown document lies."""
    return words if document is None else f"{words}\n\n{render('unknown', {'path': str(document)})}"


@dataclass(frozen=True, slots=True)
class Brought:
    """A file or folder of the workspace that tells Claude Code what to do; `says` names what it would run or set."""

    path: Path
    says: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(self.says[:_MOST]) + (", …" if len(self.says) > _MOST else "")
        return f"{self.path} ({shown})" if shown else str(self.path)


def brought(workspace: Path, environ: Mapping[str, str]) -> tuple[Brought, ...]:
    """What the workspace, and the folders above it up to its repository, bring for Claude Code, CLAUDE.md left out.

    The CLI reads them from there too. Never raises: what cannot be read is named all the same.
    """
    found: list[Brought] = []
    for folder in _folders(workspace, environ):
        for name in SETTINGS:
            found += _settings(folder / name)
        found += _settings(folder / SERVERS)
        found += [Brought(folder / name) for name in FOLDERS if _holds_something(folder / name)]
    return tuple(found)


def is_trusted(workspace: Path, environ: Mapping[str, str], known: Known) -> bool:
    """Whether a person has trusted the folder: here, or it or one above it in Claude Code's own dialog."""
    return known.workspace(workspace) or _accepted(workspace, environ)


def held_back(
    spec: AgentSpec, workspace: Path, environ: Mapping[str, str], known: Known
) -> tuple[tuple[str, ...], tuple[Brought, ...]]:
    """The CLI's setting sources for a session, and what is left out by them; nothing where all is trusted."""
    sources = tuple(spec.setting_sources)
    if not set(sources) & set(LEFT_OUT) or is_trusted(workspace, environ, known):
        return sources, ()
    out = brought(workspace, environ)
    return (tuple(each for each in sources if each not in LEFT_OUT) if out else sources), out


def left_out_note(out: tuple[Brought, ...]) -> str:
    """The sentence about settings that were left out."""
    listed = "; ".join(map(str, out))
    return (
        f"settings for Claude Code came with the workspace and are left out until you trust it: {listed}. "
        "CLAUDE.md is read. To use them: flower trust"
    )


def _folders(workspace: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """The workspace and the folders above it, to the top of its repository; outside of one, to the home folder."""
    named = environ.get("HOME") or home_folder()
    home = named and Path(os.path.realpath(named))  # as the workspace is: no links
    for folder in (workspace, *workspace.parents):
        if folder in (home, folder.parent):
            return  # what lies there is the user's own
        yield folder
        if (folder / ".git").exists():
            return


def _settings(path: Path) -> Iterator[Brought]:
    """What a settings file says; nothing for one that is not there or says nothing."""
    try:
        data = read_whole(path)
        if data is None:
            return
        value = json.loads(data)
    except (ValueError, RecursionError, OSError, FlowerError):
        yield Brought(path, ("cannot be read",))
        return
    if value != {}:
        yield Brought(path, tuple(_said(value)) if isinstance(value, Mapping) else ("cannot be read",))


def _said(value: Mapping[str, Any]) -> Iterator[str]:
    """The commands first, then the rest by name."""
    for event, entries in _mapping(value.get("hooks")).items():
        for command in _commands(entries):
            yield f"{event} runs `{_short(command)}`"
    for name, server in _mapping(value.get("mcpServers")).items():
        given = _mapping(server)
        words = [str(given.get("command") or given.get("url") or "?"), *map(str, given.get("args") or ())]
        yield f"server {name}: `{_short(' '.join(words))}`"
    for key, each in value.items():
        if key not in ("hooks", "mcpServers", "$schema"):
            yield f"{key}: `{_short(each)}`" if isinstance(each, str) else f"{key}: {', '.join(_mapping(each)) or each}"


def _commands(entries: object) -> Iterator[str]:
    """All commands anywhere below a hook's entries."""
    if isinstance(entries, Mapping):
        if isinstance(entries.get("command"), str):
            yield entries["command"]
        for inner in entries.values():
            yield from _commands(inner)
    elif isinstance(entries, list):
        for inner in entries:
            yield from _commands(inner)


def _accepted(workspace: Path, environ: Mapping[str, str]) -> bool:
    """What Claude Code's own file says: the answer to its question whether the folder is trusted."""
    config, home = environ.get("CLAUDE_CONFIG_DIR"), environ.get("HOME")
    if not config and not home:
        return False
    path = Path(config or home or "") / ".claude.json"
    projects: Mapping[str, Any] = {}
    with suppress(ValueError, RecursionError, OSError):
        projects = _mapping(_mapping(json.loads(path.read_bytes())).get("projects"))
    places = (workspace, *workspace.parents)
    return any(_mapping(projects.get(str(each))).get("hasTrustDialogAccepted") is True for each in places)


def _holds_something(folder: Path) -> bool:
    with suppress(OSError), os.scandir(folder) as entries:
        return any(True for _ in entries)
    return os.path.lexists(folder)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
