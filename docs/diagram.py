"""Writes the state diagram in architecture.md from the table in flower_mcp/core/decide.py.

Run it after a change of the table: `.venv/bin/python docs/diagram.py`. It replaces what stands between the two markers
and nothing else; a page without them is an error, since a diagram that is silently not written goes stale.
"""

from __future__ import annotations

from pathlib import Path

from flower_mcp.core.decide import diagram

PAGE = Path(__file__).with_name("architecture.md")
BEGIN = "<!-- diagram: generated from flower_mcp/core/decide.py by docs/diagram.py; do not edit -->"
END = "<!-- end of the diagram -->"


def refreshed(page: str) -> str:
    """The page's text with the diagram as the table has it now. Raises ValueError without the two markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for the diagram: {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n```mermaid\n{diagram()}```\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
