"""Addresses of resources: `handoff://{step}`, `handoff://{step}/{generation}` and `handoff://status`.

Pure text. A step's name is percent-encoded, whatever it holds. A step named `status` would have the overview's address,
so its first letter is encoded: the same name to whoever decodes it, another text to whoever compares.
"""

from __future__ import annotations

from urllib.parse import quote

STATUS = "handoff://status"
DOCUMENT = "handoff://{step}"
GENERATION = "handoff://{step}/{generation}"


def document_uri(step: str) -> str:
    """The address of a step's current document."""
    name = quote(step, safe="", errors="replace")
    return f"handoff://{name if name != 'status' else '%73tatus'}"


def generation_uri(step: str, generation: int) -> str:
    """The address of the document that a generation left."""
    return f"{document_uri(step)}/{generation}"
