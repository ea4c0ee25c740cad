"""Fences around texts that a prompt carries: what is enclosed cannot close its fence, and a path cannot leave its line.

It must not know prompts. What can hurt: a text that holds the end of its own fence and an order behind it, so a fence's
tag is the start of the text's own sha256 and does not occur in what it encloses. Same text, same fence.
"""

from __future__ import annotations

import re
from hashlib import sha256

_TAG = 12
_BREAKS = re.compile(r"[\x00-\x1f\x7f`\u0085\u2028\u2029]")


def fenced(name: str, text: str, avoid: str = "") -> str:
    """Put a text between tags whose name occurs neither in it nor in `avoid`, the other texts of the same prompt."""
    tag = _tag(text, text + avoid)
    return f"<{name}-{tag}>\n{text.rstrip(chr(10))}\n</{name}-{tag}>"


def one_line(words: str) -> str:
    """A path or a name as it can stand in a prompt's line, between backticks too."""
    return _BREAKS.sub(" ", words)


def _tag(text: str, avoid: str) -> str:
    """Return the start of the text's sha256, lengthened until it does not occur in `avoid`."""
    digits = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    length = _TAG
    while digits[:length] in avoid:
        length += 1
        if length > len(digits):
            digits += sha256(digits.encode()).hexdigest()
    return digits[:length]
