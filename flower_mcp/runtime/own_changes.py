"""Whether a change of the document is a session's own: which tools touch the file, and what they make of its text.

Pure, apart from what is given. What can hurt: the CLI changes a file in the same moments in which a person saves it, so
for tools whose work can be worked out it is worked out; a command's cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from flower_mcp.core.errors import FlowerError
from flower_mcp.core.markdown import edit_section
from flower_mcp.core.masking import mask
from flower_mcp.core.undone import CHANGERS, SEPARATORS
from flower_mcp.runtime.signals import Used
from flower_mcp.workbench.documents import field_of

_SECTION = "__edit_section"  # the end of the tool's name, whatever the server is called
_WHOLE = "__write_handoff"
_READERS = frozenset(
    ("cat", "head", "tail", "grep", "rg", "ls", "wc", "stat", "file", "diff", "cmp", "sha256sum", "md5sum", "nl", "cd")
)
_MOST = 4  # tools of one batch of which any may have been refused; more are believed to explain whatever happened


def touches(used: Used, document: Path) -> bool:
    """Whether a tool may change the document: by its path, by a command that names it, by the tools of flower."""
    given = used.input
    if used.tool in CHANGERS:
        path = given.get("file_path") or given.get("notebook_path")
        return isinstance(path, str) and Path(path).name == document.name
    if used.tool.endswith((_SECTION, _WHOLE)):
        return True
    command = given.get("command")
    names = (document.name, ".flower", "交接")
    return isinstance(command, str) and any(name in command for name in names) and not _only_reads(command)


def explains(used: Sequence[Used], before: str, after: str) -> bool:
    """Whether these tools can have made the one text of the other, all of them or, since any may fail, some."""
    if not used:
        return False
    if len(used) > _MOST or any(_result(each, before) is None for each in used):
        return True
    wanted = _plain(after)
    some = (group for size in range(len(used), 0, -1) for group in combinations(used, size))
    return any(_plain(_after_all(group, before)) == wanted for group in some)


def _only_reads(command: str) -> bool:
    """Whether a command surely changes no file: programs that read, and nothing is led into a file."""
    if ">" in command or "`" in command or "$(" in command:
        return False
    parts = [part.split() for part in SEPARATORS.split(command)]
    return all(part[0] in _READERS for part in parts if part)


def _after_all(used: Iterable[Used], text: str) -> str:
    for each in used:
        result = _result(each, text)
        text = text if result is None else result
    return text


def _result(used: Used, text: str) -> str | None:
    """What a tool makes of a text; the text itself where it does not apply; None where nobody can know."""
    given = used.input
    if used.tool == "Write":
        content = given.get("content")
        return content if isinstance(content, str) else None
    if used.tool == "Edit":
        old, new = given.get("old_string"), given.get("new_string")
        if not isinstance(old, str) or not isinstance(new, str):
            return None
        plain = text.replace("\r\n", "\n")
        return plain.replace(old, new, -1 if given.get("replace_all") else 1) if old else (plain or new)
    if used.tool.endswith(_SECTION):
        try:
            words = mask(str(given.get("text") or "")).text
            return edit_section(
                text, field_of(str(given.get("section") or "")), words, str(given.get("mode") or "replace")
            )
        except FlowerError:
            return text
    return None


def _plain(text: str) -> list[str]:
    """Lines without what tools change by themselves: line ends, blanks at line ends, empty lines at the end."""
    return [line.rstrip() for line in text.removeprefix("\ufeff").rstrip().split("\n")]
