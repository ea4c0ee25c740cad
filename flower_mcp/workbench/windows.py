"""What this machine says about windows, and where the user's state and config lie.

The only place that looks at the environment for a window or for the endpoint that it belongs to; the table of guesses
is core/policy.py's. It must not know a run or a step. What can hurt: a base URL may carry a password.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from flower_mcp.core.errors import FilesError

STATE_FOLDER = "FLOWER_STATE_DIR"  # the variable that puts the user's state somewhere else
ANTHROPIC: Final = "https://api.anthropic.com"
# A variable that turns a provider on, the one with its address, its name, and the one that tells its windows apart.
_PROVIDERS: Final = (
    ("CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL", "bedrock", "AWS_REGION"),
    ("CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_VERTEX_BASE_URL", "vertex", "CLOUD_ML_REGION"),
    ("CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_FOUNDRY_BASE_URL", "foundry", "ANTHROPIC_FOUNDRY_RESOURCE"),
)


def default_window(environ: Mapping[str, str] | None = None) -> int:
    """The window in tokens that the model's name in the environment suggests (the process's own by default)."""
    from flower_mcp.core.policy import guess_window

    return guess_window(os.environ if environ is None else environ)


def state_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The user's state folder for flower: $FLOWER_STATE_DIR, else the system's usual place. It may not exist yet.

    Raises FilesError for a user without a home.
    """
    environ = os.environ if environ is None else environ
    given = environ.get(STATE_FOLDER)
    if given:
        return _made(given)
    return _folder(environ, "state", "XDG_STATE_HOME", "~/.local/state")


def config_folder(environ: Mapping[str, str]) -> Path:
    """The system's usual place for the user's config files for flower. Raises FilesError for a user without a home."""
    return _folder(environ, "config", "XDG_CONFIG_HOME", "~/.config")


def _folder(environ: Mapping[str, str], kind: str, variable: str, usual: str) -> Path:
    """The place for the user's files of this kind. Raises FilesError."""
    if sys.platform == "win32" or sys.platform == "darwin":
        from platformdirs import PlatformDirs

        return Path(getattr(PlatformDirs("flower", appauthor=False), f"user_{kind}_path"))
    named = environ.get(variable, "").strip()  # as platformdirs has it, which `flower hook` cannot wait for
    return _made(named or usual) / "flower"


def _made(given: str) -> Path:
    """The path with `~` replaced. Raises FilesError where there is no such home."""
    try:
        return Path(given).expanduser()
    except RuntimeError as error:
        raise FilesError(
            "This user has no home folder, so nothing can be remembered.",
            next="Name a whole path: FLOWER_STATE_DIR=DIR",
        ) from error


def endpoint_of(environ: Mapping[str, str]) -> str:
    """The base URL that sessions use, without user, password and query; of another provider its name and region."""
    for switch, address, name, part in _PROVIDERS:
        if environ.get(switch):
            return _bare(environ.get(address) or f"{name}:{environ.get(part) or 'default'}")
    return _bare(environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC)


def _bare(url: str) -> str:
    """Scheme, host, port and path alone, so that two spellings are one; never a space."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url.strip())
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "unreadable-url"  # what it holds may be a secret
    if not parts.netloc:
        return "".join(url.rpartition("@")[2].partition("?")[0].split())
    host = parts.hostname or ""
    path = "".join(parts.path.split()).rstrip("/")
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{path}"
