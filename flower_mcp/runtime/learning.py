"""The window of a run: which source counts at each start, what an overflow teaches, what proves a lesson wrong.

The rules are core/windows.py's and the file is workbench/learned.py's; here they meet a run. The order is set >
learned > reported > guessed (design, section 6). What can hurt: the gate asks about the line before the step has read
the message, so a lesson is held against each context in both places (`heed`); the CLI hides the API's own words and
keeps them in the transcript alone, which lags behind by up to a tenth of a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import anyio

from flower_mcp.core.books import iso
from flower_mcp.core.errors import FlowerError
from flower_mcp.core.events import Kind, Phase
from flower_mcp.core.failures import Outcome, died_without_words
from flower_mcp.core.overflow import stated_limit
from flower_mcp.core.policy import WindowSource
from flower_mcp.core.texts import used_text, window_text
from flower_mcp.core.transcript import context_of, error_details
from flower_mcp.core.windows import (
    Doubt,
    Learned,
    Refusal,
    doubt,
    earlier_line,
    key,
    lesson,
    teaches,
    words_of,
)
from flower_mcp.workbench.learned import LearnedWindows
from flower_mcp.workbench.transcripts import lines_backwards
from flower_mcp.workbench.windows import default_window, endpoint_of, state_folder

if TYPE_CHECKING:
    from flower_mcp.runtime.session import Session
    from flower_mcp.runtime.step import StepRun

UNSAID = "the CLI ended without a word, near its window; this counts for this run alone"
LAG = 0.3  # seconds that the transcript may need for the API's words (seen: 0.07)
LOOK = 0.02  # seconds between two looks at it
IN_A_ROW = 2  # degraded documents, then an earlier line is advised


class Windows:
    """What one run knows about its window. The policy and the source in force are the run's own."""

    def __init__(self, run: StepRun) -> None:
        environ = run.setting.environ
        self._run = run
        self._store = LearnedWindows(state_folder(environ))
        self._endpoint = endpoint_of(environ)
        self._model = run.spec.model or environ.get("ANTHROPIC_MODEL") or ""  # as asked for, until the CLI names it
        self._asked: set[str] = set()
        self._reported: int | None = None
        self._guessed = default_window(environ)
        self._learned: Learned | None = None
        self._undone: Learned | None = None  # proved wrong in this run; the disk may not have let it be removed
        self._floor = 0  # tokens with which the step's last fresh session began
        self._looked = False
        self._assumed = False
        self._degraded: list[int] = []  # contexts of the sessions whose documents were degraded, in a row

    @property
    def learned(self) -> Learned | None:
        """The learned window in force; None when another source is."""
        return self._learned if self._run.source is WindowSource.LEARNED else None

    async def settle(self) -> None:
        """Choose the window for the session that was just connected. The CLI is asked once per model and run."""
        session = self._run.session
        if session is None or self._run.source is WindowSource.SET:
            return
        if self._model not in self._asked:
            self._asked.add(self._model)
            told = await session.reported()
            if told is not None:
                self._model = told.model or self._model
                self._reported = told.window
                self._asked.add(self._model)
        self._look_up()
        self._choose()

    async def learn_from(self, outcome: Outcome) -> None:
        """Learn from a turn that ended in an overflow; the next generation uses it. Anything else teaches nothing.

        An overflow that was only guessed is kept for the run alone: handoffs come before it, so nothing disproves it.
        """
        session = self._run.session
        if session is None or not teaches(outcome):
            return
        is_guess = died_without_words(outcome)
        said = UNSAID if is_guess else await self._said(session, outcome)
        window = lesson(self._refusal(said, session))
        if window is None or (is_guess and self._run.source is WindowSource.SET):
            return
        learned = Learned(window, iso(time.time()), _from(said, window))
        if is_guess:
            self._learned = learned
        else:
            self._keep(learned)
        if self._run.source is WindowSource.SET:
            self._say_set(window)
            return
        self._choose()
        self._event(Phase.LEARNED, f"the window is {window_text(window)}, learned from: {self._from()}")

    def heed(self) -> None:
        """Hold the newest context against the learned window, and say once what is an assumption. Called often."""
        session = self._run.session
        if session is None or not session.reader.meter.messages:
            return
        meter = session.reader.meter
        first = self._run.is_fresh and meter.messages == 1
        if first:
            self._floor = meter.context
        if not self._looked or session.model not in (None, self._model):
            self._served_by(session.model or self._model)
        self._assume(session)
        if self._learned is not None:
            why = doubt(
                self._learned, self._run.policy, context=meter.context, first=first and self.learned is not None
            )
            if why is not None:
                self._unlearn(self._learned, why, meter.context)

    def wrote(self, context: int, *, degraded: bool) -> None:
        """Count the degraded documents in a row; the second prints the advice to hand off earlier."""
        self._degraded = [*self._degraded, context] if degraded else []
        policy = self._run.policy
        if len(self._degraded) != IN_A_ROW or not policy.enabled:
            return
        line = earlier_line(policy.window, policy.at)
        contexts = ", ".join(used_text(each) for each in self._degraded)
        self._event(
            Phase.ADVISED,
            f"{IN_A_ROW} documents in a row could not be written by a session (contexts {contexts} of "
            f"{window_text(policy.window)}); hand off earlier: --at {line}",
            contexts=list(self._degraded),
            line=line,
        )

    def _refusal(self, said: str, session: Session) -> Refusal:
        meter = session.reader.meter
        first = self._run.is_fresh and meter.messages == 0
        carried = meter.next_request if meter.context else 0  # of usage that nobody reports nothing can be said
        if not meter.messages and not first:
            carried = context_of(self._transcript(session)) or 0  # a session that was resumed carries what it had
        return Refusal(said, self._run.policy, accepted=meter.context, carried=carried, floor=self._floor, first=first)

    def _transcript(self, session: Session) -> Iterator[dict[str, Any]]:
        """The session's transcript from its end; nothing when there is none."""
        from flower_mcp.runtime.look import transcript_of

        path = transcript_of(self._run, session.id)
        return iter(()) if path is None else lines_backwards(path)

    async def _said(self, session: Session, outcome: Outcome) -> str:
        """The API's own words, from the transcript if the CLI put others in their place."""
        if outcome.status is None:
            return outcome.words
        with anyio.move_on_after(LAG):
            while True:
                details = error_details(self._transcript(session))
                if details:
                    return words_of(details)
                await anyio.sleep(LOOK)
        return outcome.words

    def _keep(self, learned: Learned) -> None:
        """Keep a lesson on disk, and here in any case."""
        self._learned = learned
        try:
            self._learned, notes = self._store.learn(self._key, learned)
        except FlowerError as error:
            notes = (f"the window that was learned could not be kept: {error}",)
        self._note(notes)

    def _look_up(self) -> None:
        """Read what is known for the model from earlier overflows; one of this run that could not be kept stays."""
        self._looked = True
        try:
            found, notes = self._store.find(self._key)
        except FlowerError as error:
            found, notes = None, (f"what earlier overflows taught could not be read: {error}",)
        if found is not None and found != self._undone:
            self._learned = found
        self._note(notes)

    def _served_by(self, model: str) -> None:
        """Take the name of the model that really serves the session, and what is known about it."""
        if model != self._model:
            self._model, self._learned = model, None
        self._look_up()
        self._choose()
        learned = self._learned
        if self._run.source is WindowSource.SET and learned is not None and learned.window < self._run.policy.window:
            self._say_set(learned.window)

    def _unlearn(self, learned: Learned, why: Doubt, context: int) -> None:
        """Remove a window that was proved wrong, or that cannot be worked in, and go on with the next source."""
        self._learned, self._undone = None, learned
        try:
            self._note(self._store.forget(self._key, below=context if why is Doubt.EXCEEDED else None))
        except FlowerError as error:
            self._note((f"the learned window could not be removed: {error}",))
        before = self._run.policy
        self._choose()
        if self._run.policy != before:  # other lines count now
            self._run.near_said, self._run.due_since = False, 0
        policy, source = self._run.policy, self._run.source
        self._event(
            Phase.FORGOTTEN,
            f"the learned window of {window_text(learned.window)} does not count any more: {why} "
            f"({used_text(context)}); the window is {window_text(policy.window)} ({source})",
            forgotten=learned.window,
            context=context,
            why=why.name.lower(),
        )

    def _choose(self) -> None:
        """Put the best source into force, and into the books."""
        run = self._run
        if run.source is WindowSource.SET:
            return
        window, source = self._guessed, WindowSource.GUESSED
        if self._reported is not None:
            window, source = self._reported, WindowSource.REPORTED
        if self._learned is not None:
            window, source = self._learned.window, WindowSource.LEARNED
        if (window, source) != (run.policy.window, run.source):
            run.policy, run.source = run.policy.with_window(window), source
            run.record.policy(run.policy, source)

    def _assume(self, session: Session) -> None:
        """Say once that the CLI does not know the model, so that its window is an assumption."""
        if (
            self._assumed
            or not session.model_is_unknown
            or self._run.source in (WindowSource.SET, WindowSource.LEARNED)
        ):
            return
        self._assumed = True
        window = window_text(self._run.policy.window)
        told = f"Claude Code does not know the model {self._model}: the window of {window} is an assumption"
        self._event(Phase.ASSUMED, f"{told}; --window TOKENS sets the right one", model=self._model)

    def _say_set(self, window: int) -> None:
        """An overflow below the window that the user set: theirs counts, so the sentence says what to type."""
        given = window_text(self._run.policy.window)
        self._event(
            Phase.LEARNED,
            f"the API refused below the window of {given} that was set ({self._from()}); use --window {window}",
            refused=window,
        )

    def _event(self, phase: Phase, text: str, **payload: Any) -> None:
        policy, source = self._run.policy, str(self._run.source)
        shown = {"phase": str(phase), "window": policy.window, "window_source": source, "handoff_at": policy.at}
        self._run.record.event(Kind.CONTEXT, text, **shown, **self.origin(), **payload)

    def origin(self) -> dict[str, Any]:
        """For a line about the window: when and from which text it was learned, if it was."""
        if self._learned is None:
            return {}
        return {"learned": {"window": self._learned.window, "at": self._learned.at, "from": self._learned.said}}

    @property
    def _key(self) -> str:
        return key(self._endpoint, self._model or "default")

    def _from(self) -> str:
        return self._learned.said if self._learned else ""

    def _note(self, notes: tuple[str, ...]) -> None:
        for note in notes:
            self._run.record.say(note)


def _from(said: str, window: int) -> str:
    """The text that a window came from; where another number was learned than it states, that belongs to it."""
    return said if stated_limit(said) == window else f"{said} (at about {window:,} tokens)"
