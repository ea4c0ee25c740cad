"""The keeper, with real processes: a Python stands in for the CLI and, where it must die, for the supervisor."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from flower_mcp.runtime import keeper
from flower_mcp.runtime.keeping import Ended, Keeper, end_marked, prepare, running

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")]

PYTHON = Path(sys.executable)

# Words of the stand-ins: each process notes its id under a name in the folder that all of them share.
NOTES = """
import os, pathlib, signal, subprocess, sys, time
place = pathlib.Path(sys.argv[1])
def note(name, value):
    fresh = place / (name + ".new")
    fresh.write_text(str(value))
    fresh.replace(place / name)
"""
# argv: folder, name, then what to start in a session of its own, then what to do: wait for the end of stdin, or hang.
CLI = (
    NOTES
    + """
name, started, then = sys.argv[2:5]
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(300)"
SLEEP = ["sleep", "300"]
COMMANDS = {"plain": SLEEP, "bare": ["env", "-i", *SLEEP], "stubborn": [sys.executable, "-c", STUBBORN]}
for kind in filter(None, started.split(",")):
    ready = subprocess.PIPE if kind == "stubborn" else subprocess.DEVNULL
    nowhere = dict.fromkeys(("stdin", "stderr"), subprocess.DEVNULL)
    child = subprocess.Popen(COMMANDS[kind], start_new_session=True, stdout=ready, **nowhere)
    child.stdout and child.stdout.readline()
    note(name + "-" + kind, child.pid)
if then == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
note(name, os.getpid())
sys.stdin.buffer.read()
while then == "hang":
    time.sleep(1)
"""
)
# argv: folder, run, then the arguments of the CLI's stand-in.
SUPERVISOR = (
    NOTES
    + """
from flower_mcp.runtime.keeping import prepare
kept = prepare(pathlib.Path(sys.executable), place / "keepers", run_id=sys.argv[2], ours={})
command = [str(kept.launcher), "-c", sys.argv[3], sys.argv[1], *sys.argv[4:]]
pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child = subprocess.Popen(command, env={**os.environ, **kept.env}, **pipes)
note("keeper", child.pid)
signal.signal(signal.SIGINT, lambda *_: note("interrupted", "yes"))
note("supervisor", os.getpid())
child.wait()
"""
)


@dataclass
class Stage:
    """One run on one folder, and all processes that the test started for it."""

    place: Path
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    opened: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def keep(self, cli: Path = PYTHON, *, ours: dict[str, str] | None = None) -> Keeper:
        return prepare(cli, self.place / "keepers", run_id=self.run, ours=ours or {})

    def open(self, kept: Keeper, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """As the SDK does it: the launcher, pipes, the parent's variables with the keeper's on top."""
        process = subprocess.Popen(
            [str(kept.launcher), *arguments],
            env={**os.environ, **(environment or {}), **kept.env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.opened.append(process)
        return process

    def cli(self, kept: Keeper, name: str, started: str = "", then: str = "wait") -> subprocess.Popen[bytes]:
        """A CLI that has started what it was told to, once this returns."""
        process = self.open(kept, "-c", CLI, str(self.place), name, started, then)
        self.pid(name)
        return process

    def supervisor(self, name: str, started: str = "", then: str = "wait") -> subprocess.Popen[bytes]:
        """A supervisor of its own process, with a CLI of that name."""
        command = [sys.executable, "-c", SUPERVISOR, str(self.place), self.run, CLI, name, started, then]
        process = subprocess.Popen(command)
        self.opened.append(process)
        self.pid("supervisor"), self.pid(name)
        return process

    def pid(self, name: str) -> int:
        """The id that a process has noted; waits for it."""
        until((self.place / name).exists)
        return int((self.place / name).read_text(encoding="utf-8"))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    prepared = Stage(tmp_path)
    yield prepared
    for note in tmp_path.iterdir():
        if note.is_file() and note.read_text(encoding="utf-8").isdecimal() and alive(int(note.read_text())):
            os.kill(int(note.read_text()), signal.SIGKILL)
    for process in prepared.opened:
        process.kill()
        process.wait()
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            pipe.close()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(condition: Callable[[], bool], limit: float = 30.0) -> None:
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def close(process: subprocess.Popen[bytes]) -> int:
    """As the SDK does it first: the end of stdin. The exit code."""
    process.communicate(timeout=30)
    return process.returncode


@pytest.mark.parametrize(
    ("does", "code"),
    [("raise SystemExit(0)", 0), ("raise SystemExit(3)", 3), ("os.kill(os.getpid(), 9)", 137), ("os.abort()", 134)],
)
def test_the_exit_code_is_the_clis(stage: Stage, does: str, code: int) -> None:
    assert close(stage.open(stage.keep(), "-c", f"import os; {does}")) == code


def test_a_cli_that_cannot_run_is_named_and_gives_127(stage: Stage) -> None:
    process = stage.open(stage.keep(stage.place / "no such cli"))
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 127
    assert b"no such cli" in errors


def test_a_keeper_without_its_files_says_so(stage: Stage) -> None:
    kept = stage.keep()
    (kept.folder / "settings").unlink()
    process = stage.open(kept)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 2
    assert b"FLOWER_KEEPER_FOLDER" in errors


def test_stdin_and_stdout_pass_a_megabyte_unchanged(stage: Stage) -> None:
    sent = os.urandom(1_000_000)
    process = stage.open(stage.keep(Path("/bin/cat")))
    received, errors = process.communicate(sent, timeout=20)
    assert received == sent
    assert errors == b""
    assert process.returncode == 0


def test_odd_paths_and_odd_arguments_arrive_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / 'it\'s a "place" $HOME `x` \\ 中文\n'
    stage = Stage(odd)
    (odd / "bin").mkdir(parents=True)
    monkeypatch.setattr(keeper, "__file__", shutil.copy(keeper.__file__, odd / "bin"))
    cli = odd / "bin" / "the 'cli'"
    cli.write_text('#!/bin/sh\nprintf "%s|" "$@" "$VALUE"\n', encoding="utf-8")
    cli.chmod(0o700)
    value = "two\nlines = 'quoted'"
    output, errors = stage.open(stage.keep(cli, ours={"VALUE": value}), "a b", "", "$x'\"", "--é").communicate(
        timeout=30
    )
    assert errors == b""
    assert output.decode() == f"a b||$x'\"|--é|{value}|"


def test_the_cli_gets_the_listed_variables_and_ours_and_nothing_of_the_keepers(stage: Stage) -> None:
    ours = {"FLOWER_STEP": "work", "DISABLE_AUTO_COMPACT": "1", "FLOWER_RUN": "not this"}
    inherited = {"CLAUDE_CONFIG_DIR": "/here", "CLAUDE_PID": "1", "FLOWER_KEEPER_X": "1", "DISABLE_TELEMETRY": "1"}
    process = stage.open(stage.keep(ours=ours), "-c", "import os; print(dict(os.environ))", environment=inherited)
    variables = ast.literal_eval(process.communicate(timeout=30)[0].decode())
    listed = {name: value for name, value in variables.items() if name.startswith(("FLOWER", "DISABLE", "CLAUDE"))}
    assert listed.pop("FLOWER_KEEPER")
    assert listed == {**ours, "FLOWER_RUN": stage.run, "CLAUDE_CONFIG_DIR": "/here"}


def test_the_cli_starts_with_no_signal_ignored_or_blocked(stage: Stage) -> None:
    output, _ = stage.open(stage.keep(Path("/bin/cat")), "/proc/self/status").communicate(timeout=30)
    masks = dict(line.split(":\t") for line in output.decode().splitlines() if line.startswith(("SigIgn", "SigBlk")))
    # Signals above 31 belong to the C library and come from whatever started the tests.
    ordinary = {name: int(mask, 16) & 0x7FFFFFFF for name, mask in masks.items()}
    assert ordinary == {"SigIgn": 0, "SigBlk": 0}


def test_a_terminals_interrupt_reaches_neither_keeper_nor_cli(stage: Stage) -> None:
    ours, theirs = os.openpty()
    take_terminal = (
        "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"
    )
    supervisor = [sys.executable, "-c", SUPERVISOR, str(stage.place), stage.run, CLI, "cli", "plain", "wait"]
    process = subprocess.Popen([sys.executable, "-c", take_terminal, *supervisor], stdin=theirs, start_new_session=True)
    stage.opened.append(process)
    stage.pid("supervisor"), stage.pid("cli")
    os.write(ours, b"\x03")
    until((stage.place / "interrupted").exists)
    pids = [stage.pid(name) for name in ("supervisor", "keeper", "cli", "cli-plain")]
    assert all(map(alive, pids))
    assert len({os.getsid(pid) for pid in pids}) == 4
    # Not earlier: a terminal that closes hangs up on the supervisor.
    os.close(ours)
    os.close(theirs)


def test_retired_leaves_what_was_detached_and_the_step_ends_it(stage: Stage) -> None:
    kept = stage.keep()
    process = stage.cli(kept, "cli", "plain")
    kept.retire()
    assert close(process) == 0
    detached = stage.pid("cli-plain")
    assert not alive(stage.pid("cli"))
    assert alive(detached)
    assert kept.ended() == ()
    assert [(item.pid, item.command) for item in running(stage.run)] == [(detached, "sleep 300")]
    assert end_marked(stage.run) == (Ended(detached, "sleep 300"),)
    assert not alive(detached)
    assert running(stage.run) == ()


def test_a_living_clis_own_processes_do_not_count_as_living_on(stage: Stage) -> None:
    stage.cli(stage.keep(), "cli", "plain")
    assert alive(stage.pid("cli-plain"))
    assert running(stage.run) == ()


def test_a_closed_cli_takes_along_what_it_started_even_without_variables_and_reports_it(stage: Stage) -> None:
    kept = stage.keep()
    process = stage.cli(kept, "cli", "plain,bare,stubborn")
    assert close(process) == 0
    pids = [stage.pid(f"cli-{kind}") for kind in ("plain", "bare", "stubborn")]
    assert [alive(pid) for pid in pids] == [False] * 3
    assert {item.pid for item in kept.ended()} == set(pids)
    assert {item.command[:9] for item in kept.ended() if item.pid != pids[2]} == {"sleep 300"}


def test_what_ends_by_itself_is_not_reported(stage: Stage) -> None:
    kept = stage.keep()
    child = "import subprocess, sys; subprocess.Popen(['sleep', '0.1'], stdout=subprocess.DEVNULL); sys.stdin.read()"
    assert close(stage.open(kept, "-c", child)) == 0
    assert kept.ended() == ()


def test_without_a_word_another_session_of_the_run_is_left_alone(stage: Stage) -> None:
    living, retired, thrown_away = stage.keep(), stage.keep(), stage.keep()
    stage.cli(living, "living", "plain")
    retiring = stage.cli(retired, "retired", "plain")
    unused = stage.cli(thrown_away, "unused", "plain")
    retired.retire()
    close(retiring)
    unused.kill()
    close(unused)
    crashed = stage.cli(stage.keep(), "crashed", "plain")
    os.kill(stage.pid("crashed"), signal.SIGKILL)
    assert close(crashed) == 137
    assert not alive(stage.pid("crashed-plain"))
    assert alive(stage.pid("living"))
    assert alive(stage.pid("living-plain"))
    assert alive(stage.pid("retired-plain"))
    assert {item.pid for item in thrown_away.end_rest()} == {stage.pid("unused-plain")}
    assert alive(stage.pid("living"))


def test_over_ends_all_that_the_run_has_started_and_reports_it(stage: Stage) -> None:
    first, last = stage.keep(), stage.keep()
    retiring, process = stage.cli(first, "first", "plain"), stage.cli(last, "last", "plain")
    first.retire()
    close(retiring)
    assert alive(stage.pid("first-plain"))
    last.over()
    assert close(process) == 0
    assert {item.pid for item in last.ended()} == {stage.pid("first-plain"), stage.pid("last-plain")}
    assert not alive(stage.pid("first-plain"))
    assert not alive(stage.pid("last-plain"))


def test_the_pipes_end_with_the_cli_and_not_with_the_clean_up(stage: Stage) -> None:
    process = stage.cli(stage.keep(), "cli", "stubborn")
    assert process.stdout is not None
    os.kill(stage.pid("cli"), signal.SIGKILL)
    assert process.stdout.read() == b""
    assert process.poll() is None
    assert close(process) == 137


@pytest.mark.parametrize("killed", [("supervisor",), ("cli",), ("supervisor", "cli"), ("cli", "supervisor")])
def test_nothing_is_left_five_seconds_after_a_kill(stage: Stage, killed: tuple[str, ...]) -> None:
    kept = stage.keep()
    retiring = stage.cli(kept, "retired", "plain")
    kept.retire()
    close(retiring)
    kept.close()
    stage.supervisor("cli", "plain,bare,stubborn")
    own = [stage.pid(name) for name in ("keeper", "cli", "cli-plain", "cli-bare", "cli-stubborn")]
    for name in killed:
        os.kill(stage.pid(name), signal.SIGKILL)
    until(lambda: not any(map(alive, own)), limit=5.0)
    if "supervisor" in killed:
        until(lambda: not alive(stage.pid("retired-plain")), limit=1.0)
        assert list((stage.place / "keepers").iterdir()) == []
    else:
        assert alive(stage.pid("retired-plain"))


def test_a_supervisor_that_dies_just_after_its_cli_is_noticed_though_nothing_else_is_left(stage: Stage) -> None:
    kept = stage.keep()
    retiring = stage.cli(kept, "retired", "plain")
    kept.retire()
    close(retiring)
    supervisor = stage.supervisor("cli")
    os.kill(stage.pid("cli"), signal.SIGKILL)
    until(lambda: not alive(stage.pid("cli")))
    supervisor.kill()
    until(lambda: not alive(stage.pid("retired-plain")), limit=5.0)


def test_a_supervisors_death_ends_a_cli_that_ignores_term(stage: Stage) -> None:
    supervisor = stage.supervisor("cli", "stubborn", then="hang")
    own = [stage.pid(name) for name in ("keeper", "cli", "cli-stubborn")]
    supervisor.kill()
    until(lambda: not any(map(alive, own)), limit=5.0)


def test_term_to_the_keeper_is_over_before_the_sdk_loses_patience(stage: Stage) -> None:
    kept = stage.keep()
    process = stage.cli(kept, "cli", "stubborn", then="hang")
    begun = time.monotonic()
    process.terminate()
    process.communicate(timeout=30)
    assert time.monotonic() - begun < 5.0
    assert process.returncode == 137
    assert not alive(stage.pid("cli-stubborn"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_asked_end_is_the_clis_own(stage: Stage, number: signal.Signals) -> None:
    process = stage.cli(stage.keep(), "cli")
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 143


def test_a_killed_keeper_takes_its_cli_along_and_the_rest_is_ended_from_outside(stage: Stage) -> None:
    kept = stage.keep()
    process = stage.cli(kept, "cli", "plain,stubborn")
    process.kill()
    until(lambda: not alive(stage.pid("cli")), limit=5.0)
    left = {stage.pid("cli-plain"), stage.pid("cli-stubborn")}
    assert {item.pid for item in kept.end_rest(patience=0.5)} == left
    assert not any(map(alive, left))


def test_a_run_inside_a_run_ends_with_the_outer_one(stage: Stage) -> None:
    start = "subprocess.Popen([sys.executable, '-c', *sys.argv[2:]], start_new_session=True, stdout=subprocess.DEVNULL)"
    within = [SUPERVISOR, str(stage.place), "inner-run", CLI, "cli", "stubborn", "wait"]
    outer = stage.open(stage.keep(), "-c", f"{NOTES}\n{start}\nsys.stdin.read()", str(stage.place), *within)
    names = ("supervisor", "keeper", "cli", "cli-stubborn")
    pids = [stage.pid(name) for name in names]
    assert all(map(alive, pids))
    close(outer)
    until(lambda: not any(map(alive, pids)), limit=5.0)
