"""One tree of errors, sorted by whose fault it is.

Every error says what happened, what was kept and what to do next, and carries the exit code of the command line
(design, section 7). It must not know how it is shown. Nobody matches the words: branch on the class and its fields.
"""

from __future__ import annotations

import shlex
from typing import ClassVar


class FlowerError(Exception):
    """The root. `what` happened, what was `kept`, what to do `next`; each is a sentence without a full stop at need.

    A class says what was kept and what to do where a raise has nothing better: `kept` and `next` are never empty. As a
    text it is the words of its raise alone, to be put into other sentences; `told` is all three, for a person.
    """

    exit_code: ClassVar[int] = 1
    KEPT: ClassVar[str] = "What is on disk was left as it was."
    NEXT: ClassVar[str] = "`flower doctor` looks for what is wrong here."

    def __init__(self, what: str, *, kept: str = "", next: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.kept = kept or self.KEPT
        self.next = next or self.NEXT
        self._own = (what, kept, next)

    def __str__(self) -> str:
        return " ".join(part for part in self._own if part)

    @property
    def told(self) -> str:
        """What happened, what was kept, and what to do next."""
        return " ".join((self.what, self.kept, self.next))


class CallersError(FlowerError):
    """The caller asked for something that cannot be done as asked. Nothing was started or written."""

    exit_code = 2
    KEPT = "Nothing was started or changed."
    NEXT = "`flower --help` shows what there is."


class Usage(CallersError, ValueError):
    """An option, an argument or a value that cannot be used."""


class Busy(CallersError):
    """The step runs already, in this process or in another one.

    `holder` says who: pid, host and since when, as far as known.
    """

    exit_code = 3

    def __init__(self, step: str, holder: str) -> None:
        super().__init__(
            f"The step {step!r} is already running ({holder}).",
            kept="Nothing was started.",
            next=f"Wait for it, stop it, or use another step: --step {shlex.quote(f'{step}-2')}",
        )
        self.step = step
        self.holder = holder


class NothingThere(CallersError):
    """A step, a document or a generation that does not exist."""

    exit_code = 5
    NEXT = "`flower list` shows the steps that there are."


class FilesError(FlowerError):
    """A file or a folder is not what it should be, or cannot be read or written."""


class Conflict(FilesError):
    """The document changed since the caller looked: `current` is its revision now ("" when there is none)."""

    def __init__(self, step: str, expected: str, current: str) -> None:
        now = f"its revision is {current}" if current else "there is no document"
        super().__init__(
            f"The document of step {step!r} is not at the revision {expected!r} any more: {now}.",
            kept="Nothing was written.",
            next="Read it again, then write with its revision.",
        )
        self.step = step
        self.expected = expected
        self.current = current


class LockTimeout(FilesError):
    """Somebody else held the write lock for longer than a writer waits."""

    NEXT = "Try again; `flower doctor` says who holds which lock."


class WorldsError(FlowerError):
    """The network, the model's service or another program failed."""

    KEPT = "What was done so far is kept."
    NEXT = "Try again; `flower doctor` looks at what is needed."


class NoCredentials(WorldsError):
    """The Claude Code CLI has no way to log in, or its credentials were refused."""

    exit_code = 4

    WAYS: ClassVar[str] = (
        "Give it one of the three: ANTHROPIC_API_KEY=... in the environment; a subscription's login, made once with "
        "`claude` and /login; or a gateway's ANTHROPIC_BASE_URL and ANTHROPIC_AUTH_TOKEN. "
        "`flower demo` needs none of them."
    )

    def __init__(self, what: str, *, kept: str = "") -> None:
        super().__init__(what, kept=kept, next=self.WAYS)


class CliMissing(WorldsError):
    """There is no Claude Code CLI to run."""

    INSTALL: ClassVar[str] = "Install the supervisor's part: pip install 'flower-mcp[run]'"

    def __init__(self) -> None:
        super().__init__("The Claude Code CLI was not found.", kept="Nothing was started.", next=self.INSTALL)


class RunPartMissing(CallersError):
    """The base install has no supervisor."""

    def __init__(self, package: str) -> None:
        super().__init__(
            f"`flower run` needs the package {package}, which this install does not have.",
            kept="Nothing was started.",
            next="Install it: pip install 'flower-mcp[run]' (the Claude Code CLI in it is about 180 MB)",
        )


class ChartPartMissing(CallersError):
    """The extra `chart` is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "The part that draws charts is not installed.",
            kept="Nothing was drawn.",
            next="Install it: pip install 'flower-mcp[chart]'",
        )


class OurError(FlowerError):
    """A mistake in flower-mcp itself, an illegal move for example. Worth a bug report."""

    KEPT = "What was written so far is kept."
    NEXT = "Please report it; FLOWER_DEBUG=1 shows where it is."
