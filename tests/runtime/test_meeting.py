"""Where two parts of a run meet: what one of them leaves behind must not trip the other. Without the CLI."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from flower_mcp import Handoff, HandoffPolicy, Workbench
from flower_mcp.core.books import DocumentState, Generation, LiveStep, State, StepResult, WrittenBy
from flower_mcp.core.decide import Ending, Guard
from flower_mcp.core.errors import FilesError
from flower_mcp.core.failures import Failure, Outcome
from flower_mcp.core.figures import Cost
from flower_mcp.core.handoff import Extra
from flower_mcp.core.policy import WindowSource
from flower_mcp.core.writing import Then, WritingVerdict
from flower_mcp.runtime import freezing, handoff_turn, opening, step, working
from flower_mcp.runtime.freezing import freeze
from flower_mcp.runtime.gate import Mode
from flower_mcp.runtime.handing import Handing
from flower_mcp.runtime.handoff_turn import new_draft, write
from flower_mcp.runtime.hearing import Heard
from flower_mcp.runtime.lost import without_transcript
from flower_mcp.runtime.opening import go_on, launch, resume
from flower_mcp.runtime.options import Opening
from flower_mcp.runtime.overflowing import Rewinding
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.rewind import _draft
from flower_mcp.runtime.signals import Asked, BackgroundTask, Idle, Signal, Stuck, TurnEnded, What
from flower_mcp.runtime.starting import Spare
from flower_mcp.runtime.step import Break, StepRun
from flower_mcp.workbench.learned import LearnedWindows
from flower_mcp.workbench.tasks import By
from flower_mcp.workbench.transcripts import lines_backwards
from tests.e2e.editing import close, idle_run
from tests.runtime.test_reader import STOP, delta, start

pytestmark = pytest.mark.anyio
WHOLE = Handoff(step="work", doing="It.", next="Go on.")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[StepRun]:
    (tmp_path / "workspace").mkdir()
    one = idle_run(tmp_path / "workspace", tmp_path / "runs", HandoffPolicy(edit_window=0))
    yield one
    close(one)


class Process:
    """A session without a process."""

    def __init__(self, session_id: str = "one") -> None:
        self.id, self.alive, self.reader = session_id, True, Reader()
        self.gate = SimpleNamespace(mode=None)
        self.closed, self.ended, self.is_closing = anyio.Event(), (), False
        self.model, self.model_is_unknown = None, False

    def close(self, *, retired: bool = False, over: bool = False) -> None:
        self.is_closing = True

    async def interrupt(self) -> None:
        """It has no turn."""

    async def say(self, text: str) -> str:
        """It hears nothing."""
        return "said"


def living(run: StepRun, *signals: Signal) -> Process:
    """Give the run a living session, and what it tells."""
    process = Process()
    run.session = cast(Any, process)
    for signal in signals:
        run._send.send_nowait((cast(Any, process), signal))
    return process


async def test_a_successor_that_is_started_again_after_a_wait_leaves_no_process_behind(
    run: StepRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Process] = []

    def build(_run: StepRun, given: Opening) -> Process:
        built.append(Process(given.session_id))
        return built[-1]

    monkeypatch.setattr(step, "build", build)
    run._tasks = cast(Any, SimpleNamespace(start_soon=lambda *_given: None))
    opening.start_ahead(run)
    opening.start_ahead(run)
    assert [each.is_closing for each in built] == [True, False]
    assert run.spare is not None
    assert run.spare.session is cast(Any, built[1])


async def test_with_a_budget_a_successor_starts_once_the_document_is_paid_for_and_only_with_what_is_left(
    run: StepRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def opened(_run: StepRun, given: Opening, *_: object, **__: object) -> object:
        return Ending.OPENED, Guard.ANY

    monkeypatch.setattr(step, "build", lambda _run, given: Process(given.session_id))
    monkeypatch.setattr(opening, "_open", opened)
    run._tasks = cast(Any, SimpleNamespace(start_soon=lambda *_given: None))
    run.spec = replace(run.spec, max_budget_usd=1.0)
    opening.start_ahead(run)
    assert cast(Any, run).spare is None
    run.costs.report("one", Cost(0.25))  # the handoff turn
    await freezing.degrade(run)
    spare = cast(Any, run.spare)
    assert spare.opening.budget_usd == 0.75
    await launch(run)
    assert cast(Any, run).spare is spare
    run.costs.report("one", Cost(0.5))
    await launch(run)
    assert cast(Any, run).spare is None
    assert spare.session.is_closing


async def test_a_session_that_owes_its_handoff_still_owes_it_when_it_could_not_be_resumed_at_once(
    run: StepRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[object] = []
    endings = [Ending.RETRY, Ending.OPENED]

    async def opened(_run: StepRun, _opening: Opening, _number: int, prompt: object, **_: object) -> object:
        prompts.append(prompt)
        return endings[len(prompts) - 1], Guard.ANY

    monkeypatch.setattr(opening, "_open", opened)
    run.owes_handoff = True
    assert (await resume(run))[0] is Ending.RETRY
    assert (await resume(run))[0] is Ending.ASKED
    assert prompts == ["", ""]
    assert not run.owes_handoff


@pytest.mark.parametrize("written_by", [WrittenBy.DRAFT, WrittenBy.REWOUND])
async def test_a_draft_that_was_written_since_the_freeze_stays_and_the_frozen_one_goes(
    run: StepRun, written_by: WrittenBy
) -> None:
    lives = run.setting.books.lives
    draft = replace(WHOLE, scene="tests/", extra=(Extra("## Open questions", "which port?", after="next"),))
    lives.write_draft("work", draft.to_markdown())
    run.handing.verdict = WritingVerdict(Ending.WRITTEN, draft, written_by)
    await freeze(run)
    assert lives.read_draft("work") is None

    lives.write_draft("work", draft.to_markdown())
    run.handing.verdict = WritingVerdict(Ending.WRITTEN, draft, written_by)
    later = lives.write_draft("work", replace(draft, decided="Not that way.").to_markdown())
    await freeze(run)
    left = lives.read_draft("work")
    assert left is not None
    assert left.revision == later.revision


@pytest.mark.parametrize("is_spare", [False, True], ids=["in a pause", "before its prompt"])
async def test_a_process_that_died_while_nobody_read_is_let_go_before_the_next_one_starts(
    run: StepRun, monkeypatch: pytest.MonkeyPatch, is_spare: bool
) -> None:
    dead, order = Process("one"), list[str]()
    dead.alive, dead.reader.turns = False, 3

    def build(_run: StepRun, _opening: Opening) -> object:
        order.append("closed" if dead.is_closing else "open")
        raise OSError("enough")

    monkeypatch.setattr(step, "build", build)
    run._sessions.append(cast(Any, dead))
    if is_spare:
        run.spare = Spare(cast(Any, dead), Opening("one"))
        run.spare._known.set()
    else:
        run.session = cast(Any, dead)
        dead.gate.mode = Mode.WORK
    dead.closed.set()
    await run.open(Opening("one", resume=not is_spare))
    assert order == ["closed"]
    assert run.session is None
    assert run.turns_counted == (0 if is_spare else 3)


async def test_what_was_said_of_a_session_and_asked_from_it_holds_in_its_next_process(
    run: StepRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def started(_opening: Opening) -> None:
        """It is there."""

    monkeypatch.setattr(run, "start", started)
    run.near_said = run.handoff_asked = True
    await run.open(Opening("one", resume=True))
    assert (run.near_said, run.handoff_asked) == (True, True)
    await run.open(Opening("two"))
    assert (run.near_said, run.handoff_asked) == (False, False)


def test_a_first_session_of_known_number_that_never_began_begins_with_its_document_again(run: StepRun) -> None:
    """Nothing is known of the step but its document: the session that takes it over is the first."""
    run.failure = Failure.NETWORK
    assert go_on(run) == (Ending.PAUSED, Guard.UNBORN_TASK)
    run.handing.text = WHOLE.to_markdown()
    assert go_on(run) == (Ending.PAUSED, Guard.UNBORN_DOCUMENT)


async def test_a_stop_before_the_launch_launches_nothing_and_retires_nobody(run: StepRun) -> None:
    process = living(run)
    run.handing.text, run.stop_asked = WHOLE.to_markdown(), True
    assert await launch(run) == (Ending.STOP, Guard.ANY)
    assert run.record.row.retired == ()
    assert not process.is_closing


def test_a_draft_or_a_document_that_cannot_be_read_is_said_and_costs_no_handoff(run: StepRun) -> None:
    lives = run.setting.books.lives
    place = lives.write_draft("work", WHOLE.to_markdown()).path
    last = Generation(1, "one", context=9)
    state = DocumentState("x", "y", complete=True)
    live = LiveStep("work", State.DONE, StepResult("r", "work", generations=(last,)), document=state)
    run.setting = replace(run.setting, before=live)
    bench = Workbench(run.setting.workspace)
    bench.documents.path("work").mkdir(parents=True)  # the document
    assert without_transcript(run, last, "gone") is Ending.WRITTEN

    place.unlink()
    place.mkdir()
    assert new_draft(run) is None
    assert _draft(run, "one") is None
    assert without_transcript(run, last, "gone") is Ending.UNWRITTEN
    [said] = [error for error in run.record.row.errors if error.startswith("the draft")]
    assert str(place) in said


def test_a_transcript_that_cannot_be_opened_has_no_lines(tmp_path: Path) -> None:
    assert list(lines_backwards(tmp_path)) == []


async def test_what_a_session_wrote_before_it_was_too_full_is_kept_when_no_fork_can_write(
    run: StepRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["## Doing\n\nHalf of it.\n", "", "## Dead ends\n\nNot that way.\n"]

    async def tried(_run: StepRun, _prompt: str) -> tuple[Outcome, str, Then]:
        full = Outcome(is_error=True, terminal_reason="prompt_too_long", text="Prompt is too long")
        return full, texts.pop(0), Then.JUDGE

    monkeypatch.setattr(handoff_turn, "_tried", tried)
    run.handing.asks = 1
    assert (await write(run, "", Handoff()))[0] is Ending.OVERFLOW
    run.handing.rewinding = Rewinding(None, "one", by=1)
    for _ in range(2):
        assert (await write(run, "", Handoff()))[0] is Ending.OVERFLOW
    assert (run.handing.partial.doing, run.handing.partial.deadends) == ("Half of it.", "Not that way.")


def test_a_task_that_ends_with_the_session_is_named_once_as_it_was_known_last() -> None:
    handing = Handing()
    handing.stop([BackgroundTask("a", "local_bash", "one"), BackgroundTask("b", "local_agent", "two")])
    handing.stop([BackgroundTask("a", "local_bash", "one", output_file="/o")])
    assert [(task.task_id, task.output_file) for task in handing.stopped] == [("b", None), ("a", "/o")]


async def test_words_that_the_disk_refused_are_each_told_once_whatever_was_done_with_before(
    run: StepRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_step: str, _message: object) -> Path:
        raise FilesError("No room.", kept="", next="")

    monkeypatch.setattr(run.setting.books.lives, "put", refuse)
    run.hearing.add("First.", By.SAY)
    run.hearing.add("Second.", By.SAY)
    [first, _] = run.hearing._heard.values()
    run.hearing.answered([first.uuid])
    run.hearing.add("Third.", By.SAY)
    assert [heard.words for heard in run.hearing._heard.values()] == ["Second.", "Third."]


async def test_work_ends_when_an_idle_session_never_takes_in_what_it_was_told(
    run: StepRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "SETTLE", 0.05)
    process = living(run, TurnEnded(Outcome(), messages=1, text="Done."), Idle())
    process.reader.says_idle = True
    run.hearing._heard["x"] = Heard("Words.", By.SAY, "2026-11-30T11:00:00.000000Z", "u", kept=True, told=True)
    with anyio.fail_after(5):
        assert await working.work(run) == (Ending.COMPLETED, Guard.ANY)


async def test_an_answer_that_reached_the_window_teaches_it_although_we_interrupt_the_turn(
    run: StepRun, tmp_path: Path
) -> None:
    run.source, run.is_fresh = WindowSource.GUESSED, False
    run.windows._store = LearnedWindows(tmp_path / "state")
    process = Process()
    messages = [start("m1", read=30_000), delta("tool_use", output=9), STOP, start("m2", read=59_000)]
    messages += [delta("model_context_window_exceeded", output=1_000), STOP]
    stuck = [each for message in messages for each in process.reader.take(message) if isinstance(each, Stuck)]
    assert len(stuck) == 1
    run.session = cast(Any, process)
    aborted = Outcome(is_error=True, terminal_reason="aborted_streaming", text="[ede_diagnostic]")
    signals: list[Signal] = [*stuck, TurnEnded(aborted, messages=2)]
    for signal in signals:
        run._send.send_nowait((cast(Any, process), signal))
    assert (await working.work(run))[0] is Ending.OVERFLOW
    assert (run.policy.window, run.source) == (60_000, WindowSource.LEARNED)


async def test_a_stop_that_was_heard_before_the_break_at_the_line_begins_no_handoff(run: StepRun) -> None:
    living(run, Asked(What.STOP), TurnEnded(Outcome(terminal_reason="hook_stopped"), messages=2))
    run.stop_asked, run.stop_by, run.breaking = True, anyio.current_time() + 60, Break.LINE
    with anyio.fail_after(5):
        assert await working.work(run) == (Ending.STOP, Guard.ANY)
        assert await working.drain(run) == (Ending.STOP, Guard.ANY)
        assert await write(run, "", Handoff()) == (Ending.STOP, Guard.ANY)
    assert run.spare is None
