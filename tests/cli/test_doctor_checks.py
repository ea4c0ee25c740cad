"""The single checks of `flower doctor`, in this process: a table of what each is to say."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from flower_mcp.cli import doctor, doctor_claude, doctor_folder, doctor_workbench
from flower_mcp.cli.commands import flower
from flower_mcp.cli.doctor_books import books_check, config_check, state_check
from flower_mcp.cli.doctor_claude import credentials_check, endpoint_check
from flower_mcp.cli.doctor_clients import clients_check
from flower_mcp.cli.doctor_finding import Check, Examined, Finding
from flower_mcp.cli.doctor_folder import locks_check, probe_place, watcher_check
from flower_mcp.cli.doctor_server import tools_of
from flower_mcp.cli.doctor_window import window_check
from flower_mcp.cli.doctor_workbench import workbench_check
from flower_mcp.cli.options import RunOptions
from flower_mcp.cli.words import Words
from flower_mcp.core.books import LiveStep, State, StepResult
from flower_mcp.core.errors import FilesError
from flower_mcp.core.handoff import Handoff
from flower_mcp.workbench.locks import RunLock
from flower_mcp.workbench.workbench import Workbench

WHOLE = Handoff("work", doing="a", next="b")
UNTOLD = "(guessed from the name; the CLI is asked at connect)"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder to work in."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def examined(workspace: Path, environ: Mapping[str, str] | None = None) -> Examined:
    """What a check is given, with a folder of the doctor's own beside the workspace."""
    scratch = workspace.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    given = RunOptions(workspace=str(workspace), run_dir=str(workspace / "runs"))
    variables = {"FLOWER_STATE_DIR": str(workspace.parent / "state"), **(environ or {})}
    return Examined(Words(), variables, given, given.policy(), flower.commands, scratch)


def told(findings: Iterator[Finding]) -> str:
    """All findings as text, what is wrong marked with `!`."""
    return "\n".join(f"{'ok' if one.ok else '!'} {one.text} -> {' | '.join(one.do)}" for one in findings)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ANTHROPIC_API_KEY": "sk-ant-123456789"}, "ok credentials: API key, ANTHROPIC_API_KEY=sk-a****"),
        ({"ANTHROPIC_AUTH_TOKEN": "short"}, "ok credentials: auth token, ANTHROPIC_AUTH_TOKEN=**** "),
        ({"CLAUDE_CODE_OAUTH_TOKEN": "oat-123456789"}, "CLAUDE_CODE_OAUTH_TOKEN=oat-****"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, "ok credentials: cloud provider Amazon Bedrock"),
        ({}, "! no credentials (by the variables alone)"),
    ],
)
def test_without_the_clis_word_the_variables_tell_the_kind(
    variables: dict[str, str], words: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_claude, "_cli", lambda: None)

    assert words in told(credentials_check(examined(workspace, variables)))


@contextmanager
def _proxy(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A proxy on loopback that answers one request with this."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(4096))
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], asked
        thread.join(5)


@pytest.mark.parametrize(
    ("answer", "mark"), [(b"HTTP/1.1 200 OK\r\n\r\n", "ok"), (b"HTTP/1.1 407 Who are you\r\n\r\n", "!")]
)
def test_the_endpoint_is_reached_through_the_proxy_and_no_password_is_shown(
    answer: bytes, mark: str, workspace: Path
) -> None:
    with _proxy(answer) as (port, asked):
        variables = {
            "HTTPS_PROXY": f"http://me:secret@127.0.0.1:{port}",
            "ANTHROPIC_BASE_URL": "https://u:pass@gw.example/v1?k=1",
        }
        text = told(endpoint_check(examined(workspace, variables)))

    assert text.startswith(f"{mark} gw.example:443")
    assert f"through the proxy 127.0.0.1:{port}" in text
    assert "secret" not in text
    assert "pass" not in text
    assert asked[0].startswith(b"CONNECT gw.example:443 ")
    assert b"Proxy-Authorization: Basic " in asked[0]


@pytest.mark.parametrize("proxy", ["http://me:secret@h:abc", "http://me:sec/ret@h:80", "http://[h", "h:99999999"])
def test_a_proxy_that_is_no_address_is_told_and_not_shown(proxy: str, workspace: Path) -> None:
    text = told(endpoint_check(examined(workspace, {"HTTPS_PROXY": proxy})))

    assert text.startswith("! HTTPS_PROXY is no address")
    assert "http://HOST:PORT" in text
    assert "sec" not in text
    assert "report" not in text


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "HTTP_PROXY": ""}, "! 127.0.0.1:9 cannot be reached"),
        ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "HTTP_PROXY": "x:1", "NO_PROXY": "127.0.0.1"}, "reached: Conn"),
        ({"ANTHROPIC_BASE_URL": "gateway"}, "! ANTHROPIC_BASE_URL is no address"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1"}, "ok endpoint bedrock:eu-west-1: not tried"),
    ],
)
def test_an_endpoint_that_cannot_be_reached_is_told(variables: dict[str, str], words: str, workspace: Path) -> None:
    assert words in told(endpoint_check(examined(workspace, variables)))


def test_a_probe_lies_on_the_workspaces_file_system_and_makes_no_workbench(workspace: Path) -> None:
    scratch, elsewhere = workspace.parent, Path("/dev/shm" if Path("/dev/shm").is_dir() else "/proc")
    assert probe_place(workspace, scratch) == scratch
    assert elsewhere.stat().st_dev != workspace.stat().st_dev
    assert probe_place(workspace, elsewhere) == workspace
    (workspace / ".flower").mkdir()
    assert probe_place(workspace, elsewhere) == workspace / ".flower"
    assert probe_place(workspace / "gone", scratch) is None


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("mount_kind", lambda _folder: "nfs4", "ok nfs4 reports no changes: flower looks by itself"),
        ("HEARD", 0.0, "! a change was not reported within 0 seconds"),
    ],
)
def test_a_folder_that_reports_no_changes_is_told(
    name: str, value: object, words: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_folder, name, value)

    assert told(watcher_check(examined(workspace))).startswith(words)
    assert list((workspace.parent / "scratch").iterdir()) == []


def test_locks_that_do_not_hold_are_told_and_who_holds_which(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workbench = Workbench(workspace)
    workbench.freeze("work", WHOLE)
    (workbench.lives.folder / "work.json").write_text(
        json.dumps({"v": 1, "step": "work", "state": "working", "row": {"run": "r", "step": "work"}})
    )
    with workbench.run_lock("work"):
        assert "ok step work runs (" in told(locks_check(examined(workspace)))

    monkeypatch.setattr(doctor_folder, "RunLock", _Open)
    assert "! locks do not hold on" in told(locks_check(examined(workspace)))


class _Open(RunLock):
    """A lock of a file system that has none."""

    def acquire(self) -> bool:
        return True


def test_the_workbenchs_health_is_told(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ok no .flower here yet" in told(workbench_check(examined(workspace)))
    assert not (workspace / ".flower").exists()

    workbench = Workbench(workspace)
    workbench.freeze("work", WHOLE)
    workbench.freeze("docs", WHOLE)
    for name in ("a", "b", "c", "d", "e"):
        workbench.freeze("work", Handoff("work", doing=name, next="b"))
    assert [line for line in told(workbench_check(examined(workspace))).splitlines() if line[0] == "!"] == []

    archive = workbench.notes / "archive" / "交接"
    old = sorted(archive.iterdir())[0]
    old.rename(old.with_name("work-20200101T000000.000000Z.md"))
    workbench.lives.events_path.write_text("x" * 2_000)
    monkeypatch.setattr(doctor_workbench, "MANY", 1_000)
    (workbench.lives.folder / "work.json.broken-1").write_text("{")
    text = told(workbench_check(examined(workspace)))
    assert "events.jsonl: 2.0 kB -> remove it when no step runs" in text
    assert "of them were replaced over 30 days ago; to remove them: flower clean" in text
    assert "set aside (1): work.json.broken-1" in text


def test_what_a_clone_brought_is_told_and_its_server_is_not_started(workspace: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    server = {"command": sys.executable, "args": ["-c", f"open({str(ran)!r}, 'w') # flower-mcp"]}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"flower": server}}))
    (workspace / ".flower" / "notes").mkdir(parents=True)
    (workspace / ".flower" / "notes" / "交接-work.md").write_text(WHOLE.to_markdown())

    brought = told(workbench_check(examined(workspace)))
    assert "step work was not written on this machine" in brought
    assert "settings for Claude Code came with the folder" in brought
    assert "was not started, the folder is not trusted -> look at it, and to use it type: flower trust" in told(
        clients_check(examined(workspace))
    )
    assert not ran.exists()

    Workbench(workspace).known.trust(workspace)
    assert "! Claude Code (.mcp.json): " in told(clients_check(examined(workspace)))
    assert ran.exists()


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ({"command": "/nowhere/flower-mcp"}, "! Claude Code: the program /nowhere/flower-mcp is not there"),
        ({"command": "${GONE:-flower-mcp-gone}"}, "the program flower-mcp-gone is not there"),
        ({"type": "http", "url": "http://127.0.0.1:1/mcp"}, "ok Claude Code: an entry with a URL, not tried"),
        ({"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}, "as a server: it ended with exit code 3"),
        ({}, "ok Claude Code: an entry with a URL"),
        ([1], "ok Claude Code: an entry with a URL"),
    ],
)
def test_a_clients_entry_that_does_not_work_is_told(server: object, words: str, workspace: Path) -> None:
    home = workspace.parent
    value = {"projects": {str(workspace): {"mcpServers": {"flower": server, "other": {"command": "x"}}}}}
    (home / ".claude.json").write_text(json.dumps(value))

    text = told(clients_check(examined(workspace, {"HOME": str(home), "PATH": "/nowhere"})))

    assert words in text
    assert len(text.splitlines()) == 1


def test_a_server_that_never_answers_is_ended(workspace: Path) -> None:
    pid = workspace / "pid"
    program = (
        f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); print('hi', flush=True); time.sleep(99)"
    )
    began = time.monotonic()

    tools, why = tools_of([sys.executable, "-c", program], workspace, {}, limit=1.0)

    assert (tools, why) == (0, "no answer within 1 seconds")
    assert time.monotonic() - began < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        ("file", "is not a folder"),
        ("none", "none yet"),
        ("folder", "runs: 0"),
    ],
)
def test_the_run_folder_is_told(make: str, words: str, workspace: Path) -> None:
    if make == "file":
        (workspace / "runs").write_text("")
    if make == "folder":
        (workspace / "runs").mkdir()

    text = told(books_check(examined(workspace)))
    assert words in text
    assert text.startswith("!") == (make == "file")


@pytest.mark.parametrize(
    ("mine", "theirs", "words"),
    [
        ("", "", ["ok config file", "ok config file"]),
        ("windw = 3", "", ["there is no option 'windw'", "Did you mean 'window'?"]),
        ('window = "big"', "", ["cannot be used: window", "'big'"]),
        ("", "notify = 'sh'", ["sets 'notify', which a workspace may not", "Remove it there"]),
        ("", "budget = 'much'", ["cannot be used: budget"]),
    ],
)
def test_a_wrong_config_file_is_named(mine: str, theirs: str, words: list[str], workspace: Path) -> None:
    file = workspace.parent / "config.toml"
    file.write_text(mine)
    (workspace / ".flower.toml").write_text(theirs)

    text = told(config_check(examined(workspace, {"FLOWER_CONFIG": str(file)})))

    assert [each for each in words if each not in text] == []
    assert ("!" in text) == bool(mine or theirs)


def test_a_state_folder_that_cannot_be_made_is_told(workspace: Path) -> None:
    (workspace.parent / "state").write_text("")

    text = told(state_check(examined(workspace)))

    assert "is not a folder -> name another one: export FLOWER_STATE_DIR=DIR" in text


def _raise(error: Exception) -> Finding:
    raise error


def test_a_check_that_raises_or_hangs_is_a_finding_beside_the_others(workspace: Path) -> None:
    gate = threading.Event()

    def broken(_examined: Examined) -> Iterator[Finding]:
        yield Finding("first")
        raise ZeroDivisionError("oops")

    def refused(_examined: Examined) -> Iterator[Finding]:
        yield from (_raise(FilesError("No.", next="Do this.")) for _ in "1")

    def hangs(_examined: Examined) -> Iterator[Finding]:
        yield Finding("before")
        gate.wait()

    checks = (Check("one", broken), Check("two", refused), Check("three", hangs, limit=0.2))
    looking = doctor._started(examined(workspace), checks)
    texts = [told(iter(each.findings(Words()))) for each in looking]
    gate.set()

    assert "! one could not be looked at: ZeroDivisionError: oops -> please report it" in texts[0]
    assert texts[0].startswith("ok first")
    assert texts[1] == "! No. -> Do this."
    assert "! three: no answer within 0.2 seconds, given up" in texts[2]


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (b"", UNTOLD),
        (b"[broken", UNTOLD),
        (b"[1]", UNTOLD),
        (StepResult("r", "work", window=500_000, window_source="set"), UNTOLD),
        (
            StepResult("r", "work", window=500_000, window_source="reported"),
            "(guessed from the name; the CLI is asked at connect; in the last run of work it reported 500K)",
        ),
    ],
    ids=["no run", "broken", "no state", "another source", "reported"],
)  # fmt: skip
def test_the_window_that_the_cli_reported_last_is_shown_beside_the_guess(
    workspace: Path, last: bytes | StepResult, words: str
) -> None:
    bench = Workbench(workspace)
    row = last if isinstance(last, StepResult) else StepResult("r", "work")
    bench.lives.write(LiveStep("work", State.DONE, row))
    if isinstance(last, bytes):
        bench.lives.path("work").write_bytes(last)
    before = bench.lives.path("work").read_bytes()
    assert words in told(window_check(examined(workspace)))
    assert bench.lives.path("work").read_bytes() == before
