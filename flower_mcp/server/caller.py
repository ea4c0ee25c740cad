"""Which Claude Code session calls a tool, and how full its context is.

A call carries the id of the tool use (`_meta`, `claudecode/toolUseId`), and the session's transcript holds that id. The
environment's session id is not asked: after /clear the session is another one and the server's environment still names
the old one. What can hurt: the transcript's line may be written 300 ms after the call has come, so it is waited for, in
a worker thread; transcripts are large, so only their ends are read, and only of those that changed lately.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from flower_mcp.core.transcript import SYNTHETIC, left_in
from flower_mcp.workbench.session_window import noted_of, window_of
from flower_mcp.workbench.transcripts import lines_backwards, project_folders

TOOL_USE = "claudecode/toolUseId"
PATIENCE = 0.8  # seconds; the line was seen 0.3 s after the call on an idle machine
_PAUSE = 0.02  # seconds between two looks
_RECENT = 3600.0  # seconds; a session that calls a tool wrote its transcript lately, at the latest with its prompt
_MOST = 16  # transcripts that are looked into
_END = 2**20  # bytes at a transcript's end in which a call that is under way stands
_LINES = 400  # lines in which the model's name is looked for


@dataclass(frozen=True, slots=True)
class Caller:
    """A session of Claude Code. `context` in tokens, None where nothing was said yet; `window` in tokens.

    `context_estimated`: the endpoint reports no usage, so the context is a guess from the transcript's characters.

    `agent_id` names the session's agent that called; the figures are the main thread's all the same.
    """

    session_id: str
    context: int | None
    window: int
    window_source: str
    agent_id: str | None = None
    context_estimated: bool = False


def tool_use_id(meta: Mapping[str, Any] | None) -> str:
    """The tool use's id from a request's `_meta`; "" when Claude Code is not the caller."""
    value = (meta or {}).get(TOOL_USE)
    return value if isinstance(value, str) and 0 < len(value) <= 200 else ""


def find_caller(
    use: str, places: Iterable[Path], environ: Mapping[str, str], patience: float = PATIENCE
) -> Caller | None:
    """The session with this tool use, looked for under the projects of `places`. None: not found in `patience` seconds.

    Blocks. The window is the best that is known without a supervisor; whoever knows better puts in another.
    """
    path = _find(use, places, environ, patience)
    if path is None:
        return None
    main, agent = _main(path)
    return caller_of(main, environ, agent)


def latest_session(places: Iterable[Path], environ: Mapping[str, str]) -> Caller | None:
    """The session in these projects whose transcript was written last, for a request that names no tool use."""
    transcripts = [path for path in _transcripts(places, environ) if path.parent.name != "subagents"]
    return caller_of(transcripts[0], environ) if transcripts else None


def caller_of(transcript: Path, environ: Mapping[str, str], agent: str | None = None) -> Caller:
    """A session from its transcript."""
    left = left_in(lambda: lines_backwards(transcript))
    window, source = window_of(environ, noted_of(environ, transcript.stem), lambda: _model(transcript))
    return Caller(
        session_id=transcript.stem,
        context=left.context if left else None,
        window=window,
        window_source=str(source),
        agent_id=agent,
        context_estimated=bool(left and left.estimated),
    )


def _find(use: str, places: Iterable[Path], environ: Mapping[str, str], patience: float) -> Path | None:
    """The transcript that holds the id."""
    wanted = f'"{use}"'.encode()
    places = tuple(places)
    seen: dict[Path, int] = {}
    end = time.monotonic() + patience
    while True:
        for path in _transcripts(places, environ):
            size = _size(path)
            if seen.get(path) != size and wanted in _tail(path):
                return path
            seen[path] = size
        if time.monotonic() >= end:
            return None
        time.sleep(_PAUSE)


def _transcripts(places: Iterable[Path], environ: Mapping[str, str]) -> list[Path]:
    """The transcripts that changed lately, of sessions and of their agents, the last one first."""
    config = environ.get("CLAUDE_CONFIG_DIR")
    config_dir = Path(config) if config else None
    since = time.time() - _RECENT
    found: list[tuple[float, Path]] = []
    for folder in {folder for place in places for folder in project_folders(place, config_dir=config_dir)}:
        for path in (*_scripts(folder), *_agents(folder)):
            with suppress(OSError):
                changed = path.stat().st_mtime
                if changed >= since:
                    found.append((changed, path))
    return [path for _, path in sorted(found, reverse=True)[:_MOST]]


def _scripts(folder: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from (Path(entry.path) for entry in entries if entry.name.endswith(".jsonl"))


def _agents(project: Path) -> Iterator[Path]:
    """The transcripts of agents: `<session>/subagents/agent-<id>.jsonl`."""
    with suppress(OSError), os.scandir(project) as entries:
        for entry in entries:
            if "." not in entry.name:
                yield from _scripts(Path(entry.path) / "subagents")


def _main(path: Path) -> tuple[Path, str | None]:
    """The session's own transcript, and the agent's id when `path` is an agent's."""
    if path.parent.name != "subagents":
        return path, None
    session = path.parent.parent
    return session.with_name(f"{session.name}.jsonl"), path.stem.removeprefix("agent-")


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return -1


def _tail(path: Path) -> bytes:
    with suppress(OSError), path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _END))
        return file.read()
    return b""


def _model(transcript: Path) -> str:
    """The model of the session's last message, "" when there is none."""
    for line in islice(lines_backwards(transcript), _LINES):
        message = line.get("message")
        if line.get("type") == "assistant" and isinstance(message, Mapping):
            model = message.get("model")
            if isinstance(model, str) and model != SYNTHETIC:
                return model
    return ""
