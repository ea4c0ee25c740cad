"""Real `flower` processes: with pipes, or at a terminal of their own."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FLOWER = [sys.executable, "-m", "flower_mcp.cli.main"]
LIMIT = 120.0
# Takes the terminal on stdin as its own, then becomes the program: a Ctrl-C typed there is a signal for it.
AT_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


@dataclass(frozen=True, slots=True)
class Done:
    """A process that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Its stdout as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


def flower(
    *arguments: str, cwd: Path, environment: Mapping[str, str], given: str | bytes = b"", limit: float = LIMIT
) -> Done:
    """Run `flower` to its end, `given` on its stdin."""
    data = given.encode() if isinstance(given, str) else given
    done = subprocess.run(
        [*FLOWER, *arguments],
        cwd=cwd,
        env=dict(environment),
        input=data,
        capture_output=True,
        timeout=limit,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def run_in_process(program: str, arguments: list[str], cwd: Path, environment: Mapping[str, str]) -> Done:
    """`flower` with the arguments in a process in which `program` has run first."""
    whole = f"import sys\n{program}\nfrom flower_mcp.cli.main import main\nmain()"
    command = [sys.executable, "-c", whole, *arguments]
    done = subprocess.run(
        command, cwd=cwd, env=dict(environment), capture_output=True, text=True, timeout=LIMIT, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


class Terminal:
    """A process at a pseudo-terminal. `shown` is all that it has printed there."""

    def __init__(self, command: list[str], cwd: Path, environment: Mapping[str, str]) -> None:
        self._descriptor, child_end = pty.openpty()
        self.shown = ""
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", AT_TERMINAL, *command],
                cwd=cwd,
                env=dict(environment),
                stdin=child_end,
                stdout=child_end,
                stderr=child_end,
                start_new_session=True,
            )
        finally:
            os.close(child_end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._descriptor)

    @property
    def is_by_key(self) -> bool:
        """Whether the terminal gives single keys and shows none of them, now."""
        return self._modes == 0

    @property
    def is_usual(self) -> bool:
        """Whether the terminal gives lines and shows what is typed, now."""
        return self._modes == termios.ICANON | termios.ECHO

    @property
    def _modes(self) -> int:
        return int(termios.tcgetattr(self._descriptor)[3]) & (termios.ICANON | termios.ECHO)

    def type(self, text: str) -> None:
        """Type; "\\x03" is Ctrl-C."""
        os.write(self._descriptor, text.encode())

    def hang_up(self) -> None:
        """Close the terminal, as its window does; nothing is shown from then on."""
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, self._descriptor)
        os.close(null)

    def wait_for(self, text: str, times: int = 1, limit: float = 60.0) -> None:
        """Read until `text` was shown so often. Raises TimeoutError with what was shown."""
        end = time.monotonic() + limit
        while self.shown.count(text) < times:
            if not self._read(end):
                raise TimeoutError(f"{text!r} was not shown {times} times within {limit} s, but: {self.shown}")

    def end(self, limit: float = LIMIT) -> int:
        """Read until the process has closed the terminal; its exit code."""
        end = time.monotonic() + limit
        while self._read(end):
            pass
        return self.process.wait(timeout=max(0.1, end - time.monotonic()))

    def _read(self, end: float) -> bool:
        """Take in what comes next; False at the end or when the time is over."""
        ready, _, _ = select.select([self._descriptor], [], [], max(0.0, end - time.monotonic()))
        data = b""
        with suppress(OSError):  # EIO: nobody has the other side open any more
            data = os.read(self._descriptor, 65536) if ready else b""
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def flower_at_terminal(*arguments: str, cwd: Path, environment: Mapping[str, str]) -> Iterator[Terminal]:
    """`flower` at a terminal of its own."""
    with Terminal([*FLOWER, *arguments], cwd, environment) as terminal:
        yield terminal


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes, git's own left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
