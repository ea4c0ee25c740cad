"""Node's tools for the tests: the MCP Inspector, the conformance suite and mcpb, with a Node that is new enough.

They are looked for in TESTS_NODE_MODULES, else in node_modules at the top of the tree; CI installs them there with
INSTALL. Where they are missing, a test is skipped with that command as its reason; with TESTS_NODE_REQUIRED set it
fails, so that CI cannot skip them unseen.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent.parent
PACKAGES = (
    "node@22",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@anthropic-ai/mcpb@2.1.2",
)
INSTALL = f"npm install --no-save --no-package-lock --no-audit --no-fund {' '.join(PACKAGES)}"
CONFORMANCE, INSPECTOR, MCPB = "conformance", "mcp-inspector", "mcpb"


@dataclass(frozen=True, slots=True)
class Node:
    """Node and one of its programs."""

    folder: Path
    program: str

    @property
    def bin(self) -> Path:
        """Where the programs lie, Node 22 among them."""
        return self.folder / "node" / "bin"

    @property
    def command(self) -> list[str]:
        """What begins a command line."""
        return [str(self.bin / "node"), str(self.folder / ".bin" / self.program)]


def node(program: str) -> Node:
    """The program, or a skipped test."""
    found = Node(Path(os.environ.get("TESTS_NODE_MODULES") or TOP / "node_modules"), program)
    if all(Path(each).exists() for each in found.command):
        return found
    reason = f"{program} is not installed in {found.folder}: {INSTALL}"
    if os.environ.get("TESTS_NODE_REQUIRED"):
        pytest.fail(reason)
    pytest.skip(reason)
