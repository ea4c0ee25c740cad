"""The edit window: from the freeze until the successor may be launched, the person may change the document.

The guarantee does not rest on the watcher: the last thing before the launch is to read the file and hash it, and that
text is the prompt. So an edit counts whenever it was made, and whether or not anybody saw it being made.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from flower_mcp.core.books import iso
from flower_mcp.core.changes import sections_changed
from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.events import Kind
from flower_mcp.core.failures import LATER
from flower_mcp.core.review import Choice
from flower_mcp.runtime.step import MoveEnd, StepRun
from flower_mcp.runtime.window import EditWindow
from flower_mcp.workbench.following import Seen
from flower_mcp.workbench.watch import watch

TICK = 0.25  # seconds between two looks that nothing has called for: the whole of the watching where nothing reports
STILL = 0.1  # seconds that a file changed in the last instant must stand still
STILL_LIMIT = 1.0  # seconds to wait for that; what is not taken in then is told as a late edit
REVIEW = "--review"

log = logging.getLogger(__name__)


async def open_window(run: StepRun) -> MoveEnd:
    """Keep the window open as long as review.py says, then take the text that will be launched."""
    frozen = run.handing.document
    if frozen is None:
        return Ending.CLOSED, Guard.ANY
    seen = Seen.of(frozen.data, run.step, run.handing.frozen_at)
    on_disk = frozen.path is not None and run.late.follower is not None
    seconds = run.policy.edit_window if on_disk else 0.0
    window = EditWindow(run, seen, frozen_at=run.handing.frozen_at, edit_window=seconds, on_disk=on_disk)
    if not await _until_closed(run, window, seconds):
        return Ending.STOP, Guard.ANY
    run.record.generation(launched=run.handing.revision)
    return Ending.CLOSED, Guard.ANY


async def wait_while_held(run: StepRun) -> bool:
    """Hold back a document that waited for this run, as long as a person says so; False when a stop was asked for."""
    seen = None if run.late.follower is None else run.late.follower.look(sure=True)
    if run.held_back or seen is None or not seen.has_text:
        return True
    run.held_back = True
    window = EditWindow(run, seen, frozen_at=time.time(), edit_window=0.0)
    return await _until_closed(run, window, 0.0)


async def newest(run: StepRun) -> Seen:
    """The last look before the prompt is sent: stat, read, hash. The text to launch, which the books then name.

    A file that changes in this very instant is given a moment to stand still. One that is broken now is not taken; what
    was chosen when the window closed is, and the rest is told as a late edit.
    """
    chosen, follower = run.handing, run.late.follower
    fallback = chosen.chosen or Seen.of(chosen.text.encode("utf-8", "replace"), run.step)
    if follower is None or chosen.path is None:
        return fallback
    before = chosen.document
    seen = follower.look(sure=True)
    if chosen.text and seen.revision == chosen.revision:
        return seen
    if chosen.text:
        seen = await _standing_still(run, seen)
    frozen = seen if before is None else Seen.of(before.data, run.step)
    faults = seen.faults_since(frozen)
    if not seen.has_text or (faults and chosen.text and not chosen.as_is):
        return fallback
    chosen.text, chosen.revision, chosen.path = seen.text, seen.revision, follower.path
    if before is not None:
        sections = sections_changed(frozen.text, seen.text)
        run.record.predecessor(
            launched=seen.revision, edited=seen.revision != frozen.revision, sections_edited=sections
        )
    return seen


async def _until_closed(run: StepRun, window: EditWindow, seconds: float) -> bool:
    """Ask until the window is closed, and take what is to be launched. False when a stop was asked for."""
    if run.setting.review and not _hold(run):
        return False
    run.launch_asked = False
    was_open = seconds > 0 or run.holds.state(run.step) is not None
    if was_open:
        _say_open(run, window, seconds)
    answer = window.ask()
    with _watching(run, window) if was_open else _nothing():
        try:
            while answer.choice is Choice.KEEP_OPEN or not window.take(answer):
                window.tell()
                await run.receive(window.patience(answer, TICK))
                if run.stop_asked:
                    return False
                answer = window.ask()
        finally:
            window.leave()
    if was_open:
        run.record.event(
            Kind.EDIT,
            "",
            phase="closed",
            revision=run.handing.revision,
            edited=window.edited,
            sections=list(sections_changed(window.frozen.text, window.seen.text)),
        )
    return True


def _hold(run: StepRun) -> bool:
    """Hold for the person who asked to see each document; where that cannot be written down, the run stops for them."""
    try:
        run.holds.hold(run.step, REVIEW)
    except (OSError, FlowerError) as error:
        run.record.change(
            error=f"Stopped before the launch, since it could not be held for your review: {error} {LATER}"
        )
        return False
    return True


def _say_open(run: StepRun, window: EditWindow, seconds: float) -> None:
    run.record.event(
        Kind.EDIT,
        f"edit it now if you like: {window.path}" + (f" ({seconds:g} s)" if seconds else ""),
        phase="open",
        path=None if window.path is None else str(window.path),
        seconds=seconds,
        closes_at=iso(run.handing.frozen_at + seconds if run.handing.frozen_at else time.time()),
    )


@contextmanager
def _watching(run: StepRun, window: EditWindow) -> Iterator[None]:
    """Have the step woken when the document, or what an editor or a person leaves beside it, changes."""
    if window.path is None:
        yield
        return
    stop, document = anyio.Event(), window.path
    lives = run.setting.books.lives.folder

    def matters(name: str) -> bool:
        return name == document.name or name.endswith(".hold")

    async def watch_and_say() -> None:
        reason = await watch((document.parent, lives), matters, run.wake, stop)
        if reason is not None:
            log.info("no changes are reported (%s): the document is looked at every %s s instead", reason, TICK)

    run.start_soon(watch_and_say)
    try:
        yield
    finally:
        stop.set()


@contextmanager
def _nothing() -> Iterator[None]:
    yield


async def _standing_still(run: StepRun, seen: Seen) -> Seen:
    """The document once it has not changed for a moment."""
    follower = run.late.follower
    end = time.monotonic() + STILL_LIMIT
    while follower is not None and time.monotonic() < end:
        await anyio.sleep(STILL)
        again = follower.look(sure=True)
        if again.revision == seen.revision and again.absent == seen.absent:
            break
        seen = again
    return seen
