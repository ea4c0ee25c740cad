"""What a desktop client starts: the MCP server of the package that pyproject.toml names.

It holds nothing of its own, so that the bundle behaves as `flower-mcp` does.
"""

import sys

from flower_mcp.server.main import main

if __name__ == "__main__":
    sys.exit(main())
