"""What sessions cost, from totals that can start again.

The CLI reports a session's total so far, over resumes too; but a session whose process was killed begins again at
what was saved, or at nothing. So a total that falls is added to what was known. USD; None means unknown, not 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Costs:
    """The cost of one run, by session. `before` is what a resumed session had cost in earlier runs."""

    _known: dict[str, float] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)
    _origin: dict[str, str] = field(default_factory=dict)

    def resume(self, session_id: str, before: float) -> None:
        """A session that earlier runs have paid for in part."""
        self._last.setdefault(session_id, before)

    def fork(self, session_id: str, origin: str) -> None:
        """A fork of a session: its totals go on from that one's, and what it costs is that one's cost."""
        self._last[session_id] = self._last.get(origin, 0.0)
        self._origin[session_id] = origin

    def report(self, session_id: str, total: float | None) -> None:
        """A result's total for a session."""
        if total is None:
            return
        last = self._last.get(session_id, 0.0)
        grown = total - last if total >= last else total
        payer = self._origin.get(session_id, session_id)
        self._known[payer] = self._known.get(payer, 0.0) + grown
        self._last[session_id] = total

    def of(self, session_id: str) -> float | None:
        """This run's cost of one session, its forks included; None when unknown."""
        known = self._known.get(self._origin.get(session_id, session_id))
        return None if known is None else round(known, 6)

    @property
    def total(self) -> float | None:
        """This run's cost so far, None when no session reported any."""
        return round(sum(self._known.values()), 6) if self._known else None
