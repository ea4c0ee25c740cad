"""What sessions cost, from totals that can start again.

The CLI reports a session's total so far, over resumes too; but a session whose process was killed begins again at
what was saved, or at nothing. So the growth is measured from what the CLI has saved, and a total that falls all the
same is added to what was known. USD; None means unknown, not 0.
What can hurt: an endpoint whose prices nobody knows costs 0 by every report, so that a budget never ends anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flower_mcp.core.figures import Cost


@dataclass(slots=True)
class Costs:
    """The cost of one run, by session. `before` is what a resumed session had cost in earlier runs."""

    _known: dict[str, float] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)
    _origin: dict[str, str] = field(default_factory=dict)

    def resume(self, session_id: str, before: Cost) -> None:
        """A session that an earlier run has paid for in part: once for each such run, before anything is reported."""
        if session_id not in self._known:
            self._last[session_id] = self._last.get(session_id, 0.0) + before

    def saved(self, session_id: str, total: Cost) -> None:
        """The total at which the CLI reopens a session. The books may have more: a fork's cost, a lost total."""
        self._last[session_id] = min(self._last.get(session_id, 0.0), total)

    def fork(self, session_id: str, origin: str) -> None:
        """A fork of a session: its totals go on from that one's, and what it costs is that one's cost."""
        self._last[session_id] = self._last.get(origin, 0.0)
        self._origin[session_id] = origin

    def report(self, session_id: str, total: Cost | None) -> None:
        """A result's total for a session."""
        if total is None:
            return
        last = self._last.get(session_id, 0.0)
        grown = total - last if total >= last else total
        payer = self._origin.get(session_id, session_id)
        self._known[payer] = self._known.get(payer, 0.0) + grown
        self._last[session_id] = total

    def of(self, session_id: str) -> Cost | None:
        """This run's cost of one session, its forks included; None when unknown."""
        known = self._known.get(self._origin.get(session_id, session_id))
        return None if known is None else Cost(round(known, 6))

    @property
    def total(self) -> Cost | None:
        """This run's cost so far, None when no session reported any."""
        return Cost(round(sum(self._known.values()), 6)) if self._known else None


def not_reported(budget: float) -> str:
    """What to say when there is a budget and a session that worked reports no cost, or a cost of 0."""
    return (
        f"cost not reported: the budget of {budget:.2f} USD cannot end this step; --max-turns and --max-generations can"
    )


def unknown_before(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any of these rows of the manifest, or a session in one, worked and does not know what it cost."""
    return any(
        row.get("cost_usd") is None
        and any(isinstance(each, Mapping) and each.get("context") for each in row.get("generations") or ())
        for row in rows
    )
