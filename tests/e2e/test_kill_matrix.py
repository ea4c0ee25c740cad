"""The kill matrix: a step of three generations is killed again and again, goes on each time, and nothing is lost.

Each story runs the real `flower run`, the real CLI and the scripted model, which lives on in the test's process. Five
kills of one story follow the step from its start to its end; the three in the middle fall between two writes of a
freeze or just behind it. Which ones, and who is killed, is drawn from a seed that stands in the failure's message.
FLOWER_KILLS says how many there are in all (20; 200 with FLOWER_SOAK=1).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.core.books import iso
from flower_mcp.core.decide import Move
from flower_mcp.demo.model import Reply, Request, ScriptedModel, Sender, text
from flower_mcp.demo.request import texts
from flower_mcp.demo.script import TITLE
from flower_mcp.workbench.inbox import Asks, Message
from tests.e2e.chronicle import Chronicle, numbered
from tests.e2e.harness import MODEL, wait_until
from tests.e2e.killing import NOW, Moment, Victims, as_json, kill
from tests.e2e.steps import ASKED, CUT_OFF, TAKING_OVER, TASK, bash

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("FLOWER_KILLS") or (200 if os.environ.get("FLOWER_SOAK") else 20))
EACH = 5  # kills of a story
STORIES = -(-KILLS // EACH)
SEED = 20_261_130
LIMIT = 180.0  # seconds from a start to the kill or the end, on a machine that is busy with other things
ORPHANS = 5.0  # seconds that what was killed has to be gone
SAID = "Use tabs, please."


@dataclass(frozen=True, slots=True)
class AtRequest:
    """Kill when the n-th request of the main thread in this process of the supervisor has come."""

    number: int
    victims: Victims

    def __str__(self) -> str:
        return f"{self.victims} at request {self.number}"


Kill = Moment | AtRequest


def kills(story: int) -> list[Kill]:
    """The kills of one story, in the order of the step's life."""
    chance = random.Random(SEED + story)
    victims = [*Victims]
    ending = [one for one in Victims if one.ends_the_run]
    firsts: list[Kill] = [
        Moment(NOW, chance.randrange(1, 25), chance.choice(ending)),
        Moment(str(Move.BEGIN), chance.randrange(1, 15), chance.choice(ending)),
        AtRequest(chance.randrange(1, 4), chance.choice(victims)),
        Moment(str(Move.WORK), chance.randrange(1, 6), chance.choice(victims)),
        Moment(str(Move.DRAIN), chance.randrange(1, 4), chance.choice(victims)),
    ]
    # A freeze makes ten changes, the window and the launch behind it as many: each has its turn, over the stories.
    places = (1 + story % 4, 5 + story % 4, 9 + story % 8)
    freezes = [Moment(str(Move.FREEZE), place, chance.choice(ending)) for place in places]
    lasts: list[Kill] = [
        AtRequest(1, chance.choice(victims)),
        Moment(NOW, chance.randrange(3, 15), chance.choice(ending)),
    ]
    return [chance.choice(firsts), *freezes, chance.choice(lasts)]


@dataclass
class Told:
    """The three sessions, whoever asks and however often: answers are made from the request alone."""

    workspace: Path
    sessions: list[str] = field(default_factory=list)
    documents: int = 0
    in_this_process: int = 0
    due: list[AtRequest] = field(default_factory=list)
    supervisor: int = 0
    said: bool = False

    def __call__(self, request: Request) -> Reply:
        if request.sender is not Sender.MAIN:
            return TITLE
        if request.session not in self.sessions:
            self.sessions.append(request.session)
        if not self.said and worked(request) == 1 and self.sessions.index(request.session) == 1:
            self.said = True
            Workbench(self.workspace).lives.put("work", Message(iso(0), "me@here", Asks.SAY, SAID))
        self.in_this_process += 1
        for one in [one for one in self.due if one.number == self.in_this_process]:
            self.due.remove(one)
            kill(one.victims, self.supervisor)
        return self._answer(request)

    def _answer(self, request: Request) -> Reply:
        done = worked(request)
        if self.sessions.index(request.session) > 1:
            return text("All done.").at(31_000) if done else bash("echo last").at(30_000)
        if request.asks(ASKED):
            self.documents += 1
            return text(numbered(self.documents)).at(156_000)
        return bash(f"echo {done}").at(155_000 if done else 40_000)


def worked(request: Request) -> int:
    """How many answers the session has had."""
    return sum(message.get("role") == "assistant" for message in request.messages)


@dataclass
class Matrix:
    """One story: its workspace, its scripted sessions, and what has happened."""

    workspace: Path
    environment: dict[str, str]
    told: Told
    chronicle: Chronicle
    history: list[str] = field(default_factory=list)
    struck: int = 0
    unwatched: bool = False  # the keeper was killed too: the next start clears what is left

    def live_through(self, pending: list[Kill], words: str) -> int:
        """Start `flower` and wait for its end; its exit code. What has struck is taken from `pending`."""
        number = len(self.history)
        due = self._due(pending)
        noted = {one: self.workspace.parent / f"note-{number}-{place}" for place, one in enumerate(due)}
        moments = [replace(one, note=str(noted[one])) for one in due if isinstance(one, Moment)]
        self.told.due = [one for one in due if isinstance(one, AtRequest)]
        self.told.in_this_process = 0
        arguments = ["-w", str(self.workspace), "-r", str(self.chronicle.run_dir), "--window", "200000"]
        arguments += ["--edit-window", "0", "--model", MODEL, "--permission-mode", "bypassPermissions"]
        code = self._run(as_json(moments), [*arguments, *filter(None, [words])], f"out-{number}")
        at_request = [one for one in due if isinstance(one, AtRequest) and one not in self.told.due]
        struck = [one for one in due if one in at_request or noted[one].exists()]
        for one in struck:
            pending.remove(one)
            self.struck += 1
        told = [f"{one}: {noted[one].read_text() if noted[one].exists() else ''}" for one in struck]
        self.history.append(f"{'; '.join(told) or 'no kill'}, exit {code}")
        self.unwatched = any(one.victims is Victims.ALL for one in struck)
        return code

    @staticmethod
    def _due(pending: list[Kill]) -> list[Kill]:
        """The next kills, up to the one that ends the supervisor."""
        end = next((place for place, one in enumerate(pending) if one.victims.ends_the_run), len(pending))
        return pending[: end + 1]

    def _run(self, moments: str, arguments: list[str], name: str) -> int:
        with (self.workspace.parent / name).open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.e2e.killing", moments, "--", "run", *arguments],
                cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
            self.told.supervisor = process.pid
            try:
                return process.wait(LIMIT)
            finally:
                process.kill()
                process.wait()

    def check(self) -> None:
        """What holds after each end, and after each kill."""
        if not self.unwatched:
            wait_until(lambda: not self.chronicle.left_running(), ORPHANS, "something is left running")
        self.chronicle.look()
        assert self.chronicle.wrong == []

    def has_words(self) -> bool:
        return self._words().exists()

    def words(self) -> str:
        return self._words().read_text()

    def _words(self) -> Path:
        return self.chronicle.notes / "任务-work.md"


@pytest.fixture
def matrix(model: ScriptedModel, workspace: Path, environment: dict[str, str]) -> Matrix:
    told = Told(workspace)
    model.script = told
    return Matrix(workspace, environment, told, Chronicle(workspace))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("story", range(STORIES))
def test_a_step_that_is_killed_again_and_again_ends_well_and_loses_nothing(
    story: int, matrix: Matrix, model: ScriptedModel
) -> None:
    try:
        with matrix.chronicle.watching():
            _live(matrix, story)
        _check_end(matrix, model)
    except BaseException as error:
        error.add_note(f"story {story}, seed {SEED}:\n" + "\n".join(matrix.history))
        for path in sorted(matrix.workspace.parent.glob("out-*")):
            error.add_note(f"{path.name}: {path.read_text()[-1500:]}")
        raise


def _live(matrix: Matrix, story: int) -> None:
    """Kill and start again until the step is done, then see that all kills have struck."""
    chance = random.Random(SEED - story)
    pending, code = kills(story), -1
    for _ in range(EACH + 1):
        again = chance.random() < 0.5 or not matrix.has_words()
        code = matrix.live_through(pending, TASK if again else "")
        matrix.check()
        if code == 0:
            break
    assert code == 0, "it does not end"
    assert matrix.struck == EACH, f"these have not struck: {[str(one) for one in pending]}"


def _check_end(matrix: Matrix, model: ScriptedModel) -> None:
    """What holds once the step is done."""
    chronicle, sessions = matrix.chronicle, matrix.told.sessions
    wait_until(lambda: not chronicle.left_running(), ORPHANS, "something is left running")
    row = chronicle.row()
    assert (row["ok"], row["state"], row["text"]) == (True, "done", "All done.")
    assert row["session_id"] == sessions[-1]
    assert chronicle.generations() == {number: {session} for number, session in enumerate(sessions, 1)}
    assert len(sessions) == 3

    mine = [request for request in model.requests if request.sender is Sender.MAIN]
    for number, session in enumerate(sessions):
        asked = [request for request in mine if request.session == session]
        openings = {_opening(request) for request in asked}
        assert len(openings) == 1, f"session {number + 1} had more than one beginning"
        assert openings.pop().startswith(TAKING_OVER) == (number > 0)
        begun = next(place for place, request in enumerate(asked) if worked(request))
        again = [request for request in asked[begun:] if not worked(request) and not request.asks(CUT_OFF)]
        assert again == [], f"session {number + 1} began anew after it had worked"
    words = matrix.words()
    assert (words.count(TASK), words.count(SAID)) == (1, 1)
    heard = [request for request in mine if request.session == sessions[-1]][-1].all_text()
    assert heard.count(SAID) == 1
    assert Workbench(matrix.workspace).lives.waiting("work") == ()


def _opening(request: Request) -> str:
    """The first prompt of a session, without what the CLI puts around it."""
    given = texts(request.messages[0].get("content"))
    return "\n".join(each for each in given if not each.startswith("<system-reminder>"))
