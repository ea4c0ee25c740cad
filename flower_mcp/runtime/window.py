"""One edit window: what a person does to the document and says about it, from the freeze to the launch.

It looks, asks core/review.py, and tells what it saw; it decides nothing and waits for nothing. What can hurt: a save in
two steps must be one edit, so a change is told once it stands still for a moment, a broken one later than a good one;
and the wall clock may be set, so times are taken from a clock that only goes forward.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from flower_mcp.core.books import State, seconds
from flower_mcp.core.changes import changes, names_of, sections_changed
from flower_mcp.core.errors import Conflict, FlowerError
from flower_mcp.core.events import Kind
from flower_mcp.core.faults import Fault, FaultKind, worst
from flower_mcp.core.review import Choice, Review, Why, Window, review
from flower_mcp.runtime.step import StepRun
from flower_mcp.workbench.editors import unsaved
from flower_mcp.workbench.following import Follower, Seen
from flower_mcp.workbench.holds import Said

SETTLE = 0.1  # seconds that a change must stand still before it is told
BROKEN_SETTLE = 0.6  # seconds for one that is broken: editors empty or rename the file first


class EditWindow:
    """An edit window of a run. `frozen` is the version that was frozen; without a follower there is no file."""

    def __init__(
        self,
        run: StepRun,
        frozen: Seen,
        *,
        frozen_at: float,
        edit_window: float,
        on_disk: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._clock = clock
        self.follower: Follower | None = run.late.follower if on_disk else None
        self.path = None if self.follower is None else self.follower.path
        self.frozen = self.good = self.seen = self._told = frozen
        self.window = Window(
            clock() - max(0.0, time.time() - frozen_at), edit_window if on_disk else 0.0, run.policy.edit_limit
        )
        self.faults: tuple[Fault, ...] = ()  # what is wrong with the document as it is now
        self._frozen_at = frozen_at
        self.lengthened = False
        self.was_held = False
        self._held_in: State | None = None  # the state to go back to when the hold ends

    @property
    def edited(self) -> bool:
        """Whether what was taken is not what was frozen."""
        return self.seen.revision != self.frozen.revision

    def ask(self) -> Review:
        """Look at everything, and ask the table."""
        now = self._clock()
        self._listen(now)
        self._look(now)
        is_open = not self.window.is_off or self.window.held
        self.window = replace(
            self.window,
            unsaved=is_open
            and self.path is not None
            and (unsaved(self.path) or self._run.holds.is_leased(self._run.step)),
            fault=worst(self.faults),
        )
        answer = review(now, self.window)
        self.lengthened = self.lengthened or answer.why in (Why.SAVED, Why.UNSAVED, Why.BROKEN, Why.AWAY)
        return answer

    def patience(self, answer: Review, tick: float) -> float:
        """Seconds until it is to be asked again."""
        left = (answer.until or 0.0) - self._clock()
        if self.seen is not self._told:
            left = min(left, SETTLE)
        return max(0.0, min(left, tick))

    def tell(self, *, at_once: bool = False) -> None:
        """Tell about a change that stands still; `at_once`: the window closes, and it is told as it is."""
        if self.seen.revision == self._told.revision and self.seen.absent == self._told.absent:
            return
        standing = self._clock() - (self.window.saved_at or 0.0)
        if standing < (BROKEN_SETTLE if self.faults else SETTLE) and not at_once:
            return
        self._told = self.seen
        self._book(self.seen)
        if self.faults:
            self._run.record.event(
                Kind.EDIT,
                f"the document is broken, mend it: {words_of(self.faults)}",
                phase="broken",
                path=str(self.path),
                faults=[{"what": fault.what, "line": fault.line} for fault in self.faults],
            )
            return
        self.good = self.seen
        sections = names_of(changes(self.frozen.text, self.seen.text)) if self.edited else "as it was frozen again"
        self._run.record.event(
            Kind.EDIT,
            f"edited by a person: {sections}",
            phase="seen",
            sections=list(sections_changed(self.frozen.text, self.seen.text)),
            revision=self.seen.revision,
        )

    def take(self, answer: Review) -> bool:
        """Take the text to launch, as answered; False when the file changed meanwhile and all is to be asked again."""
        faults = self.faults
        if answer.choice is Choice.LAUNCH_LAST_GOOD:
            kept = self._restore()
            if kept is None:
                return False
            self._run.record.error(
                f"the document was broken ({words_of(faults)}): the successor gets the last good one{kept}"
            )
        self.tell(at_once=True)
        run = self._run
        run.handing.text, run.handing.revision = self.seen.text, self.seen.revision
        run.handing.chosen = self.seen
        run.handing.as_is = answer.why is Why.AS_IS
        self._book(self.seen)
        if self.lengthened or self.was_held or self.edited:
            run.drop_spare()
        return True

    def leave(self) -> None:
        """The window is over, however it ended."""
        if self._held_in is not None:
            self._run.record.change(live={"state": self._held_in, "held_since": None}, state=self._held_in)
            self._held_in = None

    def _look(self, now: float) -> None:
        """Take in what the file says now."""
        if self.follower is None:
            return
        seen = self.follower.look(sure=True)
        if seen.revision != self.seen.revision or seen.absent != self.seen.absent:
            self.seen = seen
            self.faults = seen.faults_since(self.frozen)
            self.window = replace(self.window, saved_at=now)

    def _listen(self, now: float) -> None:
        """Take in what was said: held, released, as it stands."""
        run = self._run
        said = run.holds.read(run.step)
        held = said is not None and said.held and not run.launch_asked
        as_is = run.launch_asked or self._is_for_us(said)
        if held and said is not None and not self.window.held:
            self._enter_hold(said)
        elif self.window.held and not held:
            self._run.record.event(Kind.EDIT, "released", phase="released", as_is=as_is)
            self.leave()
            self.window = replace(self.window, released_at=now)
        elif as_is and not self.window.as_is:
            self._run.record.event(Kind.EDIT, "launched as it stands", phase="released", as_is=True)
        if as_is and not self.window.as_is:
            with suppress(FlowerError):  # it counts for this document alone, whether or not it lies on
                run.holds.clear(run.step)
        self.window = replace(self.window, held=held, as_is=self.window.as_is or as_is)

    def _enter_hold(self, said: Said) -> None:
        record = self._run.record
        self.was_held = True
        self._held_in = record.live.state
        record.change(live={"state": State.HELD, "held_since": said.since}, state=State.HELD)
        record.event(
            Kind.EDIT, f"held by {said.by}; flower release lets it go on", phase="held", since=said.since, by=said.by
        )

    def _is_for_us(self, said: Said | None) -> bool:
        """Whether somebody said "as it stands" of this very document, and not of one before it."""
        if said is None or not said.as_is:
            return False
        try:
            return seconds(said.since) >= self._frozen_at
        except ValueError:
            return True

    def _restore(self) -> str | None:
        """Put the last good version back; where the broken one is kept, in words. None: the file changed again."""
        broken, kept = self.seen, ""
        if self.follower is not None and (broken.absent is None or broken.absent.kind is FaultKind.DELETED):
            try:
                where = self.follower.put_back(self.good, broken.revision)
                kept = f"; the broken one is kept as {where}" if where else ""
            except Conflict:
                return None
            except FlowerError as error:
                self._run.record.error(f"the last good version could not be put back: {error}")
        self.seen = self._told = self.good
        self.faults = ()
        return kept

    def _book(self, seen: Seen) -> None:
        """What the books keep: which version, whether a person changed it, and where."""
        run, edited = self._run, seen.revision != self.frozen.revision
        with run.record.together():
            if run.handing.document is not None:
                run.record.generation(edited=edited, sections_edited=sections_changed(self.frozen.text, seen.text))
            if self.path is not None and seen.data is not None:
                run.record.document(seen.state(str(self.path), edited=edited))


def words_of(faults: tuple[Fault, ...]) -> str:
    """The faults in words, the first three."""
    told = [fault.what if fault.line is None else f"line {fault.line}: {fault.what}" for fault in faults[:3]]
    more = len(faults) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")
