"""The world that the demo runs in: a folder with a small repository, and an environment that leads nowhere else.

It knows git's and Claude Code's variables. It knows neither the script nor the supervisor.

What can hurt: whoever tries the demo may have a key, a login, a provider or a gateway in the environment. Nothing of
that may steer the demo's sessions, or the demo would spend money. Variables cannot be unset for the CLI, so those that
could are set to nothing; and the proxies point to a closed port, so what still wants to leave is refused at once.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flower_mcp.core.errors import Usage, WorldsError
from flower_mcp.demo.workshop import build, git_environment
from flower_mcp.workbench.folders import expanded
from flower_mcp.workbench.windows import STATE_FOLDER

STEP = "work"
MODEL = "claude-sonnet-4-5"  # a name only, nobody is asked for it; the CLI gives it a window of 200,000 tokens
WINDOW = 200_000  # tokens
EDIT_WINDOW = 2.0  # seconds; enough to see that the document lies open, short enough for a demo

TASK = """Make `python3 -m columns FILE` print our plant lists right.

- Cells may stand in quotes: with commas, doubled quotes and line breaks inside.
- A row stays on one line; show a line break in a cell as " / ".
- Chinese names take two columns a character on the terminal; the columns must still line up.

`python3 check.py` tells what is missing. Do not change check.py or anything in data/, and use nothing that has to be \
installed. Commit when it is done."""

# The discard port: nothing listens there.
NOWHERE = "http://127.0.0.1:9"
LOOPBACK = "127.0.0.1,localhost"

# What the keeper lets through to the CLI and could lead it elsewhere: keys, logins, providers, gateways, models.
STEERING = (
    "ANTHROPIC_",
    "CLAUDE_CODE_CLIENT_",
    "CLAUDE_CODE_EXTRA_BODY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_SKIP_",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_USE_",
)


@dataclass(frozen=True, slots=True)
class DemoWorld:
    """What `prepare` made: the folders, the variables to set, and what to run in them.

    `environment` is to be laid over the process's own: as `AgentSpec.env`, and in `os.environ` as well where the caller
    may. `window` in tokens, `edit_window` in seconds.
    """

    folder: Path
    workspace: Path
    run_dir: Path
    environment: Mapping[str, str]
    task: str = TASK
    step: str = STEP
    window: int = WINDOW
    model: str = MODEL
    edit_window: float = EDIT_WINDOW


def prepare(folder: Path, url: str) -> DemoWorld:
    """Make the demo's world in `folder`, which is made if need be; `url` is the scripted model's.

    Raises Usage when the folder cannot be used or holds a demo already, GitMissing, GitFailed.
    """
    folder = expanded(folder).resolve()
    workspace, home, config = folder / "workspace", folder / "home", folder / "claude"
    if workspace.exists():
        raise Usage(f"{workspace} exists already.", next="Give the demo a new folder: flower demo --keep DIR")
    try:
        for each in (workspace, home, config):
            each.mkdir(parents=True, exist_ok=True)
        environment = _environment(workspace, home, config, url)
        build(workspace, home / ".gitconfig", complete(environment))
    except (OSError, WorldsError) as error:
        # A second try in the same folder must not stumble over what the first has left.
        shutil.rmtree(workspace, ignore_errors=True)
        if isinstance(error, WorldsError):
            raise
        why = error.strerror or str(error)
        raise Usage(f"The demo cannot use {folder}: {why}.", next="Name another folder: --keep DIR") from error
    return DemoWorld(folder, workspace, folder / "runs", environment)


def complete(environment: Mapping[str, str]) -> dict[str, str]:
    """All variables for the demo's own processes: those of this one but git's, and the demo's over them."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | dict(environment)


def _environment(workspace: Path, home: Path, config: Path, url: str) -> dict[str, str]:
    """The variables that keep the demo in its folder and on this machine."""
    proxies = {"HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "ALL_PROXY": NOWHERE, "NO_PROXY": LOOPBACK}
    return {
        **{name: "" for name in os.environ if name.startswith(STEERING)},
        **proxies,
        **{name.lower(): value for name, value in proxies.items()},
        **git_environment(workspace, home / ".gitconfig"),
        "ANTHROPIC_API_KEY": "the-demo-needs-no-key",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(config),
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        STATE_FOLDER: str(home.with_name("state")),
        "HOME": str(home),
        # Root may bypass permissions only inside what says that it is a sandbox; the demo's folder is one.
        "IS_SANDBOX": "1",
        "PATH": _path(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
    }


def _path() -> str:
    """PATH, with this Python's folder first: a `python3` that a version manager picks by HOME would find none."""
    own = Path(sys.executable or "python3").parent
    path = os.environ.get("PATH", os.defpath)
    return f"{own}{os.pathsep}{path}" if (own / "python3").exists() else path
