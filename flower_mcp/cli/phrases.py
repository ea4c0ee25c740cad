"""A cost and a path in a few words, for every command that shows one."""

from __future__ import annotations

from pathlib import Path

from flower_mcp.cli.words import Words


def cost_text(words: Words, cost: float | None) -> str:
    """A cost in USD as people read it; four decimals below ten cents, where two would say little."""
    if cost is None:
        return words("unknown cost")
    return f"${cost:.2f}" if cost >= 0.1 or cost == 0 else f"${cost:.4f}"


def home_path(path: str | Path) -> str:
    """The path with `~` for the person's home."""
    text = str(path)
    try:
        home = str(Path.home())
    except RuntimeError:  # a user without a home
        return text
    return f"~{text[len(home) :]}" if home != "/" and text.startswith(f"{home}/") else text
