"""A bar of context: how full a window is, and where its lines are. Text alone, one cell a character.

It must not know where the figures come from. What can hurt: a terminal without UTF-8 shows `?` for what it does not
have, so there is a plain form in ASCII.
"""

from __future__ import annotations

FULL, EMPTY, LINE = "█", "░", "│"
PLAIN = str.maketrans({FULL: "#", EMPTY: "-", LINE: "|"})
SMALLEST = 10  # cells; a shorter bar says nothing


def context_bar(context: int, window: int, lines: tuple[int | None, ...] = (), *, width: int = 30) -> str:
    """`width` cells (at least 10) for `context` of `window` tokens, with a mark where each of `lines` (tokens) is.

    A context over the window fills the bar. No window: an empty bar.
    """
    cells = max(SMALLEST, width)
    if window <= 0:
        return EMPTY * cells
    full = min(cells, round(cells * max(0, context) / window))
    drawn = [FULL] * full + [EMPTY] * (cells - full)
    for line in lines:
        if line is not None and 0 < line < window:
            drawn[min(cells - 1, int(cells * line / window))] = LINE
    return "".join(drawn)


def plain(text: str) -> str:
    """The bar in ASCII."""
    return text.translate(PLAIN)
