"""A real terminal to look at: tmux, with a server of its own. What it shows is read as lines."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

LOOK = 0.1  # seconds between two looks


class Screen:
    """One window of `columns` x `rows`. `frames` are all that `wait_for` has seen, each a tuple of lines."""

    def __init__(self, socket: Path, environment: Mapping[str, str]) -> None:
        self._command = ["tmux", "-u", "-S", str(socket), "-f", "/dev/null"]
        self._environment = dict(environment)
        self.frames: list[tuple[str, ...]] = []

    def begin(self, command: str, cwd: Path, columns: int, rows: int) -> None:
        """Start a shell's command line in it."""
        self._tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(cwd), command)

    def close(self) -> None:
        """End the server and what runs in it."""
        subprocess.run([*self._command, "kill-server"], env=self._environment, capture_output=True, check=False)

    def type(self, *keys: str) -> None:
        """Press keys, in tmux's names."""
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def look(self) -> tuple[str, ...]:
        """What is on the screen now."""
        return tuple(self._tmux("capture-pane", "-p").splitlines())

    def all_lines(self) -> list[str]:
        """What was on it since the start, and lines that wrapped as one."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-").splitlines()

    def wait_for(self, found: str | Callable[[tuple[str, ...]], bool], limit: float = 60.0) -> tuple[str, ...]:
        """Look until some words are there, or a condition holds; the screen then. Raises TimeoutError."""
        end = time.monotonic() + limit
        while True:
            frame = self.look()
            if not self.frames or frame != self.frames[-1]:
                self.frames.append(frame)
            if found in "\n".join(frame) if isinstance(found, str) else found(frame):
                return frame
            if time.monotonic() > end:
                raise TimeoutError(f"{found!r} within {limit} s, but:\n" + "\n".join(frame))
            time.sleep(LOOK)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._command, *arguments], env=self._environment, capture_output=True, check=True, timeout=20
        )
        return done.stdout.decode("utf-8")


@contextmanager
def screen(folder: Path, environment: Mapping[str, str]) -> Iterator[Screen]:
    """A screen, its socket in `folder`; whatever runs in it is ended with it."""
    shown = Screen(folder / "tmux", environment)
    try:
        yield shown
    finally:
        shown.close()
