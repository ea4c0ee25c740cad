"""`flower hook EVENT`: what Claude Code runs at its events, and for its status line, where nobody supervises a session.

It takes the event's JSON from stdin and prints what the model is to read, or nothing. It must not know click, nor
anything but the standard library and modules of ours that need no more: it runs at every batch of tools. What can
hurt: a hook that fails, hangs or chatters disturbs somebody's session. So whatever happens, it ends with exit code 0
and nothing else on stdout; a session that `flower` itself runs (FLOWER_RUN) is left alone; and where there is no
`.flower/`, none is made.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST = 64 * 2**20  # bytes of an event; a batch of tools brings its results along
PATIENCE = 2.0  # seconds between two pieces of stdin; the CLI writes an event at once and closes the pipe
_BLOCK = 1 << 20
WORKSPACES = ("FLOWER_WORKSPACE", "CLAUDE_PROJECT_DIR")  # as the MCP server looks for its folder
HELP = """Usage: flower hook EVENT

For Claude Code's hooks and its status line; the plugin calls it. Reads the event's JSON from
stdin, always ends with 0, and does nothing in a session that flower itself runs.

Events:
  session-start    the handoff document that waits, for a new session
  post-tool-batch  once a session: a handoff is due
  pre-compact      the document that waits, for the summary
  status-line      a bar of the context, for settings.json

Example:
  echo '{"source": "startup"}' | flower hook session-start
"""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the event's JSON, and the variables."""

    event: Mapping[str, Any]
    environ: Mapping[str, str]

    def text(self, key: str) -> str:
        """A text of the event; "" when it has none of that name."""
        value = self.event.get(key)
        return value if isinstance(value, str) else ""

    @property
    def workspace(self) -> Path | None:
        """The folder whose workbench is meant: named, else the session's; None when there is none."""
        named = (*(self.environ.get(name) for name in WORKSPACES), self.text("cwd"))
        with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: nobody's home is named
            folder = Path(next((name for name in named if name), None) or Path.cwd()).expanduser()
            return folder if folder.is_dir() else None
        return None

    @property
    def is_interactive(self) -> bool:
        """Whether a person sits at the session: not with `claude -p`, nor where a program uses the SDK."""
        return not self.environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk")


def run_hook(arguments: list[str]) -> None:
    """Answer one event on stdout. Raises nothing, whatever happens."""
    try:
        if os.environ.get("FLOWER_RUN"):
            return
        name = arguments[0].lower().replace("-", "").replace("_", "") if arguments else ""
        answers: dict[str, Callable[[Call], str]] = {
            "sessionstart": _session_start,
            "posttoolbatch": _post_tool_batch,
            "precompact": _pre_compact,
            "statusline": _status_line,
        }
        if name not in answers:
            os.write(1 if name == "help" else 2, HELP.encode())
            return
        answer = answers[name](Call(_event(), os.environ))
        if answer:
            _write(answer.encode("utf-8", "replace"))
    except BaseException:  # noqa: BLE001  # exit 0 whatever happens: a session is not to be disturbed
        if os.environ.get("FLOWER_DEBUG"):
            with suppress(BaseException):
                import traceback

                traceback.print_exc()


def context_for(event: str, text: str) -> str:
    """What makes the CLI add a text to the model's context; in ASCII, right in every locale. "" for no text."""
    said = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return json.dumps(said) + "\n" if text else ""


def _session_start(call: Call) -> str:
    from flower_mcp.cli.hook_documents import at_start

    if not call.is_interactive or call.text("source") not in ("startup", "clear"):
        return ""
    return context_for("SessionStart", at_start(call.workspace, call.environ.get("FLOWER_STEP", "")))


def _post_tool_batch(call: Call) -> str:
    from flower_mcp.cli.hook_due import notice

    is_main = "agent_id" not in call.event
    return context_for("PostToolBatch", notice(call)) if is_main and call.is_interactive else ""


def _pre_compact(call: Call) -> str:
    from flower_mcp.cli.hook_documents import at_compaction

    return at_compaction(call.workspace)


def _status_line(call: Call) -> str:
    from flower_mcp.cli.hook_line import status_line

    return status_line(call)


def _event() -> Mapping[str, Any]:
    """The JSON on stdin; empty when there is none, or something else."""
    try:
        value = json.loads(_stdin())
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _stdin() -> bytes:
    """What stdin holds, to its end; a terminal, and a pipe in which nothing comes, are not waited for."""
    pieces: list[bytes] = []
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    descriptor, size = sys.stdin.fileno(), 0
    while size < LARGEST:
        if sys.platform != "win32" and not select.select([descriptor], [], [], PATIENCE)[0]:
            break
        piece = os.read(descriptor, _BLOCK)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _write(data: bytes) -> None:
    """Write without a buffer: what Python flushes at its end could fail there."""
    descriptor = sys.stdout.fileno() if sys.stdout is not None else -1
    while data and descriptor >= 0:
        data = data[os.write(descriptor, data) :]
