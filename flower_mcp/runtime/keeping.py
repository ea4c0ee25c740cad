"""The supervisor's side of the keeper: prepares its launcher, gives it its word, ends what no keeper is left to end.

The table of endings is in keeper.py. It must not know what a session is; it knows one CLI, one keeper, one run id.

What can hurt: everything here that waits blocks for up to 3 s (call it in a thread); `end_marked` while a CLI of the
run is still alive ends that CLI; the private files hold the CLI's variables, keys among them, until `close`.
Where there is no /proc (macOS, untested), nothing is found and nothing is ended from here.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shlex
import shutil
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flower_mcp.core.errors import CliMissing, Usage
from flower_mcp.runtime import keeper

_HALF_A_WORD: Final = "word.new"  # what a full disk leaves of a word; one of keeper.FILES
# Imported, not run as a script: so Python keeps it compiled, and each session starts a hundredth of a second earlier.
KEEP: Final = (
    "import os, sys; sys.path.append(os.path.dirname(sys.argv[1])); import keeper; sys.exit(keeper.main(sys.argv[2:]))"
)
LAUNCHER: Final = '#!/bin/sh\nexec {python} -I -S -c {keep} {keeper} "$@"\n'


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that was ended; `command` is its command line, at most 200 characters, not masked."""

    pid: int
    command: str


@dataclass(frozen=True, slots=True)
class Running:
    """A process of the run that its session has detached; `command` as in Ended."""

    pid: int
    command: str


@dataclass(frozen=True, slots=True)
class Keeper:
    """One keeper, for one start of one CLI. Without a word its end is `closed`: all that lives below it ends too.

    `launcher` goes to `ClaudeAgentOptions.cli_path`, `env` into `ClaudeAgentOptions.env`. What is for the CLI itself is
    `ours` of `prepare` and must not go there: the keeper would drop half of it, and carry the run's marker itself.
    """

    id: str
    folder: Path
    launcher: Path
    env: Mapping[str, str]

    def retire(self) -> None:
        """The next end is a handover: what the session detached lives on. Call it before the client is closed."""
        self._say(keeper.Ending.RETIRED)

    def over(self) -> None:
        """The next end is the run's: all that carries its marker ends. Call it before the last client is closed."""
        self._say(keeper.Ending.OVER)

    def end_now(self) -> None:
        """Ends a CLI that has been given nothing yet: TERM, KILL after 2 s if it hangs. Closing it would take 5 s more.

        Without /proc, or before the keeper has started it, nothing happens here, and closing the client ends it.
        """
        with suppress(OSError, ValueError, IndexError):
            cli = int((self.folder / "cli").read_text(encoding="utf-8"))
            above = int(Path(f"/proc/{cli}/stat").read_bytes().rpartition(b")")[2].split()[1])
            mine = os.fsencode(f"\0{keeper.FOLDER_VARIABLE}={self.folder}\0")
            if mine in b"\0" + Path(f"/proc/{above}/environ").read_bytes():  # else the number is another one's by now
                os.kill(above, signal.SIGTERM)

    def ended(self) -> tuple[Ended, ...]:
        """What the keeper has ended beside the CLI; known once the client is closed, gone after `close`."""
        try:
            lines = (self.folder / "report").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ()
        told = (line.partition(" ") for line in lines)  # the last one may be torn, on a full disk or by a kill
        return tuple(Ended(int(pid), command) for pid, behind, command in told if behind and pid.isdecimal())

    def end_rest(self, *, patience: float = keeper.PATIENCE) -> tuple[Ended, ...]:
        """Ends what is left when the keeper itself was killed (exit code -9): its CLI and all that this started.

        Needed before the same session is resumed: two CLIs on one transcript fork it. Blocks as `end_marked` does.
        """
        return _end(keeper.KEEPER_VARIABLE, self.id, patience)

    def close(self) -> None:
        """Removes the private files. Not before the client is closed; twice does no harm."""
        with suppress(OSError):
            for name in keeper.FILES:
                (self.folder / name).unlink(missing_ok=True)
            if self.folder.is_dir():
                self.folder.rmdir()

    def _say(self, word: keeper.Ending) -> None:
        """Leave the word. Where the disk refuses, the keeper ends what lies below it, which is the careful end."""
        fresh = self.folder / _HALF_A_WORD
        with suppress(OSError):
            fresh.write_text(word, encoding="utf-8")
            fresh.replace(self.folder / "word")


def prepare(cli: Path, folder: Path, *, run_id: str, ours: Mapping[str, str]) -> Keeper:
    """Writes the private files of one keeper below `folder`, which is made if need be.

    cli: the real CLI, absolute. ours: variables for the CLI that win over all inherited ones; the marker of the run is
    added. The keeper watches the process that calls this. Raises Usage for variables that no process can have.
    """
    keeper_id = secrets.token_hex(8)
    variables = {**ours, keeper.RUN_VARIABLE: run_id, keeper.KEEPER_VARIABLE: keeper_id}
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name + value:
            raise Usage(
                f"The environment variable {name!r} cannot be passed to the CLI: NUL, or a name with '='.",
                next="Take it out of the spec's env.",
            )
    private = folder.absolute() / f"keeper-{keeper_id}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    private.mkdir(mode=0o700)
    launcher = private / "launcher"
    made = Keeper(keeper_id, private, launcher, {keeper.FOLDER_VARIABLE: str(private)})
    settings = [str(os.getpid()), str(cli.absolute()), *(f"{name}={value}" for name, value in variables.items())]
    python = shlex.quote(sys.executable or "python3")
    try:
        _write(private / "host", socket.gethostname(), 0o600)  # a run folder may be shared
        _write(private / "settings", "\0".join(settings), 0o600)
        _write(
            launcher, LAUNCHER.format(python=python, keep=shlex.quote(KEEP), keeper=shlex.quote(keeper.__file__)), 0o700
        )
    except OSError:
        made.close()  # half of the settings may hold a key
        raise
    return made


def end_marked(run_id: str, *, patience: float = keeper.PATIENCE) -> tuple[Ended, ...]:
    """Ends every process that the run has started and all below these: TERM, after `patience` seconds KILL.

    For the step's end, when retired sessions may have left something, and for a run that was lost. Blocks until they
    are gone, at most patience + 1 s. Never ends this process or one above it.
    """
    return _end(keeper.RUN_VARIABLE, run_id, patience)


def running(run_id: str) -> tuple[Running, ...]:
    """What the run has detached and still runs: the topmost process of each, none of a living CLI and what is below."""
    found = keeper.processes()
    members = keeper.family(found, keeper.marked(found, keeper.RUN_VARIABLE, run_id))
    members -= keeper.family(found, _living_clis(found))
    top = sorted(pid for pid in members if found[pid][0] not in members)
    return tuple(Running(pid, command) for pid in top if (command := keeper.command_line(pid)))


def bundled_cli() -> Path:
    """The CLI inside claude_agent_sdk, found without importing that, or else the `claude` on the path.

    Raises CliMissing.
    """
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec and spec.origin:
        inside = Path(spec.origin).with_name("_bundled") / "claude"
        if os.access(inside, os.X_OK):
            return inside
    if on_path := shutil.which("claude"):
        return Path(on_path)
    raise CliMissing


def _end(variable: str, value: str, patience: float) -> tuple[Ended, ...]:
    def targets() -> set[int]:
        found = keeper.processes()
        return keeper.family(found, keeper.marked(found, variable, value))

    return tuple(Ended(pid, command) for pid, command in keeper.sweep(targets, patience).items())


def _living_clis(found: Mapping[int, tuple[int, bytes]]) -> set[int]:
    """The CLIs that a living keeper of this user keeps, by the file that each keeper writes."""
    clis = set()
    marker = os.fsencode(f"\0{keeper.FOLDER_VARIABLE}=")
    for _, variables in found.values():
        if marker in variables:
            folder = os.fsdecode(variables.partition(marker)[2].partition(b"\0")[0])
            try:
                clis.add(int((Path(folder) / "cli").read_text(encoding="utf-8")))
            except (OSError, ValueError):
                continue  # not yet written, or its folder is gone
    return clis


def _write(path: Path, text: str, mode: int) -> None:
    """A private file, never readable to others, not even for a moment."""
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags | os.O_EXCL, mode)) as file:
        file.write(os.fsencode(text))
