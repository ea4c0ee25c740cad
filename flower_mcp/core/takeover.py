"""PLACEHOLDER by the lead so that others can run: the reader's helper replaces this file."""

from __future__ import annotations

import hashlib

from flower_mcp.core.texts import render


def prompt_block(text: str, *, path: str | None, task: str | None) -> str:
    tag = hashlib.sha256(text.encode()).hexdigest()[:12]
    return render("takeover", {"document": f"<{tag}>\n{text}\n</{tag}>", "path": str(path), "words": task or ""})
