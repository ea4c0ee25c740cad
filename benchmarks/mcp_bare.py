"""What the server is compared with: the SDK's own server with one tool that answers what it is given."""

from __future__ import annotations

from mcp.server import MCPServer

mcp = MCPServer("bare", version="1")


@mcp.tool()
async def echo(text: str) -> str:
    """Answer the text."""
    return text


if __name__ == "__main__":
    mcp.run()
