"""Where Claude Code keeps the transcripts of its sessions, and their lines, from either end.

It must not know what a line means (core/transcript.py does). Transcripts belong to the CLI: nothing here writes. What
can hurt: they grow to many megabytes, so they are read a line at a time, and never further back than is needed; a
killed CLI leaves a torn last line, and lines that are no JSON are passed over.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from flower_mcp.workbench.folders import home_folder

_BLOCK = 64 * 1024  # bytes read at a time; a message of the CLI mostly fits
_MOST = 64 * 1024 * 1024  # bytes that `lines` reads, from the end; a full window of a million tokens has fewer
_LONGEST_LINE = 16 * 1024 * 1024  # bytes; nothing that is looked for stands in a longer one
_LONGEST_KEY = 200  # characters of a project's folder, then the CLI cuts and adds a hash
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def find(session_id: str, *, config_dir: Path | None = None, home: Path | None = None) -> Path | None:
    """The transcript of a session, in whichever project it lies; the newest, if in several. None: there is none.

    Looks under `config_dir`, else $CLAUDE_CONFIG_DIR, else `.claude` in `home` (default: the user's).
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", session_id):
        return None
    found: list[tuple[float, Path]] = []
    with suppress(OSError), os.scandir(_config(config_dir, home) / "projects") as projects:
        for project in projects:
            path = Path(project.path) / f"{session_id}.jsonl"
            with suppress(OSError):
                found.append((path.stat().st_mtime, path))
    return max(found)[1] if found else None


def project_key(path: Path) -> str:
    """The name that Claude Code gives a folder under `projects/`: all but ASCII letters and digits become `-`.

    Of a path over 200 characters the rest is cut, and a hash follows, which differs between builds of the CLI: compare
    such keys by their first 200 characters.
    """
    name = unicodedata.normalize("NFC", os.path.realpath(path))
    key = re.sub(r"[^a-zA-Z0-9]", "-", name)
    return key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}-{_hash(name)}"


def project_folders(path: Path, *, config_dir: Path | None = None, home: Path | None = None) -> tuple[Path, ...]:
    """Where the transcripts of sessions in a folder lie, as far as there are any; `find` says where it looks.

    Mostly one; of a path whose key was cut, all that could be meant.
    """
    projects, key = _config(config_dir, home) / "projects", project_key(path)
    if len(key) <= _LONGEST_KEY:
        return (projects / key,) if (projects / key).is_dir() else ()
    with suppress(OSError), os.scandir(projects) as entries:
        return tuple(Path(entry.path) for entry in entries if entry.name.startswith(key[:_LONGEST_KEY]))
    return ()


def lines(path: Path, *, most: int = _MOST) -> Iterator[dict[str, Any]]:
    """The objects in a JSONL file, first line first, one at a time; of a file over `most` bytes, those at its end.

    Torn lines, garbage, what is no object, and lines over 16 MiB are passed over. No file: nothing.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        start = max(0, file.seek(0, os.SEEK_END) - most)
        file.seek(start)
        is_whole = start == 0
        while line := file.readline(_LONGEST_LINE):
            was_whole, is_whole = is_whole, line.endswith(b"\n")
            value = _object(line) if was_whole and (is_whole or len(line) < _LONGEST_LINE) else None
            if value is not None:
                yield value


def lines_backwards(path: Path, *, having: str = "", most: int | None = None) -> Iterator[dict[str, Any]]:
    """The objects in a JSONL file, last line first. Torn lines, garbage and what is no object are passed over.

    Reads as far as it is asked to, and no more than the last `most` bytes, as the file was when it was opened. No file,
    or one that cannot be opened: nothing. `having`: only lines that hold these characters, which makes a long look back
    some ten times faster.
    """
    mark = having.encode()
    for line in _raw_lines_backwards(path, most):
        value = _object(line) if mark in line else None
        if value is not None:
            yield value


def _object(line: bytes) -> dict[str, Any] | None:
    """The object in a line, None when there is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def holds_prompt(path: Path, uuid: str) -> bool:
    """Whether the session has taken in the prompt that was sent to it with this uuid.

    The CLI writes it when the prompt begins a turn, and when one that waited is put into a turn. No file: False.
    """
    marks = (f'"uuid":"{uuid}"'.encode(), f'"source_uuid":"{uuid}"'.encode())
    with suppress(OSError):
        return any(mark in line for line in _raw_lines_backwards(path) for mark in marks)
    return False


def _raw_lines_backwards(path: Path, most: int | None = None) -> Iterator[bytes]:
    """The lines as bytes, without their ends, last one first; of a longer file those within its last `most` bytes."""
    try:
        file = path.open("rb")
    except OSError:
        return
    with file:
        end = file.seek(0, os.SEEK_END)
        stop = 0 if most is None else max(0, end - most)
        pieces: list[bytes] = []  # of the line whose beginning is not found yet, last piece first
        while end > stop:
            start = max(stop, end - _BLOCK)
            file.seek(start)
            first, *lines = file.read(end - start).split(b"\n")
            end = start
            if lines:
                yield b"".join((lines.pop(), *reversed(pieces)))
                yield from reversed(lines)
                pieces = []
            pieces.append(first)
        if stop == 0:
            yield b"".join(reversed(pieces))


def _config(config_dir: Path | None, home: Path | None) -> Path:
    """The folder of Claude Code's settings and sessions."""
    if config_dir is not None:
        return config_dir
    if home is None and (given := os.environ.get("CLAUDE_CONFIG_DIR")):
        return Path(unicodedata.normalize("NFC", given))
    return (home or home_folder() or Path(os.sep, "nonexistent")) / ".claude"


def _hash(text: str) -> str:
    """The 32-bit hash, in base 36, that the CLI puts after a name that it cut."""
    value = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        value = (value * 31 + unit) & 0xFFFFFFFF
    value = min(value, 2**32 - value)  # the absolute value of the signed number
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
