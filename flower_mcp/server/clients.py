"""What to type, or to put into a file, so that a client starts this server: for one machine, with absolute paths.

Pure text; it must not know whether the paths exist. What can hurt: desktop clients start servers with another PATH and
in another folder, so the program and the workspace are always named in full.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from flower_mcp.core.errors import Usage

NAME = "flower"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"


class Client(StrEnum):
    """A client that can be set up."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    INSPECTOR = "inspector"


def configuration(client: str, workspace: Path | None, program: Path, arguments: Sequence[str] = ()) -> str:
    """The exact command, or the JSON for the client's file, without a line end.

    `program` starts the server: the `flower-mcp` script, or a Python with `arguments` ("-m", "flower_mcp.server.main").
    `workspace` None leaves the folder to the client: Claude Code names its project. Raises Usage for a client that is
    not known, a path that is not absolute, and for Claude Desktop or the Inspector without a workspace.
    """
    if client not in {*Client}:
        raise Usage(f"There is no client {client!r}.", next=f"The clients are {', '.join(Client)}.")
    for path in (program, workspace):
        if path is not None and not path.is_absolute():
            raise Usage(f"{path} is not an absolute path.", next="Name it from the root on.")
    if workspace is None and client != Client.CLAUDE_CODE:
        raise Usage(f"{client} starts servers in no particular folder.", next="Name the workspace: --workspace FOLDER")
    command = [str(program), *arguments, *(() if workspace is None else ("--workspace", str(workspace)))]
    if client == Client.CLAUDE_CODE:
        return shlex.join(["claude", "mcp", "add", NAME, "--", *command])
    if client == Client.INSPECTOR:
        return shlex.join(["npx", "-y", INSPECTOR, *command])
    return json.dumps(desktop(command), ensure_ascii=False, indent=2)


def desktop(command: Sequence[str]) -> dict[str, Any]:
    """What belongs into claude_desktop_config.json, beside what is there."""
    return {"mcpServers": {NAME: {"command": command[0], "args": list(command[1:])}}}
