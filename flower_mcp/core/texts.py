"""What models read: the markdown files of `prompts/`, and the figures that go into them.

This is the one module of core that loads something, through importlib.resources alone. It must not know paths, who
asks, or what a prompt is used for. What can hurt: a placeholder that nobody fills reaches the model as `{document}`;
a value that is itself searched for placeholders lets a document rewrite its own frame. So values are put in word for
word, in one pass, and a placeholder without a value raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from flower_mcp.core.errors import OurError

NAMES = (
    "handoff", "turn", "facts", "again", "takeover", "session", "continue", "stopped", "retry", "late", "said",
    "rewound",
    "unknown", "waiting", "pointer", "others", "running", "stranger", "due", "compacting",
)  # fmt: skip

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    HANDOFF_PROMPT: str


class ValueMissing(OurError, KeyError):
    """A prompt has a placeholder for which no value was given: `prompt` and `placeholder` say which."""

    def __init__(self, prompt: str, placeholder: str) -> None:
        super().__init__(f"The prompt {prompt!r} has the placeholder {{{placeholder}}}, and no value was given for it.")
        self.prompt = prompt
        self.placeholder = placeholder


class PromptMissing(OurError, LookupError):
    """There is no such prompt: a name that is none of NAMES, or an installation without its files."""


def load(name: str) -> str:
    """Return the text of `prompts/<name>.md` with its placeholders, without the last line end.

    Raises PromptMissing for a name that is none of NAMES and when the installation lacks the file.
    """
    if name not in NAMES:
        raise PromptMissing(f"There is no prompt {name!r}; there are {', '.join(NAMES)}.", next="Ask for one of these.")
    for folder in _folders():
        file = folder.joinpath(f"{name}.md")
        if file.is_file():
            return file.read_text(encoding="utf-8").rstrip("\n")
    raise PromptMissing(f"prompts/{name}.md is not part of this installation.", next="Install flower-mcp again.")


def placeholders(name: str) -> frozenset[str]:
    """Return the names of the placeholders in a prompt. Raises PromptMissing."""
    return frozenset(_PLACEHOLDER.findall(load(name)))


def render(name: str, values: Mapping[str, str]) -> str:
    """Return a prompt with every `{placeholder}` replaced by its value, word for word.

    The text is gone through once, so a `{used}` inside a value stays as it is. A value without a placeholder is unused.
    Raises ValueMissing (a KeyError) for a placeholder without a value, PromptMissing for an unknown prompt.
    """

    def value(match: re.Match[str]) -> str:
        placeholder = match[1]
        if placeholder not in values:
            raise ValueMissing(name, placeholder)
        return values[placeholder]

    return _PLACEHOLDER.sub(value, load(name))


def handoff_prompt() -> str:
    """Return HANDOFF_PROMPT: the request to write a handoff, with its placeholders {used} and {window}."""
    return load("handoff")


def handoff_turn(used: str, window: str) -> str:
    """Return what a supervised session is asked: HANDOFF_PROMPT, and behind it what holds in a handoff turn alone."""
    return f"{render('handoff', {'used': used, 'window': window})}\n\n{load('turn')}"


def used_text(tokens: int) -> str:
    """Return a context as people read it: 152000 tokens -> "152.0K". One decimal, since it is seen moving."""
    return f"{tokens / 1000:.1f}K"


def context_text(tokens: int, estimated: bool = False) -> str:
    """Return a context as people read it, with a sign before one that is estimated: "~152.0K"."""
    return f"~{used_text(tokens)}" if estimated else used_text(tokens)


def window_text(tokens: int) -> str:
    """Return a window as people read it: 200000 tokens -> "200K", 131072 -> "131K", 1000000 -> "1000K".

    Never "1M": it stands beside a context in K ("952.3K/1000K"), and one unit on both sides compares at a glance.
    Below 1,000 tokens the bare number.
    """
    return f"{tokens / 1000:.0f}K" if tokens >= 1000 else str(tokens)


def time_text(seconds: float) -> str:
    """Return a time as people read it: 312.4 seconds -> "5m 12s", 3600 -> "1h 0s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return " ".join([*(f"{number}{unit}" for number, unit in ((hours, "h"), (minutes, "m")) if number), f"{rest}s"])


def _folders() -> Iterator[Traversable]:
    """Yield where prompts/ can lie: in the package (a wheel), else beside it (a checkout, an editable install)."""
    from importlib.resources import files  # not for the figures alone: it brings compressors along

    package = files("flower_mcp")
    yield package.joinpath("prompts")
    yield package.joinpath("..", "prompts")


if not TYPE_CHECKING:
    # Hidden from the type checker, to which a module with __getattr__ would seem to have every name.
    def __getattr__(name: str) -> str:
        """Load the public constant HANDOFF_PROMPT when it is asked for: importing this module reads no file."""
        if name == "HANDOFF_PROMPT":
            return handoff_prompt()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
