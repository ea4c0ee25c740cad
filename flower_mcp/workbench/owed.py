"""What is owed to the disk: writes that it refused, kept in memory in their order, and made again once it takes them.

The one place for it, so that no writer has a way of its own to go on without a disk. It must not know what is written:
a debt is a function and the words for it. Debts lie in lanes. Within a lane they are paid in their order, or the newest
one stands for all before it; one lane that is refused does not keep the others waiting.

What can hurt: a disk that stays full is asked again at every write, so no more than a tenth of the time goes into
asking; a write may be half done when it fails, so what is given here must leave whole files, or nothing, behind it; and
a run without a disk may be long, so a lane that may grow without end is given a limit.
"""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from flower_mcp.core.errors import FilesError, FlowerError, LockTimeout
from flower_mcp.workbench.files import create, make_folder, what_to_do
from flower_mcp.workbench.locks import PATIENCE
from flower_mcp.workbench.names import timestamp
from flower_mcp.workbench.windows import state_folder

REFUSALS = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG, errno.ENODEV)
)
PAUSE, SHARE, LONGEST = 1.0, 10, 60.0  # seconds between two tries; times what the last try took; and at most
UNWRITTEN = "unwritten"  # the folder in the user's state folder for what found no other place


@dataclass(frozen=True, slots=True)
class Debt:
    """A write that is still to be made: `what` it is, in words, and the `path` it is for.

    `data` are the bytes of what nobody could write again, under `name`: they go elsewhere when the run ends without a
    disk. `newest`: it stands for all that its lane owes. `most`: how many its lane keeps, the oldest are given up.
    """

    lane: str
    what: str
    path: Path
    write: Callable[[], object]
    data: bytes | None = None
    name: str = ""
    newest: bool = False
    most: int | None = None


@dataclass(slots=True)
class _Lane:
    """What one lane owes, oldest first, and how many of it were given up."""

    debts: deque[Debt] = field(default_factory=deque)
    lost: int = 0

    def give_up(self, most: int | None) -> None:
        """Keep the newest `most`."""
        while most is not None and len(self.debts) > most:
            self.debts.popleft()
            self.lost += 1


class Owed:
    """Everything that is owed. `say` hears what was refused, in a sentence, and `tell` what is written after all.

    Nothing here raises for a disk that refuses.
    """

    def __init__(
        self,
        say: Callable[[str], object],
        tell: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._say = say
        self._tell = tell
        self._clock = clock
        self._lanes: dict[str, _Lane] = {}
        self._next = 0.0
        self._busy = False  # a write is under way
        self._locked: dict[str, float] = {}  # lanes that somebody else's lock keeps waiting, and since when

    def __bool__(self) -> bool:
        """Whether anything is owed."""
        return any(lane.debts for lane in self._lanes.values())

    def write(self, debt: Debt, *, at_once: bool = False) -> bool:
        """Make a write, after what its lane owes; whether it is made. `at_once`: try, however short ago it failed."""
        lane = self._lanes.setdefault(debt.lane, _Lane())
        was_owed = bool(lane.debts)
        if debt.newest:
            lane.debts.clear()
        lane.debts.append(debt)
        if was_owed:
            lane.give_up(debt.most)
            self.pay(at_once=at_once)
        elif self._first(lane, debt):
            self.pay()
        return all(other is not debt for other in lane.debts)

    def pay(self, *, at_once: bool = False) -> None:
        """Make what is owed, as far as the disk takes it; not sooner than a while after the last try."""
        began = self._clock()
        if self._busy or not self or (began < self._next and not at_once):
            return
        self._busy = True
        try:
            paid = [words for lane in list(self._lanes.values()) if (words := self._pay(lane))]
        finally:
            self._busy = False
        ended = self._clock()
        self._next = ended + min(LONGEST, max(PAUSE, SHARE * (ended - began)))
        if paid:
            self._tell("written after all: " + "; ".join(paid))

    def left(self) -> tuple[Debt, ...]:
        """What is owed now."""
        return tuple(debt for lane in self._lanes.values() for debt in lane.debts)

    def _first(self, lane: _Lane, debt: Debt) -> bool:
        """Try what nothing waits before; whether it is made."""
        was_busy, self._busy = self._busy, True  # what it writes in turn must not pay for it a second time
        try:
            made = self._made(debt)
        finally:
            self._busy = was_busy
        if made and lane.debts and lane.debts[0] is debt:
            lane.debts.popleft()
        return made

    def _pay(self, lane: _Lane) -> str:
        """Pay a lane in its order; what was paid, in words, once nothing is left of it."""
        debt: Debt | None = None
        is_told = not (lane.debts and self._is_only_locked(lane.debts[0].lane))
        while lane.debts:
            debt = lane.debts[0]
            if not self._made(debt):
                return ""
            if lane.debts and lane.debts[0] is debt:  # paying it may have put a newer one in its place
                lane.debts.popleft()
        if debt is None or not is_told:
            return ""
        lost, lane.lost = lane.lost, 0
        return f"{debt.what}, {debt.path}" + (f" (without the oldest {lost}: too many for the memory)" if lost else "")

    def _made(self, debt: Debt) -> bool:
        try:
            debt.write()
        except (OSError, FlowerError) as error:
            if isinstance(error, LockTimeout) and not self._is_long_locked(debt.lane):
                return False
            self._say(f"{debt.what} cannot be written to {debt.path}: {_reason(error)}")
            return False
        self._locked.pop(debt.lane, None)
        return True

    def _is_only_locked(self, lane: str) -> bool:
        """Whether nothing was said of it, since a lock is all that it waits for."""
        return lane in self._locked and self._clock() - self._locked[lane] < PATIENCE

    def _is_long_locked(self, lane: str) -> bool:
        """Whether a lock has been somebody else's for longer than a writer waits. Before that it is no refusal."""
        now = self._clock()
        return now - self._locked.setdefault(lane, now) >= PATIENCE


def refusal(error: BaseException) -> int | None:
    """The errno when it was the disk that refused (full, read-only, no right, broken); None for anything else."""
    cause = error if isinstance(error, OSError) else error.__cause__
    number = cause.errno if isinstance(cause, OSError) else None
    return number if number in REFUSALS else None


def keep_elsewhere(debt: Debt, folders: Iterable[Path] | None = None) -> Path | None:
    """Put what a debt holds into the first folder that takes it; where it lies, None when none did.

    By default the user's state folder, then the system's folder for temporary files. Like an editor that cannot save:
    what was written is not gone when the program is, and the path is said.
    """
    for folder in _elsewhere() if folders is None else folders:
        with suppress(OSError, FlowerError):
            make_folder(folder)
            stem, _, suffix = debt.name.rpartition(".")
            path = folder / f"{stem}-{timestamp(time.time())}.{suffix}"
            if debt.data is not None and create(path, debt.data):
                return path
    return None


def _elsewhere() -> Iterable[Path]:
    with suppress(FilesError):  # no home
        yield state_folder() / UNWRITTEN
    with suppress(OSError):
        yield Path(tempfile.mkdtemp(prefix="flower-"))


def _reason(error: OSError | FlowerError) -> str:
    """Why, that it is not lost, and what to do; without the names of the files that were tried on the way."""
    kept = "It is kept in memory and written once that works."
    number = refusal(error)
    if number is not None:
        return f"{os.strerror(number)}. {kept} {what_to_do(number)}"
    if isinstance(error, FilesError):
        return f"{error.what} {kept} {error.next}".rstrip()
    return f"{error}. {kept}"
