"""Claude Code as a person has it: its own terminal interface, in tmux, with the plugin of this tree.

It knows keys and screens, and nothing of the code under test. What can hurt: on its first start the CLI asks for a
theme, for trust and about the API key, so the answers are written down beforehand.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.harness import MODEL, claude_cli, wait_until

TOP = Path(__file__).parents[2]
PLUGIN = TOP / "packaging" / "claude-code"
TOOLS = "mcp__plugin_flower_flower__"
LIMIT = 40.0
READY = "❯"


class Screen:
    """A program in a tmux server of its own."""

    def __init__(self, socket: Path, environment: Mapping[str, str]) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", os.devnull, "-u"]
        self._environment = dict(environment)

    def start(self, command: list[str], folder: Path) -> None:
        """Start the program."""
        self._run("new-session", "-d", "-x", "150", "-y", "50", "-c", str(folder), shlex.join(command))

    def type(self, text: str) -> None:
        """Type a line, and Enter once it stands there: an Enter within the same read would be a line's end."""
        self._run("send-keys", "-l", text)
        self.wait_for(text, lambda: self._typed.startswith(text))
        self._run("send-keys", "Enter")

    @property
    def shown(self) -> str:
        """What is on the screen now."""
        return self._run("capture-pane", "-p")

    @property
    def _typed(self) -> str:
        """What stands behind the prompt."""
        lines = [line for line in self.shown.splitlines() if line.startswith(READY)]
        return lines[-1].removeprefix(READY).strip() if lines else ""

    def wait_for(self, text: str, holds: Callable[[], bool] | None = None) -> None:
        """Look until the text is on the screen, or this holds. Raises TimeoutError with what is shown."""
        try:
            wait_until(holds or (lambda: text in self.shown), LIMIT)
        except TimeoutError as error:
            raise TimeoutError(f"{text!r} did not come up, but:\n{self.shown}") from error

    def end(self) -> None:
        """End the program."""
        subprocess.run([*self._tmux, "kill-server"], env=self._environment, capture_output=True, check=False)

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._tmux, *arguments], env=self._environment, capture_output=True, text=True, timeout=LIMIT, check=True
        )
        return done.stdout


def answered(environment: Mapping[str, str], workspace: Path, settings: Mapping[str, object]) -> None:
    """Write down what the CLI would ask for on its first start, and the person's settings."""
    config = Path(environment["CLAUDE_CONFIG_DIR"])
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [environment["ANTHROPIC_API_KEY"][-20:]], "rejected": []},
        "projects": {str(workspace): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    (config / ".claude.json").write_text(json.dumps(state))
    (config / "settings.json").write_text(json.dumps(settings))


def with_programs(folder: Path) -> dict[str, str]:
    """Variables that put `flower` and `flower-mcp` of this tree in front."""
    folder.mkdir()
    for name, module in (("flower", "cli"), ("flower-mcp", "server")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m flower_mcp.{module}.main "$@"\n')
        script.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(TOP)}


@contextmanager
def claude_code(
    workspace: Path, environment: Mapping[str, str], tmp: Path, settings: Mapping[str, object] | None = None
) -> Iterator[Screen]:
    """Claude Code's own interface with the plugin, in the workspace; every tool of the plugin is allowed."""
    answered(environment, workspace, settings or {})
    more = {"TERM": "xterm-256color", **with_programs(tmp / "bin")}
    folder = tempfile.TemporaryDirectory(prefix="tmux-")  # a socket's path must be short
    screen = Screen(Path(folder.name) / "socket", {**environment, **more})
    allowed = ["--allowedTools", "Bash", TOOLS.rstrip("_")]
    screen.start([str(claude_cli()), "--model", MODEL, "--plugin-dir", str(PLUGIN), *allowed], workspace)
    try:
        screen.wait_for(READY)
        yield screen
    finally:
        screen.end()
        folder.cleanup()
