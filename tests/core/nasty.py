"""Text that is hard on a reader of markdown, as Hypothesis strategies: every piece once meant something to it."""

from __future__ import annotations

from hypothesis import strategies as st

from flower_mcp.core.handoff import FIELDS, Extra, Handoff

# fmt: off
PIECES = [
    "## Next", "# Status", "# Doing", "### Next", "## 现在在做 · Doing now", "### 下一步 · Next", "### 现场", "##现场",
    "＃＃ 下一步", "##foo", "# 交接 · work", "## Foo (bar", "## baz)", "## Open questions", "## Status & next steps",
    "## \\Next", "## Where we are: foo", "## ", "#", "##", "# #", "##  ##", "   ## Scene", "1. Next",
    "**Next**", "**Next:** do", "- Next: x", "Next:", "Doing: x", "Open questions:", "\\**Next**", "a: b", "title: x",
    "```", "````", "```bash", "```md", "~~~", "~~~~", "    ```", "`", "\\```",
    "<!--", "<!-- x", "<!-- x -->", "-->", "<!-- a --> b", "<!-- a --> <!-- b", "\\<!-- x",
    "---", "***", "===", "-", "- - -", "\\---", "Foo\n---", "Next\n===",
    "(空)", "None.", "\\(空)", "> ## Next", "> q", "|a|b|", "Next", "text", "\\", "\\\\", "\\## Next",
    "", "  ", "\t", "\x0c", "\u2028", "\u3000", "a\x00b", "\r", "\ufeff", "\x85", "\x1c",
]
# fmt: on

lines = st.one_of(
    st.sampled_from(PIECES),
    st.text(max_size=8),
    st.lists(st.sampled_from([*PIECES, " "]), max_size=3).map("".join),
)
texts = st.lists(lines, max_size=7).map("\n".join)
extras = st.builds(
    Extra, heading=st.one_of(lines, texts), text=texts, after=st.sampled_from(["", *FIELDS, "no such field"])
)
handoffs = st.builds(
    Handoff,
    step=st.one_of(lines, texts),
    doing=texts,
    decided=texts,
    deadends=texts,
    next=texts,
    scene=texts,
    extra=st.lists(extras, max_size=3).map(tuple),
)
