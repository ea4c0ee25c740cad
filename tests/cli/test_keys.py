"""The keys of the run's own terminal while a document waits: a real pseudo-terminal, the real CLI, real signals."""

from __future__ import annotations

import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from flower_mcp import Workbench
from flower_mcp.cli.output import clean
from flower_mcp.demo.model import ScriptedModel
from tests.cli.processes import FLOWER, Terminal, flower, flower_at_terminal
from tests.cli.steps import EDITED, replacing, scripted_editor, two_sessions, with_editor
from tests.e2e.editing import opening_of
from tests.e2e.harness import MODEL, marked, wait_until

pytestmark = pytest.mark.e2e

TASK = "Port the test suite to pytest."
USUAL = ["--model", MODEL, "--permission-mode", "bypassPermissions", "--edit-window", "40"]
KEYS = "h holds, e edits, Enter launches, q stops"


def edit_phases(workspace: Path) -> list[str]:
    """The phases of the edit window so far."""
    lines = (workspace / ".flower" / "live" / "events.jsonl").read_text().splitlines()
    return [event["phase"] for event in map(json.loads, lines) if event["kind"] == "edit"]


def row_of(workspace: Path) -> dict[str, Any]:
    """The only row of the books."""
    (row,) = json.loads((workspace / "runs" / "manifest.json").read_text())
    return dict(row)


def test_h_holds_and_enter_launches_what_stands_there_and_what_was_typed_before_is_no_key(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    two_sessions(model, pause=1.5)

    with flower_at_terminal(*USUAL, TASK, cwd=workspace, environment=environment) as terminal:
        wait_until((workspace / "begun").exists, 60)
        assert terminal.is_usual
        terminal.type("q\nh\n")
        terminal.wait_for(f"edit it now if you like, 40 s: {KEYS}")
        wait_until(lambda: terminal.is_by_key)
        assert "held since" not in terminal.shown
        terminal.type("h")
        terminal.wait_for("held since")
        assert terminal.is_by_key
        terminal.type("x\x1b[B")  # neither is a key
        terminal.type("\n")
        terminal.wait_for("launched as it stands")
        code = terminal.end(limit=60)
        assert terminal.is_usual

    assert code == 0, terminal.shown
    assert "by the run's own terminal; to go on: flower release" in terminal.shown
    assert "\x1b" not in terminal.shown  # the terminal is a dumb one
    assert row_of(workspace)["state"] == "done"


def test_e_opens_the_editor_and_the_successor_reads_the_edit(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    two_sessions(model)
    program = (
        "import signal, subprocess\n"
        "signal.signal(signal.SIGINT, lambda *_: os.write(1, b'INTERRUPTED'))\n"
        "modes = subprocess.run(['stty', '-a'], stdout=subprocess.PIPE, text=True).stdout\n"
        "print('EDITOR', sys.argv[1], '-icanon' in modes, '-echo ' in modes, flush=True)\n"
        "assert typed() == 'save it'\n" + replacing() + "subprocess.run(['stty', 'raw', '-echo'])\n"
    )

    with flower_at_terminal(
        *USUAL, TASK, cwd=workspace, environment=with_editor(environment, scripted_editor(tmp_path, program))
    ) as terminal:
        terminal.wait_for(KEYS)
        wait_until(lambda: terminal.is_by_key)
        terminal.type("e")
        terminal.wait_for("EDITOR --an-argument False False")
        held = flower("hold", cwd=workspace, environment=environment)  # told here only once the editor is closed
        wait_until(lambda: "held" in edit_phases(workspace))
        terminal.type("\x03")  # the editor's
        terminal.wait_for("INTERRUPTED")
        assert "held since" not in terminal.shown
        terminal.type("save it\n")
        terminal.wait_for("held since")
        terminal.wait_for("edited by a person: next")
        wait_until(lambda: terminal.is_by_key)
        terminal.type("\n")
        code = terminal.end(limit=60)
        assert terminal.is_usual

    assert held.code == 0
    assert code == 0, terminal.shown
    row = row_of(workspace)
    assert EDITED in opening_of(model, row["session_id"]).all_text()
    assert row["generations"][0]["edited"] is True


def test_a_run_that_is_ended_from_outside_ends_the_editor_that_it_opened(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    two_sessions(model)
    program = (
        "import signal\n"
        "def hung_up(*_):\n    open('hung up', 'w').close()\n    sys.exit(0)\n"
        "signal.signal(signal.SIGHUP, hung_up)\nprint('OPEN', flush=True)\nwhile True: time.sleep(1)\n"
    )

    with flower_at_terminal(
        *USUAL, TASK, cwd=workspace, environment=with_editor(environment, scripted_editor(tmp_path, program))
    ) as terminal:
        terminal.wait_for(KEYS)
        wait_until(lambda: terminal.is_by_key)
        terminal.type("e")
        terminal.wait_for("OPEN")
        terminal.process.send_signal(signal.SIGTERM)
        code = terminal.end(limit=60)
        assert terminal.is_usual

    assert code == 143, terminal.shown
    assert (workspace / "hung up").exists()
    assert not Workbench(workspace).holds.is_leased("work")
    assert "stopped after" in terminal.shown


def test_a_run_that_is_over_waits_for_the_editor_that_it_opened(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    two_sessions(model)
    editor = scripted_editor(
        tmp_path, "print('OPEN', flush=True)\ntyped()\nprint('STILL OPEN', flush=True)\ntyped()\n" + replacing()
    )

    with flower_at_terminal(*USUAL, TASK, cwd=workspace, environment=with_editor(environment, editor)) as terminal:
        terminal.wait_for(KEYS)
        wait_until(lambda: terminal.is_by_key)
        terminal.type("e")
        terminal.wait_for("OPEN")
        released = flower("release", "--as-is", cwd=workspace, environment=environment)
        wait_until(lambda: '"result"' in (workspace / ".flower" / "live" / "events.jsonl").read_text(), 60)
        terminal.type("\n")
        terminal.wait_for("STILL OPEN")
        assert "launched as it stands" not in terminal.shown
        terminal.type("\n")
        code = terminal.end(limit=60)

    assert released.code == 0
    assert code == 0, terminal.shown
    assert EDITED in Workbench(workspace).documents.path("work").read_text(encoding="utf-8")
    assert "done in" in terminal.shown


@pytest.mark.parametrize("typed", ["\x03", signal.SIGTERM])
def test_a_signal_in_the_window_gives_the_terminal_back(
    typed: str | signal.Signals, model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    two_sessions(model)

    with flower_at_terminal(*USUAL, TASK, cwd=workspace, environment=environment) as terminal:
        terminal.wait_for(KEYS)
        wait_until(lambda: terminal.is_by_key)
        if isinstance(typed, str):
            terminal.type(typed)
        else:
            terminal.process.send_signal(typed)
        wait_until(lambda: terminal.is_usual, 30)
        code = terminal.end(limit=60)
        assert terminal.is_usual

    assert code == (130 if typed == "\x03" else 143), terminal.shown
    assert row_of(workspace)["state"] == "stopped"


def test_ctrl_backslash_in_the_window_gives_the_terminal_back(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    two_sessions(model)

    with flower_at_terminal(*USUAL, TASK, cwd=workspace, environment=environment) as terminal:
        terminal.wait_for(KEYS)
        wait_until(lambda: terminal.is_by_key)
        terminal.type("\x1c")
        code = terminal.end(limit=60)
        assert terminal.is_usual

    assert code == -signal.SIGQUIT, terminal.shown


def test_a_mistake_of_ours_in_the_window_gives_the_terminal_back(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    two_sessions(model)
    program = (
        "import flower_mcp.cli.controls as c\n"
        "async def act(self, key): 1 / 0\n"
        "c.Controls.act = act\n"
        "from flower_mcp.cli.main import main\nmain()"
    )
    without_debug = {name: value for name, value in environment.items() if name != "FLOWER_DEBUG"}

    with Terminal([sys.executable, "-c", program, *USUAL, TASK], workspace, without_debug) as terminal:
        terminal.wait_for(KEYS)
        wait_until(lambda: terminal.is_by_key)
        terminal.type("h")
        code = terminal.end(limit=30)
        assert terminal.is_usual

    assert code == 1, terminal.shown
    assert "ZeroDivisionError" in terminal.shown


def test_ctrl_z_gives_the_terminal_back_and_the_keys_work_again_in_front_also_after_a_missing_editor(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    two_sessions(model)
    shell = ["/bin/bash", "--norc", "--noediting", "-i"]  # noediting: the shell's own modes are the usual ones

    variables = with_editor({**environment, "PS1": "SHELL> "}, "no-such-editor -x")
    with Terminal(shell, workspace, variables) as terminal:
        terminal.wait_for("SHELL> ")
        terminal.type(" ".join([*FLOWER, *USUAL, f"'{TASK}'"]) + "\n")
        terminal.wait_for(KEYS)
        wait_until(lambda: terminal.is_by_key)
        terminal.type("\x1a")
        terminal.wait_for("SHELL> ", times=2)
        assert terminal.is_usual
        terminal.type("bg\n")
        terminal.wait_for("SHELL> ", times=3)
        terminal.type("echo h$((1 + 1))h\n")  # nobody in the background reads it or changes the mode
        terminal.wait_for("h2h")
        assert terminal.is_usual
        terminal.type("fg\n")
        wait_until(lambda: terminal.is_by_key)
        terminal.type("e")
        terminal.wait_for("EDITOR names an editor that is not there: no-such-editor -x")
        wait_until(lambda: terminal.is_by_key)
        terminal.type("h")
        terminal.wait_for("held since")
        terminal.type("\n")
        terminal.wait_for("done in")
        terminal.wait_for("SHELL> ", times=5)
        assert terminal.is_usual
        terminal.type("exit\n")
        terminal.end()

    assert row_of(workspace)["state"] == "done"


SHELL = """
import os, signal, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
_, status = os.waitpid(child, os.WUNTRACED)
os.tcsetpgrp(0, os.getpgrp())
modes = termios.tcgetattr(0)[3]
print('TAKES OVER', os.WIFSTOPPED(status), bool(modes & termios.ICANON), bool(modes & termios.ECHO), flush=True)
input()
os.tcsetpgrp(0, child)
os.kill(child, signal.SIGCONT)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_ctrl_z_leaves_the_terminal_as_it_was_to_a_shell_that_mends_nothing_and_q_stops_in_order(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    two_sessions(model)

    with Terminal([sys.executable, "-c", SHELL, *FLOWER, *USUAL, TASK], workspace, environment) as terminal:
        terminal.wait_for(KEYS)
        wait_until(lambda: terminal.is_by_key)
        terminal.type("\x1a")
        terminal.wait_for("TAKES OVER True True True")
        terminal.type("\n")
        wait_until(lambda: terminal.is_by_key)
        terminal.type("q")
        code = terminal.end(limit=60)
        assert terminal.is_usual

    assert code == 130, terminal.shown
    row = row_of(workspace)
    assert (row["state"], len(row["generations"])) == ("stopped", 1)
    assert "go on     flower" in terminal.shown
    assert marked(f"FLOWER_RUN={row['run']}") == []


def test_a_live_terminal_counts_down(model: ScriptedModel, workspace: Path, environment: dict[str, str]) -> None:
    two_sessions(model)

    variables = {**environment, "TERM": "xterm"}
    with flower_at_terminal(*USUAL[:-1], "2", TASK, cwd=workspace, environment=variables) as terminal:
        assert terminal.end() == 0, terminal.shown

    counted = re.findall(r"(\d) s  h holds", clean(terminal.shown))
    assert list(dict.fromkeys(counted)) == ["2", "1"]
