"""The MCP server: the handoff's tools, prompts and resources for any client. The only importer of mcp."""
