"""The handoff: what one session tells the next, in five sections, and how it is put together when no session could.

It must not know files, sessions or how markdown is read; those methods ask `markdown.py` and `takeover.py` when they
are called. What can hurt: asking for more than doing and next would make a model invent the rest, so only these two
can be missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flower_mcp.core.headings import FIELDS

REQUIRED = ("doing", "next")
"""The sections without which a handoff is incomplete."""

DEGRADED = "[降级:交接没写成]"
"""The mark that doing carries when code put the document together."""

EMPTY = "(空)"
"""What stands under the heading of an empty section."""

_TASK_SHOWN = 1200
"""Characters of the task that a degraded handoff carries in its scene."""

__all__ = ["DEGRADED", "EMPTY", "FIELDS", "REQUIRED", "Extra", "Handoff", "degraded"]


@dataclass(frozen=True, slots=True)
class Extra:
    """A section that is none of the five: its heading line as it stands, its text, the field it follows ("": the top).

    `heading` is one line with its marks ("## Open questions"), or a label line ("Goal:").
    """

    heading: str
    text: str
    after: str = ""

    def to_markdown(self) -> str:
        """Return heading and text as they stand in a document; a blank line between them unless it is a label."""
        if not self.text:
            return self.heading
        return f"{self.heading}\n{'' if self.heading[-1:] in (':', '：') else chr(10)}{self.text}"


@dataclass(frozen=True, slots=True)
class Handoff:
    """The content of a handoff document. Texts are markdown; "" means empty. `step` is shown and never compared."""

    step: str = field(default="", compare=False)
    doing: str = ""
    decided: str = ""
    deadends: str = ""
    next: str = ""
    scene: str = ""
    extra: tuple[Extra, ...] = ()

    def missing(self) -> tuple[str, ...]:
        """Return the required fields that are blank, in order."""
        return tuple(name for name, text in self._texts() if name in REQUIRED and not text.strip())

    def complete(self) -> bool:
        """Say whether doing and next both say something."""
        return not self.missing()

    @property
    def degraded(self) -> bool:
        """Whether code put this together because no session could write it."""
        return DEGRADED in self.doing

    def sections(self) -> dict[str, int]:
        """Return the characters of each of the five fields."""
        return {name: len(text) for name, text in self._texts()}

    def to_markdown(self) -> str:
        """Return the document, in the one layout that we write."""
        from flower_mcp.core.markdown import to_markdown

        return to_markdown(self)

    @classmethod
    def from_markdown(cls, text: str, step: str = "") -> Handoff:
        """Read a document, leniently; never raises on any text. What is not found is ""."""
        from flower_mcp.core.markdown import from_markdown

        return from_markdown(text, step)

    def prompt_block(self, text: str | None = None, *, path: str | None = None, task: str | None = None) -> str:
        """Return the successor's first prompt.

        `text`: the file's own text; without it the handoff is rendered. `path`: where the file lies. `task`: all that
        the person said to the step. Same arguments, same prompt.
        """
        from flower_mcp.core.takeover import prompt_block

        return prompt_block(self.to_markdown() if text is None else text, path=path, task=task)

    def _texts(self) -> Iterator[tuple[str, str]]:
        return ((name, getattr(self, name)) for name in FIELDS)


def degraded(step: str, prompt: str, *, why: str = "") -> Handoff:
    """Return the handoff that code puts together when no session could write one.

    `prompt` is the task; its first 1,200 characters go into scene. `why` is one sentence for people. The result is
    complete, so it is handed on like any other.
    """
    reason = f" ({' '.join(why.split())})" if why.strip() else ""
    shown = prompt[:_TASK_SHOWN] if prompt.strip() else ""
    cut = f"\n\n(The first {_TASK_SHOWN:,} of {len(prompt):,} characters.)" if len(prompt) > _TASK_SHOWN else ""
    return Handoff(
        step=step,
        doing=(
            f"{DEGRADED} No session could write this document{reason}; a program put it together. It does not know "
            "how far the work has come, what was decided or what was tried, so look at the scene yourself."
        ),
        next=(
            "1. Look at the scene yourself: git status, git log, the files that changed last, what still runs.\n"
            "2. Work out from it what is already done, and do none of that again.\n"
            "3. Go on with the task from there."
        ),
        scene=f"The task, as it was given:\n\n{shown}{cut}" if shown else "The task is not known.",
    )
