"""What `mcp dev dev.py` and `mcp run dev.py` load: the server for the current folder, or for FLOWER_WORKSPACE.

It stays this small: the SDK loads it as a module that is not in sys.modules, where relative imports fail and models
lose their schemas.
"""

from flower_mcp.server.main import dev_server

mcp = dev_server()
