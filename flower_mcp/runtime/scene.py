"""The supervisor's own part of a document's scene: facts that code knows better than a writer.

Pointers, at most 40 lines: where git stands, what was stopped at the handoff, which processes live on. Every path in it
leads somewhere as seen from the workspace, or is marked gone. The workspace's own git configuration must not run
anything while we look (hooks, fsmonitor); a slow or broken git costs 5 s at most, and what it
has not told by then.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import anyio

from flower_mcp.core.happened import one_line
from flower_mcp.runtime.keeping import Running
from flower_mcp.runtime.signals import BackgroundTask

MOST_LINES = 40
MOST_FILES = 20
GIT_TIMEOUT = 5.0  # seconds for all that is asked of git
QUIET = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "log.showSignature=false")  # each of them runs a program
LONGEST_PATH = 400  # characters
GONE = " (gone)"
HEAD = "Recorded by flower (code, not the session) at the handoff:"


async def _git(workspace: Path, *arguments: str) -> str:
    """What git prints, "" when there is no repository or no git."""
    quiet = [part for setting in QUIET for part in ("-c", setting)]
    command = ["git", "--no-optional-locks", *quiet, *arguments]
    try:
        done = await anyio.run_process(
            command, cwd=workspace, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return ""
    return os.fsdecode(done.stdout) if done.returncode == 0 else ""


async def git_lines(workspace: Path) -> list[str]:
    """Head, branch and changed files of the workspace's repository; what git told within the limit."""
    lines: list[str] = []
    with anyio.move_on_after(GIT_TIMEOUT):
        status = await _git(workspace, "status", "--porcelain=v1", "--branch", "--untracked-files=normal", "-z")
        if not status:
            return []
        branch, *changed = _entries(status)
        lines.append(f"- git: {one_line(branch.removeprefix('## '), 200)}")
        head = one_line(await _git(workspace, "log", "-1", "--format=%h %s"), 100) or "(no commit yet)"
        lines[0] += f", head {head}"
        if changed:
            top = Path((await _git(workspace, "rev-parse", "--show-toplevel")).rstrip("\n"))
            lines += [f"- git: {_seen_from(workspace, top, entry)}" for entry in changed[:MOST_FILES]]
        if len(changed) > MOST_FILES:
            lines.append(f"- git: and {len(changed) - MOST_FILES} more changed files (git status)")
    return lines


def _entries(status: str) -> list[str]:
    """The entries of `git status -z`, where the old name of a renamed file is an entry of its own."""
    entries: list[str] = []
    is_old_name = False
    for entry in status.rstrip("\0").split("\0"):
        if not is_old_name:
            entries.append(entry)
        is_old_name = not is_old_name and not entry.startswith("##") and bool({"R", "C"} & set(entry[:2]))
    return entries


def _seen_from(workspace: Path, top: Path, entry: str) -> str:
    """An entry with its path as it leads from the workspace, marked when it leads nowhere. git's begins at the top."""
    state, name = entry[:3], entry[3:]
    path = os.path.relpath(top / name, workspace) + ("/" if name.endswith("/") else "")
    return f"{state}{one_line(path, LONGEST_PATH)}{'' if exists(top / name) else GONE}"


def exists(path: Path) -> bool:
    """Whether something is there, if only a link; a path that the system cannot take leads nowhere."""
    try:
        path.lstat()
    except (OSError, ValueError):
        return False
    return True


def last_line(path: str | None) -> str:
    """The last line that is not blank of a task's output, shortened; reads 4 kB at most."""
    if not path:
        return ""
    try:
        with Path(path).open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 4096))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    return next((text.strip()[:160] for text in reversed(lines) if text.strip()), "")


def stopped_lines(tasks: Iterable[BackgroundTask]) -> list[str]:
    """Agents and shells that end with the session."""
    lines = []
    for task in tasks:
        kind = "agent" if task.is_agent else "shell"
        command = f" ({' '.join(task.command.split())[:200]})" if task.command else ""
        line = f"- stopped at the handoff, {kind}: {task.description}{command}"
        if task.output_file:
            line += f"; output in {task.output_file}{'' if exists(Path(task.output_file)) else GONE}"
        if last := last_line(task.output_file):
            line += f"; last line: {last}"
        lines.append(line)
    return lines


def running_lines(processes: Iterable[Running]) -> list[str]:
    """Processes that live on."""
    return [f"- still running: pid {process.pid}: {process.command}" for process in processes]


def add_to_scene(scene: str, lines: Sequence[str]) -> str:
    """The scene with the supervisor's part below it; unchanged when there is nothing to record."""
    if not lines:
        return scene
    kept = list(lines[: MOST_LINES - 1])
    if len(lines) > len(kept):
        kept[-1] = f"- and {len(lines) - len(kept) + 1} more"
    return "\n\n".join(part for part in (scene.strip("\n"), "\n".join([HEAD, *kept])) if part)
