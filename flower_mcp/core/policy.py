"""What a caller may choose: when to hand off, how to retry, and which agent to run.

Plain values; the rules for numbers are the seed's (see design, section 5). It must not know the environment: a window
that nobody gave is a plain default here, and better sources (learned, reported, guessed) are put in with `with_window`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, TypeGuard

from flower_mcp.core.errors import Usage
from flower_mcp.core.modes import EFFORTS, PERMISSION_MODES

DEFAULT_WINDOW = 1_000_000  # tokens; the seed's default for a model whose name says nothing
AT_FLOOR = 10_000  # tokens; below this not even the handoff can be written (seed)
WARN_FLOOR = 1_000  # tokens (seed)
WARN_BEFORE = 20_000  # tokens between the approach warning and the handoff line (seed)
SMALLEST_WINDOW = 13_333  # tokens; with its own headroom, a quarter, the handoff line is at AT_FLOOR
SMALL_HEADROOM = 28_000  # tokens; the CLI keeps 20,000 for output and 3,000 below that, and a handoff needs about 5,000


class WindowSource(StrEnum):
    """Where the window's size comes from, best first (design, section 6)."""

    SET = "set"
    LEARNED = "learned"
    REPORTED = "reported"
    GUESSED = "guessed"


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number that can be counted with: no bool, no NaN, nothing infinite."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def _tokens(name: str, value: object, *, positive: bool) -> int:
    """Check a number of tokens (or of handoffs); answer it as an int. Raises Usage."""
    if not _is_number(value) or value < 0 or (positive and int(value) <= 0):
        raise Usage(
            f"{name} must be a number {'above 0' if positive else '0 or more'}, not {value!r}.",
            next=f"Give a number of tokens: {name}=200_000."
            if name in ("window", "headroom")
            else f"Give a number: {name}=8.",
        )
    return int(value)


def _seconds(name: str, value: object) -> float:
    """Check a number of seconds. Raises Usage."""
    if not _is_number(value) or value < 0:
        raise Usage(f"{name} must be a number of seconds, 0 or more, not {value!r}.", next=f"Give one: {name}=60.0.")
    return float(value)


def default_headroom(window: int) -> int:
    """Tokens kept free when no headroom is given: 50,000 at 200k and above (seed), a quarter of smaller windows."""
    return min(50_000, window // 4)


@dataclass(frozen=True, slots=True)
class HandoffPolicy:
    """When a session hands off, and how long each part may take. Tokens and seconds.

    `window` and `headroom` may be left out; they still read as numbers, and `window_given`, `headroom_given` tell.
    dataclasses.replace passes these numbers on, so in its copy both count as given; `with_window` keeps the difference.
    Raises Usage (a ValueError) for what is no number, negative, NaN, or a window or `max_generations` of 0 or less.
    """

    enabled: bool = True
    window: int = None  # type: ignore[assignment]  # None means: not given; __post_init__ makes it a number
    headroom: int = None  # type: ignore[assignment]
    max_generations: int = 8
    write_timeout: float = 600.0
    drain_timeout: float = 900.0
    edit_window: float = 5.0
    edit_limit: float = 900.0
    window_given: bool = field(init=False, default=False)
    headroom_given: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        given = {"window": self.window is not None, "headroom": self.headroom is not None}
        window = _tokens("window", self.window, positive=True) if given["window"] else DEFAULT_WINDOW
        headroom = _tokens("headroom", self.headroom, positive=False) if given["headroom"] else default_headroom(window)
        values: dict[str, Any] = {
            "window": window,
            "headroom": headroom,
            "window_given": given["window"],
            "headroom_given": given["headroom"],
            "max_generations": _tokens("max_generations", self.max_generations, positive=True),
        }
        for name in ("write_timeout", "drain_timeout", "edit_window", "edit_limit"):
            values[name] = _seconds(name, getattr(self, name))
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def at(self) -> int:
        """The handoff line: tokens of context at which the session is asked to write."""
        return max(AT_FLOOR, self.window - self.headroom)

    @property
    def warn_at(self) -> int:
        """The approach line: tokens of context at which a warning is given once a generation."""
        return max(WARN_FLOOR, self.at - WARN_BEFORE)

    @property
    def next_request_limit(self) -> int:
        """Tokens that the next request may carry (context + output + what tools added) before a handoff is due."""
        return self.window - min(20_000, self.headroom // 2)

    def with_window(self, window: int) -> HandoffPolicy:
        """The same policy for another window; a headroom that was not given follows it."""
        new = HandoffPolicy(
            enabled=self.enabled,
            window=window,
            headroom=self.headroom if self.headroom_given else None,  # type: ignore[arg-type]
            max_generations=self.max_generations,
            write_timeout=self.write_timeout,
            drain_timeout=self.drain_timeout,
            edit_window=self.edit_window,
            edit_limit=self.edit_limit,
        )
        object.__setattr__(new, "window_given", self.window_given)
        return new

    def advice(self) -> str | None:
        """A sentence for a *given* headroom that is legal but will not serve, with the number to use; else None."""
        if not self.headroom_given:
            return None
        better = default_headroom(self.window)
        if self.window - better < AT_FLOOR:
            return (
                f"a window of {self.window:,} tokens is too small to work in and hand off; "
                f"use --window {SMALLEST_WINDOW} or more"
            )
        if self.headroom < min(SMALL_HEADROOM, self.window // 4):
            return (
                f"a headroom of {self.headroom:,} tokens leaves little room to write the handoff in; "
                f"use --headroom {better}"
            )
        if self.window - self.headroom < AT_FLOOR:
            return (
                f"a headroom of {self.headroom:,} tokens pushes the handoff line to its floor of {AT_FLOOR:,}; "
                f"use --headroom {better}"
            )
        return None


@dataclass(frozen=True, slots=True)
class FixedLine(HandoffPolicy):
    """A policy whose handoff line stays at `line` tokens while the window becomes known.

    A window that is not above the line gets the headroom that it would have without it.
    """

    line: int = 0

    def with_window(self, window: int) -> HandoffPolicy:
        """The same line in another window."""
        new = FixedLine(
            enabled=self.enabled,
            window=window,
            headroom=window - self.line if window > self.line else default_headroom(window),
            max_generations=self.max_generations,
            write_timeout=self.write_timeout,
            drain_timeout=self.drain_timeout,
            edit_window=self.edit_window,
            edit_limit=self.edit_limit,
            line=self.line,
        )
        object.__setattr__(new, "window_given", self.window_given)
        return new

    def advice(self) -> str | None:
        """A sentence for a line that is legal but will not serve, in the words in which it was given; else None."""
        better = self.window - default_headroom(self.window)
        told = HandoffPolicy.advice(self)  # no super(): a class with slots is made anew, and is not the one it names
        if told is None or better < AT_FLOOR:
            return told
        if self.line < AT_FLOOR:
            return f"--at {self.line} pushes the handoff line to its floor of {AT_FLOOR:,}; use --at {better}"
        return f"--at {self.line} leaves little room to write the handoff in; use --at {better}"


@dataclass(frozen=True, slots=True)
class CompactPolicy:
    """Whether the CLI may compact by itself. `no_summary`: never (DISABLE_AUTO_COMPACT); `auto`: as it likes."""

    mode: Literal["no_summary", "auto"] = "no_summary"

    def __post_init__(self) -> None:
        if self.mode not in ("no_summary", "auto"):
            raise Usage(
                f"There is no mode {self.mode!r} of CompactPolicy.",
                next="CompactPolicy mode must be 'no_summary' or 'auto'.",
            )


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How failures of the world are tried again. All but `max_attempts` are seconds.

    `base` is the first pause, doubled each time up to `cap`; `offline` is how long an endpoint is waited for that
    cannot be reached, or fails when the attempts are used up; `stall` is how long a silent CLI is believed to be
    working (0: without end).
    """

    max_attempts: int = 6
    base: float = 2.0
    cap: float = 120.0
    offline: float = 3600.0
    stall: float = 420.0

    def __post_init__(self) -> None:
        _tokens("max_attempts", self.max_attempts, positive=True)
        for name in ("base", "cap", "offline", "stall"):
            _seconds(name, getattr(self, name))

    def pause(self, failures: int) -> float:
        """Seconds to wait after the given number of failures in a row (1, 2, …), before jitter."""
        return min(self.cap, self.base * 2.0 ** min(max(failures - 1, 0), 30))


LONGEST_NAME = 1_000  # characters of a step's name; it travels in a variable of the CLI's environment


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """Which Claude runs the step. What is left at its default is the CLI's own business.

    `instructions` are appended to Claude Code's own system prompt. `max_turns` and `max_budget_usd` (USD) are for the
    whole step, over all generations and wakes. `compact` None: auto-compact is off while handoff is on.
    """

    name: str = "work"
    instructions: str = ""
    model: str | None = None
    effort: str | None = None
    permission_mode: str = "default"
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    max_budget_usd: float | None = None
    mcp_servers: Mapping[str, Any] = field(default_factory=dict)
    agents: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    compact: CompactPolicy | None = None
    setting_sources: tuple[str, ...] = ("user", "project", "local")

    def __post_init__(self) -> None:
        if not str(self.name or "").strip():
            raise Usage("A step needs a name that is not empty.", next="Give one: --step docs")
        if len(self.name) > LONGEST_NAME or "\0" in self.name or not _is_unicode(self.name):
            raise Usage(
                f"A step's name is text of at most {LONGEST_NAME} characters, without NUL.",
                next="Give one: --step docs",
            )
        if self.permission_mode not in PERMISSION_MODES:
            known = ", ".join(PERMISSION_MODES)
            raise Usage(
                f"There is no permission_mode {self.permission_mode!r}.",
                next=f"permission_mode must be one of {known}.",
            )
        if self.effort is not None and self.effort not in EFFORTS:
            raise Usage(f"There is no effort {self.effort!r}.", next=f"effort must be one of {', '.join(EFFORTS)}.")
        if self.max_turns is not None:
            _tokens("max_turns", self.max_turns, positive=True)
        if self.max_budget_usd is not None and not _seconds("max_budget_usd", self.max_budget_usd) > 0:
            raise Usage("max_budget_usd must be above 0.", next="Give USD: max_budget_usd=5.0, or None for no limit.")
        for lists in ("allowed_tools", "disallowed_tools", "setting_sources"):
            if isinstance(getattr(self, lists), str):
                raise Usage(
                    f"{lists} must be a list of names, not one string: {getattr(self, lists)!r}.",
                    next="Put it in a tuple.",
                )
        if "flower" in self.mcp_servers:
            raise Usage(
                "The MCP server name 'flower' is taken by the supervisor's own server.", next="Use another name."
            )

    def named(self, step: str) -> AgentSpec:
        """The same agent for a step of another name."""
        return self if step == self.name else replace(self, name=step)


def _is_unicode(text: str) -> bool:
    """Whether a text can be written down: no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def guess_window(environ: Mapping[str, str]) -> int:
    """The window that a model's name suggests, in tokens: the seed's table.

    Looks at ANTHROPIC_MODEL and ANTHROPIC_DEFAULT_OPUS_MODEL alone: a standalone `1m` means 1,000,000 and comes
    first, so `claude-haiku[1m]` is 1,000,000; `haiku` means 200,000; all else, and no name at all, 1,000,000.
    """
    names = [environ.get(key, "").lower() for key in ("ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL")]
    name = next((name for name in names if name), "")
    if re.search(r"(?<![a-z0-9])1m(?![a-z0-9])", name):
        return 1_000_000
    return 200_000 if "haiku" in name else DEFAULT_WINDOW
