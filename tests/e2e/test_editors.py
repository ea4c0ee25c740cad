"""Real editors, in a real terminal, during a real run: what was saved is in the successor's first request."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime, Workbench
from flower_mcp.demo.model import ScriptedModel, Story, each_session, text
from flower_mcp.workbench.editors import unsaved
from tests.e2e.editing import NEXT, Person, at_open, live, opening_of, pause, story, wait
from tests.e2e.steps import archived, bash, document_path, handing_over, policy, run_step

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

EDITED = "port test_batch FIRST"
REMARK = "Mind the garden wall."


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


class Terminal:
    """A terminal with a server of its own."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "tmux"
        self._folder = folder

    def start(self, *command: str) -> None:
        """Start a program in it."""
        self._tmux("-f", os.devnull, "new-session", "-d", "-s", "t", "-x", "120", "-y", "40", *command)

    def keys(self, *keys: str) -> Callable[[], object]:
        """An act: press keys, by tmux' names for them."""
        return lambda: self._tmux("send-keys", "-t", "t", *keys)

    def types(self, text: str) -> Callable[[], object]:
        """An act: type a text."""
        return lambda: self._tmux("send-keys", "-t", "t", "-l", text)

    def shows(self, words: str) -> Callable[[], None]:
        """An act: wait until the words are on the screen."""
        return wait(lambda: words in self._tmux("capture-pane", "-p", "-t", "t"), 20)

    def close(self) -> None:
        """End whatever runs in it."""
        subprocess.run(["tmux", "-S", str(self._socket), "kill-server"], check=False, capture_output=True)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *arguments], check=True, capture_output=True, text=True, timeout=20
        )
        return done.stdout


@pytest.fixture
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal; its socket's path must be short."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    one = Terminal(tmp_path_factory.mktemp("t"))
    yield one
    one.close()


async def edited_by(
    model: ScriptedModel, workspace: Path, *acts: Callable[[Path], object], words: str = EDITED
) -> list[bytes]:
    """Run a step with a handoff for each act, which happens in the edit window.

    The document's bytes as they were when each window closed; each of them was given to the successor.
    """
    work = [bash("echo one").at(40_000), bash("echo two").at(155_000)]
    model.script = each_session(*[handing_over(*work) for _ in acts], Story([text("All ported.").at(31_000)]))
    due, documents = list(acts), list[bytes]()

    def during(_runtime: Runtime, event: Event) -> None:
        if (event.kind, event.payload.get("phase")) == ("edit", "open"):
            due.pop(0)(document_path(workspace))
        elif (event.kind, event.payload.get("phase")) == ("edit", "closed"):
            documents.append(document_path(workspace).read_bytes())

    run = await run_step(workspace, handoff=policy(edit_window=0.8), during=during, limit=100)
    assert run.result.ok, run.result.error
    assert run.result.errors == ()
    said = [phase for phase in run.phases("edit") if phase not in ("held", "released")]
    assert said == ["open", "seen", "closed"] * len(acts)
    for data, (one, two) in zip(documents, pairwise(run.result.generations), strict=True):
        given, opening = data.decode("utf-8-sig"), opening_of(model, two.session_id).all_text()
        assert words in given
        assert given.strip() in opening.replace("\r\n", "\n") or "\r" in given
        assert words in opening
        assert one.edited
        assert one.launched != one.frozen
    assert any(NEXT in path.read_text(encoding="utf-8") for path in archived(workspace))
    return documents


@needs("vim")
@pytest.mark.parametrize("settings", ["", "nowritebackup", "backupcopy=yes", "backupcopy=no backup"])
async def test_vim(model: ScriptedModel, workspace: Path, person: Person, terminal: Terminal, settings: str) -> None:
    """From the release on, the window stays open for the unsaved change alone."""
    modified: list[bool] = []
    holds = Workbench(workspace).holds

    def edit(path: Path) -> None:
        holds.hold("work", "the test, until the editor is there")
        given = ("--cmd", "set directory=.", *(("-c", f"set {settings}") if settings else ()))
        terminal.start("vim", "-N", "-u", "DEFAULTS", *given, str(path))
        person.does(
            terminal.shows("Doing now"),
            terminal.keys("Escape"),
            terminal.types(f":%s/{NEXT}/{EDITED}/\r"),
            wait(lambda: unsaved(path)),
            lambda: holds.release("work"),
            pause(1.5),
            lambda: modified.append(live(workspace)["state"] == "editing"),
            terminal.types(":wq\r"),
            wait(lambda: not unsaved(path)),
        )

    await edited_by(model, workspace, edit)
    assert modified == [True]


@needs("vim")
async def test_a_vim_that_only_shows_the_document_keeps_nothing_open(
    model: ScriptedModel, workspace: Path, person: Person, terminal: Terminal
) -> None:
    story(model)

    def look(path: Path) -> None:
        terminal.start("vim", "-N", "-u", "DEFAULTS", "--cmd", "set directory=.", str(path))
        person.does(terminal.shows("Doing now"))

    began = time.monotonic()
    run = await run_step(workspace, handoff=policy(edit_window=1.0, edit_limit=60), during=at_open(look, workspace))
    assert run.result.ok, run.result.error
    assert time.monotonic() - began < 30
    assert run.phases("edit") == ["open", "closed"]
    assert document_path(workspace).with_name(".交接-work.md.swp").exists()


@needs("vim")
async def test_a_vim_with_unsaved_changes_left_open_is_waited_for_up_to_the_limit(
    model: ScriptedModel, workspace: Path, person: Person, terminal: Terminal
) -> None:
    story(model)

    def leave(path: Path) -> None:
        terminal.start("vim", "-N", "-u", "DEFAULTS", "--cmd", "set directory=.", str(path))
        person.does(terminal.shows("Doing now"), terminal.types("ihello"), wait(lambda: unsaved(path)))

    run = await run_step(workspace, handoff=policy(edit_window=0.8, edit_limit=2.5), during=at_open(leave, workspace))
    assert run.result.ok, run.result.error
    assert run.phases("edit") == ["open", "closed"]
    one = run.result.generations[0]
    assert (one.edited, one.launched) == (False, one.frozen)


@needs("emacs")
async def test_emacs(model: ScriptedModel, workspace: Path, person: Person, terminal: Terminal) -> None:
    modified: list[bool] = []
    holds = Workbench(workspace).holds

    def edit(path: Path) -> None:
        holds.hold("work", "the test, until the editor is there")
        terminal.start("emacs", "-nw", "-Q", str(path))
        person.does(
            terminal.shows("Doing now"),
            terminal.keys("M->"),
            terminal.types(REMARK),
            wait(lambda: unsaved(path)),
            lambda: holds.release("work"),
            pause(1.5),
            lambda: modified.append(live(workspace)["state"] == "editing"),
            terminal.keys("C-x", "C-s"),
            wait(lambda: not unsaved(path)),
            terminal.keys("C-x", "C-c"),
        )

    await edited_by(model, workspace, edit, words=REMARK)
    assert modified == [True]


@needs("nano")
async def test_nano(model: ScriptedModel, workspace: Path, person: Person, terminal: Terminal) -> None:
    holds = Workbench(workspace).holds

    def edit(path: Path) -> None:
        holds.hold("work", "the test, until the editor is done")
        terminal.start("nano", "--ignorercfiles", str(path))
        person.does(
            terminal.shows("Doing now"),
            terminal.keys("M-/"),
            terminal.types(REMARK),
            terminal.keys("C-o"),
            terminal.keys("Enter"),
            wait(lambda: REMARK in path.read_text(encoding="utf-8")),
            terminal.keys("C-x"),
            lambda: holds.release("work"),
        )

    await edited_by(model, workspace, edit, words=REMARK)


COMMANDS = {
    "ed": ("ed", "-s", "{path}"),
    "sed -i": ("sed", "-i", f"s/{NEXT}/{EDITED}/", "{path}"),
    "perl -i": ("perl", "-i", "-pe", f"s/{NEXT}/{EDITED}/", "{path}"),
}


@needs("ed")
@needs("perl")
async def test_editors_without_a_screen(model: ScriptedModel, workspace: Path) -> None:
    def edit(command: tuple[str, ...], path: Path) -> None:
        whole = [word.format(path=path) for word in command]
        subprocess.run(whole, input=f",s/{NEXT}/{EDITED}/\nw\nq\n", text=True, check=True, timeout=20)

    await edited_by(model, workspace, *[partial(edit, command) for command in COMMANDS.values()])


def changed(path: Path) -> bytes:
    return path.read_bytes().replace(NEXT.encode(), EDITED.encode())


def like_vscode(path: Path) -> None:
    """Truncate, then write; VS Code's plain save."""
    content = changed(path)
    with path.open("r+b") as file:
        file.truncate(0)
        file.flush()
        time.sleep(0.02)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def like_an_atomic_save(path: Path) -> None:
    """A temporary file that is renamed over the document."""
    temporary = path.with_name(f"{path.name}.vsctmp")
    temporary.write_bytes(changed(path))
    temporary.replace(path)


def like_jetbrains(path: Path) -> None:
    """Two transient names; for a moment there is no document."""
    new, old = path.with_name(f"{path.name}___jb_tmp___"), path.with_name(f"{path.name}___jb_old___")
    new.write_bytes(changed(path))
    path.rename(old)
    time.sleep(0.15)
    new.rename(path)
    old.unlink()


def like_windows(path: Path) -> None:
    """A byte order mark and the line ends of Windows."""
    path.write_bytes(b"\xef\xbb\xbf" + changed(path).replace(b"\n", b"\r\n"))


def saved_by(person: Person, save: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda path: person.does(partial(save, path))


async def test_the_ways_other_editors_save(model: ScriptedModel, workspace: Path, person: Person) -> None:
    saves = (like_vscode, like_an_atomic_save, like_jetbrains, like_windows)
    data = await edited_by(model, workspace, *[saved_by(person, save) for save in saves])
    assert data[-1].startswith(b"\xef\xbb\xbf")
    assert data[-1].count(b"\r\n") == data[-1].count(b"\n")
