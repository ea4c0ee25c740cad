"""What a test saw of a step that is killed again and again, and what must be true of the disk at every instant.

A thread looks at the documents many times a second, and at who runs. Each text of the scripted model carries its number
at both ends, so a torn one is known when it is seen. What can hurt: a version that stood for less than a hundredth of
a second is not seen by the thread; the books name its revision all the same.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.e2e.harness import claude_cli, command, marked, parent
from tests.e2e.steps import DOCUMENT, document_path

_WHOLE = re.compile(r"\A# 交接 · work\n.*Text (\d+) begins\..*Text \1 ends\.", re.DOTALL)
_SESSION = re.compile(r"--(?:session-id|resume)[ =]([0-9a-f-]{36})")
LOOK = 0.01  # seconds between two looks at the documents; every tenth time at the processes
REVISION = 12


def numbered(number: int) -> str:
    """A document's text that tells whether it is whole."""
    begun = DOCUMENT.replace("Porting ", f"Text {number} begins. Porting ", 1)
    return begun.replace("tests/test_export.py\n", f"tests/test_export.py\n\nText {number} ends.\n").rstrip() + "\n"


class Chronicle:
    """The documents, books and processes of one workspace, and what was wrong with them."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.run_dir = workspace.parent / "runs"
        self.notes = workspace / ".flower" / "notes"
        self.seen: dict[str, str] = {}
        self.runs: list[str] = []
        self.wrong: list[str] = []
        self._was_placed = False
        self._doubles: dict[str, frozenset[int]] = {}
        self._over = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look on, in a thread."""
        thread = threading.Thread(target=self._watch, name="chronicle")
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def look(self) -> None:
        """Take in what lies there now, and check all that must hold at every instant."""
        there = self._documents()
        for revision, text in (self.seen | there).items():
            if not _WHOLE.match(text):
                self._say(f"{revision} is not whole: {text[-300:]!r}")
        self.seen |= there
        gone = {*self.seen, *self._frozen()} - set(there)
        if gone:
            self._say(f"frozen and gone: {sorted(gone)}")
        is_placed = document_path(self.workspace).exists()
        if self._was_placed and not is_placed:
            self._say("there was a document, and there is none in its place")
        self._was_placed = is_placed
        broken = [path.name for path in self.workspace.parent.rglob("*.broken-*")]
        if broken:
            self._say(f"set aside: {broken}")

    def row(self) -> dict[str, Any]:
        """The row of the last run."""
        rows: list[dict[str, Any]] = json.loads((self.run_dir / "manifest.json").read_text())
        return rows[-1]

    def books(self) -> Iterator[dict[str, Any]]:
        """Every row there is, the live one last. Raises ValueError for one that cannot be read."""
        manifest, lineage = self.run_dir / "manifest.json", self.run_dir / "lineage.json"
        live = self.workspace / ".flower" / "live" / "work.json"
        if manifest.exists():
            yield from json.loads(manifest.read_text())
        if lineage.exists():
            json.loads(lineage.read_text())["steps"]
        if live.exists():
            yield json.loads(live.read_text())["row"]

    def generations(self) -> dict[int, set[str]]:
        """Each generation with the ids of its sessions, over all rows."""
        found: dict[int, set[str]] = {}
        for row in self.books():
            for generation in row["generations"]:
                found.setdefault(generation["n"], set()).add(generation["session_id"])
        return found

    def left_running(self) -> dict[int, str]:
        """Processes that carry the marker of any run so far."""
        for row in self.books():
            if row["run"] and row["run"] not in self.runs:
                self.runs.append(row["run"])
        return {pid: command(pid) for run in self.runs for pid in marked(f"FLOWER_RUN={run}")}

    def _documents(self) -> dict[str, str]:
        """Every document that has a lasting name, by revision."""
        paths = [document_path(self.workspace), *(self.notes / "archive" / "交接").glob("[!.]*.md")]
        found = {}
        for path in paths:
            with suppress(FileNotFoundError):
                data = path.read_bytes()
                found[sha256(data).hexdigest()[:REVISION]] = data.decode()
        return found

    def _frozen(self) -> set[str]:
        """The revisions that the books call frozen or launched, with a place on the disk."""
        generations = [generation for row in self.books() for generation in row["generations"] if generation["path"]]
        return {each[name] for each in generations for name in ("frozen", "launched") if each[name]}

    def _watch(self) -> None:
        looks = 0
        while not self._over.wait(LOOK):
            looks += 1
            with suppress(FileNotFoundError):
                data = document_path(self.workspace).read_bytes()
                self.seen.setdefault(sha256(data).hexdigest()[:REVISION], data.decode("utf-8", "replace"))
            if looks % 10 == 0:
                self._look_for_doubles()

    def _look_for_doubles(self) -> None:
        """Two processes on one session would fork its transcript."""
        sessions: dict[str, set[int]] = {}
        for pid in marked(str(self.workspace.parent)):
            line = command(pid)
            if line.startswith(str(claude_cli())) and (found := _SESSION.search(line)):
                sessions.setdefault(found[1], set()).add(pid)
        # A CLI that starts a shell is there twice until the shell is: its fork, with its command line, is its child.
        own = {session: {pid for pid in pids if parent(pid) not in pids} for session, pids in sessions.items()}
        twice = {session: frozenset(pids) for session, pids in own.items() if len(pids) > 1}
        for session, pids in twice.items():
            if self._doubles.get(session) == pids:
                self._say(f"two processes at once for {session}: {sorted(pids)}")
        self._doubles = twice

    def _say(self, what: str) -> None:
        if what not in self.wrong:
            self.wrong.append(what)
