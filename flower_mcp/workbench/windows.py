"""What this machine says about windows, and where the user's state lies.

The only place that looks at the environment for a window; the table itself is core/policy.py's. It must not know a run
or a step.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from flower_mcp.core.policy import guess_window

STATE_FOLDER = "FLOWER_STATE_DIR"  # the variable that puts the user's state somewhere else


def default_window(environ: Mapping[str, str] | None = None) -> int:
    """The window in tokens that the model's name in the environment suggests (the process's own by default)."""
    return guess_window(os.environ if environ is None else environ)


def state_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The user's state folder for flower: $FLOWER_STATE_DIR, else the system's usual place. It may not exist yet."""
    given = (os.environ if environ is None else environ).get(STATE_FOLDER)
    if given:
        return Path(given)
    from platformdirs import user_state_path

    return user_state_path("flower", appauthor=False)
