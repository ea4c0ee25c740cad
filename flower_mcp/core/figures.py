"""The two figures that people mix up, as types that do not mix: a context in tokens, a cost in USD.

For the type checker alone: at run time they are plain numbers, so that books and events stay plain JSON. A context is
what one request of the main thread carried; a cost is the sum over everything, agents and earlier turns included.
Neither can be made out of the other, nor out of a sum of usages: what is a context is made by core/meter.py and
core/transcript.py, what is a cost where a result is read.
"""

from __future__ import annotations

from typing import NewType

Context = NewType("Context", int)  # tokens
Cost = NewType("Cost", float)  # USD
