"""No link leads out: every file and folder of ours is replaced by a link, and what it leads to is left as it is.

All acts of the workbench, the books and the user's state folder are done on it; each works, or says a sentence.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from flower_mcp import Handoff, Workbench
from flower_mcp.core.books import LiveStep, State, StepResult
from flower_mcp.core.errors import FlowerError
from flower_mcp.runtime.keeping import prepare
from flower_mcp.workbench.inbox import Asks, Message
from flower_mcp.workbench.known import Known
from flower_mcp.workbench.ledger import Lineage, Manifest
from flower_mcp.workbench.unknown import left, make_private, put_aside

HANDOFF = Handoff(doing="Porting.", next="Go on.")
ROW = StepResult("a-run", "work")
SECRET = '{"victim": "do not read"}'
MESSAGE = Message("2026-11-29T16:05:12Z", "somebody", Asks.SAY, "hello")


class Place:
    """A workspace, a run folder and a state folder, and beside them what must not be touched."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.runs, self.state = (folder / name for name in ("workspace", "runs", "state"))
        self.file, self.folder = folder / "victim.json", folder / "victim"
        self.workspace.mkdir(parents=True)
        self.folder.mkdir()
        for path in (self.file, self.folder / "victim.json"):
            path.write_text(SECRET)
            path.chmod(0o644)

    def acts(self, say: Callable[[str], None]) -> Mapping[str, Callable[[], object]]:
        """All that writes or reads. `say` is told of what is said and not raised."""
        workbench, known = Workbench(self.workspace, say=say), Known(self.state, say=say)
        lives = workbench.lives
        return {
            "freeze": lambda: workbench.freeze("work", HANDOFF),
            "freeze again": lambda: workbench.freeze("work", HANDOFF),
            "edit": lambda: workbench.edit("work", "next", "Go on!"),
            "read": lambda: workbench.read("work"),
            "history": lambda: [version.data() for version in workbench.history("work")],
            "keep": lambda: workbench.documents.keep("work", b"an editor's"),
            "start": lambda: workbench.tasks.start("work", "Port it."),
            "add": lambda: workbench.tasks.add("work", "And that.", "say"),
            "words": lambda: workbench.tasks.read("work"),
            "live": lambda: lives.write(LiveStep("work", State.DONE, ROW)),
            "state": lambda: (lives.read("work"), lives.read("work", owner=True), lives.steps()),
            "events": lambda: lives.append([{"v": 1}]),
            "events read": lambda: lives.tail(5),
            "draft": lambda: (lives.write_draft("work", "a draft"), lives.write_draft("work", "another")),
            "draft read": lambda: (lives.read_draft("work"), lives.remove_draft("work")),
            "inbox": lambda: lives.put("work", MESSAGE),
            "inbox taken": lambda: lives.take("work"),
            "hold": lambda: workbench.holds.hold("work", "me"),
            "held": lambda: workbench.holds.state("work"),
            "release": lambda: workbench.holds.release("work"),
            "lease": lambda: workbench.holds.lease("work").__enter__(),
            "run lock": lambda: workbench.run_lock("work").acquire(),
            "put away": lambda: workbench.documents.put_away("work"),
            "manifest": lambda: (list(map(say, Manifest(self.runs).put(ROW))), Manifest(self.runs).rows()),
            "lineage": lambda: (
                list(map(say, Lineage(self.runs).remember("work", "an-id").notes)),
                Lineage(self.runs).wake(),
            ),
            "keeper": lambda: prepare(Path("/bin/true"), self.runs, run_id="r", ours={}).close(),
            "known": lambda: known.remember(self.workspace, "work", "x"),
            "is known": lambda: known.step(self.workspace, "work"),
            "put aside": lambda: put_aside(
                lives, left(lives, workbench.tasks, self.workspace, "work", Known(self.state / "other"))
            ),
            "make private": lambda: make_private(workbench.folder),
        }

    def act(self) -> list[str]:
        """Do all of it; what could not be done, in sentences. Only errors of ours come out."""
        said: list[str] = []
        seen: list[str] = []
        try:
            acts = self.acts(said.append)
        except FlowerError as error:
            return [str(error)]
        for act in acts.values():
            try:
                seen.append(repr(act()))
            except FlowerError as error:
                said.append(str(error))
        assert "do not read" not in "".join([*seen, *said])
        return said

    def is_untouched(self) -> bool:
        """Whether nothing happened to what the links lead to."""
        inner = self.folder / "victim.json"
        modes = {path.stat().st_mode & 0o777 for path in (self.file, inner)}
        return (
            self.file.read_text() == inner.read_text() == SECRET
            and [path.name for path in self.folder.iterdir()] == ["victim.json"]
            and modes == {0o644}
        )


def ours(place: Place) -> list[Path]:
    """The files and folders that the acts have made, as paths below the place."""
    folders = [place.workspace / ".flower", place.runs, place.state]
    found = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    return sorted(path.relative_to(place.workspace.parent) for path in found)


@pytest.mark.parametrize("to", ["a file", "a folder"])
def test_whatever_is_replaced_by_a_link_what_it_leads_to_is_untouched(tmp_path: Path, to: str) -> None:
    first = Place(tmp_path / "first")
    assert first.act() == []
    names = ours(first)
    assert len(names) > 25
    silent: list[Path] = []
    for number, name in enumerate(names):
        place = Place(tmp_path / str(number))
        for source in (".flower", "runs", "state"):
            whole = first.workspace if source == ".flower" else first.workspace.parent
            shutil.copytree(whole / source, (place.workspace if source == ".flower" else place.runs.parent) / source)
        path = place.runs.parent / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.symlink_to(place.file if to == "a file" else place.folder)
        if str(name) in ("runs", "state"):
            continue  # where they lie is the person's choice; Runtime refuses a run folder that leads out
        said = place.act()
        assert place.is_untouched(), name
        assert all(len(sentence) < 600 for sentence in said)
        silent += [] if said else [name]
        shutil.rmtree(place.runs.parent)
    assert {path.name for path in silent if "archive" not in path.parts} == {".gitignore"}
