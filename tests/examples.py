"""How much is tried: what finds faults in minutes, or with FLOWER_SOAK=1 in the environment all that one has time for.

It knows no test.
"""

from __future__ import annotations

import os


def examples(usual: int, soak: int) -> int:
    """A number of examples, calls or rounds: `usual`, or `soak` where FLOWER_SOAK is set."""
    return soak if os.environ.get("FLOWER_SOAK") else usual
