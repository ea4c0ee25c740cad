"""Numbers as people type them, in options, variables and config files. Text in, numbers out."""

from __future__ import annotations

_UNITS = {"k": 1_000, "m": 1_000_000}


def tokens(text: str) -> int | None:
    """A number of tokens: 200000, 200_000, 200K or 1M; None for anything else."""
    text = text.strip().lower().replace("_", "")
    unit = _UNITS.get(text[-1:], 1)
    digits = text if unit == 1 else text[:-1]
    return int(digits) * unit if digits.isascii() and digits.isdigit() and len(digits) <= 15 else None
