"""A mistake of ours in a step's run, contained: the step fails with a sentence, its documents and books stay whole.

What can hurt: a mistake that is swallowed is never mended, so FLOWER_DEBUG lets it through, and the log has its trace.
"""

from __future__ import annotations

import logging
import os

from flower_mcp.core.errors import CallersError, FlowerError, OurError


def told_of(group: ExceptionGroup[Exception]) -> str:
    """What to tell of the first error in the group. Raises that error when it is the caller's, or when debugging."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, CallersError):
        raise error
    logging.getLogger(__name__).debug("a mistake in flower-mcp", exc_info=error)
    if os.environ.get("FLOWER_DEBUG"):
        raise error
    if isinstance(error, FlowerError) and not isinstance(error, OurError):
        return error.told
    return f"a mistake in flower-mcp itself ({type(error).__name__}: {error}). {OurError.KEPT} {OurError.NEXT}"
