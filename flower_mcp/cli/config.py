"""`flower config`: the command or the JSON with which a client starts the MCP server, for this machine.

The text is the server's (server/clients.py); here is found what it needs: the program of this very install, and the
workspace. It writes no client's file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from flower_mcp.cli.output import Output
from flower_mcp.core.errors import Usage
from flower_mcp.server.clients import Client, configuration
from flower_mcp.server.workspace import is_no_workspace
from flower_mcp.workbench.folders import current_folder, expanded, home_folder

MODULE = ("-m", "flower_mcp.server.main")
SCRIPT = "flower-mcp.exe" if sys.platform == "win32" else "flower-mcp"


def config_command(client: str, workspace: str | None) -> int:
    """Print the configuration of a client; the exit code. Raises Usage."""
    program, arguments = server_program()
    Output().line(configuration(client, _workspace(client, workspace), program, arguments))
    return 0


def server_program() -> tuple[Path, tuple[str, ...]]:
    """What starts the server of this install: its script, else this Python with the module."""
    python = Path(sys.executable).absolute()  # its links stay: a virtual environment is known by the place of one
    script = python.with_name(SCRIPT)
    return (script, ()) if os.access(script, os.X_OK) else (python, MODULE)


def _workspace(client: str, given: str | None) -> Path | None:
    """The folder to name: the one given; else none for Claude Code, which names its project, and this one for others.

    Raises Usage for what is no folder; None where this folder is no workspace.
    """
    if given is not None:
        folder = expanded(given).absolute()
        if not folder.is_dir():
            raise Usage(f"The workspace {folder} is not a folder.", next="Name another one: --workspace DIR")
        return folder
    here = current_folder()
    is_left_out = client == Client.CLAUDE_CODE or here is None or is_no_workspace(here, home_folder())
    return None if is_left_out else here
