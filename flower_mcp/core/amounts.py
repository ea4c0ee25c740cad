"""Numbers, and yes or no, as people type them in options, variables, files and arguments. Text in, values out."""

from __future__ import annotations

import re

_TOKENS = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9][0-9_]{0,19})(?:\.([0-9]{1,3})(?=[km]))?([km]?)")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
_NO = frozenset({"", "0", "false", "f", "no", "n", "off"})  # as click reads a variable


def tokens(text: str) -> int | None:
    """A number of tokens: 200000, 200_000, 200,000, 200K, 150.0K or 1M; None for anything else."""
    match = _TOKENS.fullmatch(text.strip().lower())
    if match is None:
        return None
    whole, part, unit = match.groups()
    number = int(whole.replace(",", "").replace("_", "")) * _UNITS[unit]
    return number + int((part or "").ljust(3, "0")) * _UNITS[unit] // 1_000


def is_yes(text: str) -> bool:
    """Whether a variable says yes. What is neither yes nor no says yes: whoever set it wanted something."""
    return text.strip().lower() not in _NO
