"""The demo's scripted person: edits the first document while its window is open, as anybody may.

It knows the document's file and nothing of sessions. What can hurt: a real person may be editing the same file, and is
invited to; so it reads what stands there now, and adds a line to it.
"""

from __future__ import annotations

from pathlib import Path

from flower_mcp.core.markdown import edit_section

LINE = (
    "Before the first commit, look at the plant list once: python3 -m columns data/plants.csv "
    "(a person added this line while the document waited)"
)
"""What the person writes. The second session knows by it that the edit has arrived."""


class Person:
    """The person of one demo. `edit` is to be called with the document's path when its window opens."""

    def __init__(self) -> None:
        self.has_edited = False

    def edit(self, path: Path) -> bool:
        """Add the line under Next and save, the first time; whether that was done. Raises OSError."""
        if self.has_edited:
            return False
        text = path.read_text(encoding="utf-8")
        path.write_text(edit_section(text, "next", LINE, "append"), encoding="utf-8")
        self.has_edited = True
        return True
