"""Saves, edited sections, freezes and launches in any order, on a real disk: nobody's text is lost.

No session runs here. The supervisor's own window, follower and books are driven by hand, with a clock that the machine
turns, and a person writes as editors do.

What is asked: every text that was ever written is in the current file or in the archive, but for one that an editor
wrote over before anybody had looked; and each launch got the newest good version.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from flower_mcp import Handoff, HandoffPolicy, Workbench
from flower_mcp.core.faults import faults_of
from flower_mcp.core.review import Choice
from flower_mcp.runtime.edits import newest
from flower_mcp.runtime.window import EditWindow
from tests.e2e.editing import close, freeze, idle_run
from tests.e2e.steps import archived, document_path
from tests.examples import examples

WORDS = st.text(alphabet="abcé交\n#-`", min_size=1, max_size=12).filter(str.strip)
FIELD = st.sampled_from(["doing", "decided", "next", "scene"])
FREEZE_WINDOW, LIMIT = 5.0, 60.0


def document(words: str) -> str:
    """A whole document of these words."""
    return Handoff(step="work", doing=f"a {words}", decided=words, next=f"b {words}").to_markdown()


def without_next(words: str) -> str:
    """A document of these words that lacks what a successor needs."""
    return Handoff(step="work", doing=f"a {words}").to_markdown()


class Editing(RuleBasedStateMachine):
    """The machine."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="flower-machine-")
        self.workspace = Path(self.folder.name) / "workspace"
        self.workspace.mkdir()
        self.path = document_path(self.workspace)
        self.now = 1_000.0
        self.window: EditWindow | None = None
        self.required: set[bytes] = set()
        self.unseen: bytes | None = None  # what lies there and nobody has looked at
        self.good: str = ""

    @initialize()
    def begin(self) -> None:
        """A run whose first session works."""
        policy = HandoffPolicy(edit_window=FREEZE_WINDOW, edit_limit=LIMIT, max_generations=10_000)
        self.run = idle_run(self.workspace, Path(self.folder.name) / "runs", policy)

    # A person with an editor

    @rule(words=WORDS, broken=st.booleans(), how=st.sampled_from(["in place", "rename", "truncate"]), bom=st.booleans())
    def save(self, words: str, broken: bool, how: str, bom: bool) -> None:
        """Save another text."""
        text = without_next(words) if broken else document(words)
        self._write(text.encode("utf-8-sig" if bom else "utf-8"), how)

    @rule(words=WORDS)
    def save_with_a_conflict(self, words: str) -> None:
        """Save what a merge left."""
        self._write((document(words) + "\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> z\n").encode(), "in place")

    @precondition(lambda self: self.window is not None)
    @rule(words=WORDS)
    def save_well_and_then_badly(self, words: str) -> None:
        """Save a good text, which somebody sees, and then a broken one."""
        self._write(document(words).encode(), "rename")
        self.look()
        self._write(without_next(words).encode(), "in place")

    @precondition(lambda self: self.path.exists())
    @rule()
    def delete(self) -> None:
        """Delete the document."""
        self._overwritten()
        self.path.unlink()

    def _write(self, data: bytes, how: str) -> None:
        self._overwritten()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if how == "rename":
            temporary = self.path.with_name("4913")
            temporary.write_bytes(data)
            temporary.replace(self.path)
        elif how == "truncate" and self.path.exists():
            with self.path.open("r+b") as file:
                file.truncate(0)
                file.write(data)
        else:
            self.path.write_bytes(data)
        self.required.add(data)
        self.unseen = data

    def _overwritten(self) -> None:
        """An editor is about to write over what lies there; if nobody has looked at it, only the editor knew it."""
        if self.unseen is not None and self.path.exists() and self.path.read_bytes() == self.unseen:
            elsewhere = [each.read_bytes() for each in archived(self.workspace)]
            if self.unseen not in elsewhere:
                self.required.discard(self.unseen)

    # Another program

    @precondition(lambda self: self.path.exists())
    @rule(field=FIELD, words=WORDS, mode=st.sampled_from(["replace", "append"]))
    def edit_section(self, field: str, words: str, mode: str) -> None:
        """Change a section as the tool does."""
        self.required.add(self.path.read_bytes())
        Workbench(self.workspace).edit("work", field, words, mode)
        self.required.add(self.path.read_bytes())
        self.unseen = self.path.read_bytes()

    # The supervisor

    @precondition(lambda self: self.window is None)
    @rule(words=WORDS)
    def freeze_document(self, words: str) -> None:
        """The session has written its document."""
        if self.path.exists():
            self.required.add(self.path.read_bytes())
        run = self.run
        frozen = freeze(run, Handoff.from_markdown(document(words), "work"))
        assert self.path.read_bytes() == frozen.data
        self.required.add(frozen.data)
        self.unseen = None
        self.good = frozen.text
        self.frozen = run.late.known
        assert self.frozen is not None
        self.window = EditWindow(
            run, self.frozen, frozen_at=run.handing.frozen_at, edit_window=FREEZE_WINDOW, clock=lambda: self.now
        )

    @rule()
    def look(self) -> None:
        """Somebody looks: the window's watcher, or the session's next message boundary. A second goes by."""
        self.now += 1.0
        if self.window is None:
            self.run.late.notice()
        else:
            self.window.ask()
            self.now += 1.0
            self.window.ask()
            self.window.tell()
            self._remember_good()
        self.unseen = None

    def _remember_good(self) -> None:
        if self.window is not None and self.path.exists():
            text = self.path.read_text(encoding="utf-8-sig")
            if not faults_of(text):
                self.good = text

    @precondition(lambda self: self.window is not None)
    @rule(late=st.booleans())
    def launch(self, late: bool) -> None:
        """Time goes by until the window closes, then the successor is launched; perhaps a save comes at the last."""
        window, run = self.window, self.run
        assert window is not None
        for _ in range(200):
            answer = window.ask()
            if answer.choice is not Choice.KEEP_OPEN:
                if answer.choice is Choice.LAUNCH_FILE:
                    self._remember_good()
                if window.take(answer):
                    break
            window.tell()
            self._remember_good()
            self.now += 0.7
        else:
            raise AssertionError("the window never closed")
        self.unseen = None
        run.record.begin_generation(run.record.row.generations[-1].n + 1, f"s{self.now}")
        if late:
            self._write(document(f"late {self.now}").encode(), "rename")
            self._remember_good()
        seen = anyio.run(newest, run)
        run.late.begin(seen)
        self.unseen = None
        assert seen.text == self.good
        assert run.handing.revision == seen.revision == Workbench(self.workspace).documents.read("work").revision  # type: ignore[union-attr]
        assert run.record.row.generations[-2].edited == (seen.revision != window.frozen.revision)
        self.window = None

    def teardown(self) -> None:
        """Every text is somewhere."""
        try:
            self.look()
            there = {each.read_bytes() for each in archived(self.workspace)}
            if self.path.exists():
                there.add(self.path.read_bytes())
            lost = self.required - there
            assert not lost, lost
        finally:
            close(self.run)
            self.folder.cleanup()


Editing.TestCase.settings = settings(
    max_examples=examples(40, 500), stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestNobodysTextIsLost = Editing.TestCase
