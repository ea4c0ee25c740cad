"""What a section's text is once its accidents are off: line ends, NULs, blank lines around it, words for "empty".

It must not know headings. What can hurt: an empty section read as content ("None.") makes an incomplete handoff look
complete, and a text read as empty is lost, so only whole texts that say nothing else count.
"""

from __future__ import annotations

import re

from flower_mcp.core.lookup import fold

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LONGEST_MARKER = 400
_PUNCTUATION = " \t\n-—–*•·()（）[]{}【】_。.…/\\|,，`"
_NO_CONTENT = frozenset(
    {
        "", "空", "无", "暂无", "没有", "暂时没有", "none", "none yet", "none so far", "n/a", "na", "nil", "null",
        "nothing", "nothing yet", "empty", "not applicable", "なし", "keine", "없음",
    }
)  # fmt: skip


def split_lines(text: str) -> list[str]:
    """Split at CRLF, LF and CR, without the line ends; NULs are dropped. "a\\n" has two lines, the last empty.

    Not str.splitlines, which also splits at form feeds and U+2028.
    """
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def says_nothing(text: str) -> bool:
    """Say whether a text is blank, or one of the words that people put into an empty section, or only comments."""
    if len(text) > _LONGEST_MARKER:
        return not text.strip()
    bare = _COMMENT.sub("", text).strip(_PUNCTUATION).strip()
    return fold(bare) in _NO_CONTENT


def canonical_text(text: str) -> str:
    """Return a section's text as a document can hold it: LF, no NUL, no blank lines at its ends, "" if it is empty."""
    lines = split_lines(text)
    while lines and not lines[-1].strip():
        lines.pop()
    start = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    joined = "\n".join(lines[start:])
    return "" if says_nothing(joined) else joined
