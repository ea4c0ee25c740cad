"""The permission modes and efforts of the CLI: a name for each, cheap to import, since every `--help` lists them."""

from __future__ import annotations

PERMISSION_MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
