"""`flower clean`: remove old archived versions of documents and tasks, after asking.

The only place that removes what was frozen or typed, and only because a person says so. It never touches a current
document, a task, the books, or the newest versions of a step. What can hurt: a yes that nobody gave, so without a
terminal nothing is removed unless --yes was typed.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flower_mcp.cli.choosing import open_workbench
from flower_mcp.cli.output import Output
from flower_mcp.cli.phrases import home_path
from flower_mcp.cli.words import Words, language
from flower_mcp.core.errors import Usage
from flower_mcp.workbench.names import TIMESTAMP, timestamp_seconds
from flower_mcp.workbench.workbench import Workbench

_DAY = 86_400.0  # seconds
_NAME = re.compile(rf"(?P<step>.+)-(?P<stamp>{TIMESTAMP.pattern})\.md")


@dataclass(frozen=True, slots=True)
class Old:
    """An archived version that may go: its path and size in bytes."""

    path: Path
    size: int


def clean_command(workspace: str, *, days: float, keep: int, yes: bool, dry_run: bool) -> int:
    """Remove archived versions older than `days`, but of each step's the newest `keep`; the exit code. Raises Usage."""
    workbench = open_workbench(workspace)
    output, words = Output(), Words(language(os.environ))
    old = old_versions(workbench, before=time.time() - days * _DAY, keep=keep)
    if not old:
        output.line(words("clean nothing", days=f"{days:g}", keep=keep))
        return 0
    size = size_text(sum(each.size for each in old))
    if dry_run:
        output.lines([home_path(each.path) for each in old])
        output.line(words("clean would", count=len(old), size=size))
        return 0
    if not yes and not _agreed(words, len(old), size):
        output.line(words("clean kept"))
        return 0
    removed = [each for each in old if _remove(each.path)]
    output.line(words("clean done", count=len(removed), size=size_text(sum(each.size for each in removed))))
    return 0 if len(removed) == len(old) else 1


def old_versions(workbench: Workbench, *, before: float, keep: int) -> list[Old]:
    """Archived versions replaced before a time (seconds since the epoch), without the newest `keep` of each step."""
    found: list[Old] = []
    for folder in (workbench.notes / "archive" / "交接", workbench.notes / "archive" / "任务"):
        for paths in _by_step(folder).values():
            for replaced_at, path in sorted(paths)[: max(0, len(paths) - keep)]:
                if replaced_at < before:
                    with suppress(OSError):
                        found.append(Old(path, path.lstat().st_size))
    return sorted(found, key=lambda each: each.path)


def _by_step(folder: Path) -> dict[str, list[tuple[float, Path]]]:
    """The archived versions in a folder and when each was replaced (seconds since the epoch), by their step's file
    name. Links and other names are left alone, digits that are no date among them.
    """
    grouped: dict[str, list[tuple[float, Path]]] = {}
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            named = _NAME.fullmatch(entry.name)
            if named is not None and entry.is_file(follow_symlinks=False):
                with suppress(ValueError):
                    version = (timestamp_seconds(named["stamp"]), Path(entry.path))
                    grouped.setdefault(named["step"], []).append(version)
    return grouped


def _agreed(words: Words, count: int, size: str) -> bool:
    """Ask at the terminal. Raises Usage when nobody is there."""
    import click

    if not sys.stdin.isatty():
        raise Usage(
            f"There are {count} old versions ({size}), and nobody is here to ask.",
            next="Say it beforehand: flower clean --yes; or look first: flower clean --dry-run",
        )
    return click.confirm(words("clean ask", count=count, size=size), default=False)


def _remove(path: Path) -> bool:
    """Remove a file; False when it cannot be removed. One that is gone already counts as removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def size_text(size: int) -> str:
    """1234 -> "1.2 kB"."""
    for unit, factor in (("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
