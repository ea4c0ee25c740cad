"""A `flower` that dies at a moment that is known beforehand: before the n-th change that it makes to a file.

python -m tests.e2e.killing MOMENTS -- run ...

MOMENTS is a JSON array of them. Only what changes what others can see is counted: lines that are appended, renames,
links, removals, new folders. What goes into a temporary file, and making things durable, shows to nobody (kills between
all of these are in tests/workbench/test_kill.py). What can hurt: threads write beside the loop, so the n-th change need
not be the same in each run; the note says what it was.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import stat
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

from tests.e2e.harness import claude_cli, command, descendants

CHANGES = ("write", "replace", "rename", "link", "unlink", "mkdir", "rmdir")
NOW = "at the start"
HANGS = 150.0  # seconds; then it says where every thread is, and goes on


class Victims(StrEnum):
    """Who is killed. `ALL` is the keeper and both that it stands between."""

    SUPERVISOR = "supervisor"
    CLI = "cli"
    BOTH = "both"
    ALL = "all"

    @property
    def ends_the_run(self) -> bool:
        """Whether nobody is left who could go on."""
        return self is not Victims.CLI


@dataclass(frozen=True, slots=True)
class Moment:
    """When to kill whom: before the `number`-th change to a file after `move` has begun for the first time.

    `move` is a value of core/decide.py's Move, or NOW. `note` is the file that tells that it happened.
    """

    move: str
    number: int
    victims: Victims
    note: str = ""

    def __str__(self) -> str:
        return f"{self.victims} before change {self.number} after {self.move!r}"


def as_json(moments: list[Moment]) -> str:
    """As `main` reads them."""
    return json.dumps([asdict(moment) for moment in moments])


def kill(victims: Victims, supervisor: int) -> None:
    """Kill them, the keeper first and the supervisor last: it may be the caller."""
    below = descendants(supervisor) if victims is not Victims.SUPERVISOR else []
    keepers = [pid for pid in below if "keeper.py" in command(pid)] if victims is Victims.ALL else []
    clis = [pid for pid in below if command(pid).startswith(str(claude_cli()))]
    for pid in [*keepers, *clis, *([supervisor] if victims.ends_the_run else [])]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


class Countdown:
    """Counts changes from when it is armed, and strikes before the last one."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self._calls = count(1)
        self.armed = moment.move == NOW
        self._write = os.write

    def strike(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Note what would have come, and kill."""
        descriptor = os.open(self._moment.note, os.O_WRONLY | os.O_CREAT, 0o600)
        self._write(descriptor, f"{name} {arguments!r}"[:300].encode("utf-8", "replace"))
        os.close(descriptor)
        kill(self._moment.victims, os.getpid())

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, counted."""

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            if self.armed and (name != "write" or _shows(arguments[0])) and next(self._calls) == self._moment.number:
                self.strike(name, arguments)
            return function(*arguments, **options)

        return call

    def arming(self, function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """The move, with the count begun by it."""

        async def move(*arguments: Any) -> Any:
            self.armed = True
            return await function(*arguments)

        return move


def _shows(descriptor: int) -> bool:
    """Whether others see what is written there: a file, under its lasting name."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return False
    return Path(f"/proc/self/fd/{descriptor}").readlink().suffix != ".tmp"


def prepare(moment: Moment) -> None:
    """From now on this process is going to die at that moment."""
    from flower_mcp.core.decide import Move
    from flower_mcp.runtime.moves import MOVES
    from flower_mcp.workbench import exchange

    countdown = Countdown(moment)
    for name in CHANGES:
        setattr(os, name, countdown.watched(name, getattr(os, name)))
    exchange._rename = countdown.watched("renameat2", exchange._rename)
    if moment.move != NOW:
        MOVES[Move(moment.move)] = countdown.arming(MOVES[Move(moment.move)])


def main() -> None:
    """Be `flower`, until a moment has come that ends it. Pauses before a retry are short."""
    from flower_mcp.core.policy import RetryPolicy

    setattr(RetryPolicy, "pause", lambda _self, _failures: 0.05)  # noqa: B010
    faulthandler.dump_traceback_later(HANGS)
    for given in json.loads(sys.argv[1]):
        prepare(Moment(given["move"], given["number"], Victims(given["victims"]), given["note"]))
    sys.argv = [str(Path(sys.argv[0])), *sys.argv[3:]]
    from flower_mcp.cli.main import main as flower

    flower()


if __name__ == "__main__":
    main()
