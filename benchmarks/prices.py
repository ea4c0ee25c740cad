"""What tokens cost: published prices of one model, and the sum of some usage.

It knows no request and no model that answers. All prices are in USD for a million tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

from flower_mcp.demo.reply import Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens: input that no cache knows, input written to the cache for five minutes, input read
    from it, and output. `source` tells where it was published and when it was looked up.
    """

    model: str
    fresh: float
    write: float
    read: float
    output: float
    source: str

    def of(self, usage: Usage, output: int) -> float:
        """USD for one answer."""
        parts = (
            usage.input * self.fresh,
            usage.cache_creation * self.write,
            usage.cache_read * self.read,
            output * self.output,
        )
        return sum(parts) / MILLION

    @property
    def told(self) -> str:
        """The prices, as text."""
        return (
            f"{self.model}: ${self.fresh:g} fresh, ${self.write:g} written to the cache, ${self.read:g} read from it, "
            f"${self.output:g} output for a million tokens; {self.source}"
        )


SONNET_5 = Price(
    model="claude-sonnet-5",
    fresh=2.0,
    write=2.5,  # 1.25 times fresh input, for five minutes
    read=0.2,  # 0.1 times fresh input
    output=10.0,
    source="platform.claude.com/docs/en/models/sonnet-5/overview, looked up on 2026-11-30",
)
"""Its window of 1,000,000 tokens is billed at one price throughout: there is no premium on a long context."""
