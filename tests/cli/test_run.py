"""Whole runs of `flower` as processes: the real CLI, the scripted model, pipes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from flower_mcp.demo.model import ScriptedModel, Story, text
from tests.cli.processes import FLOWER, flower
from tests.e2e.harness import MODEL, marked, wait_until
from tests.e2e.steps import DOCUMENT, bash, is_asked

pytestmark = pytest.mark.e2e

TASK = "Port the test suite to pytest."
USUAL = ["--model", MODEL, "--permission-mode", "bypassPermissions", "--edit-window", "0"]


def handing_off() -> Story:
    """Two sessions: the first one writes its document at 155,000 tokens, the second one finishes."""
    return Story(
        [
            bash("echo one").at(40_000),
            bash("echo two").at(140_000),
            bash("echo three").at(155_000),
            text("All done.").at(42_000),
        ],
        branches=[(is_asked, text(DOCUMENT).at(156_000))],
    )


def test_a_whole_run_is_told_on_stdout_and_without_a_terminal_nothing_is_read(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = handing_off()

    done = flower(*USUAL[:-1], "1", TASK, cwd=workspace, environment=environment, given="qqqq\nhhhh\n")

    assert done.code == 0, done
    assert done.err == ""
    lines = done.out.splitlines()
    document = workspace / ".flower" / "notes" / "交接-work.md"
    assert lines[:4] == [
        "step work: new",
        f"model {MODEL}, window 200K (reported by the CLI), hands off at 150.0K",
        "permission mode bypassPermissions: nothing is asked, everything runs",
        f"budget none; document {document}; stop: Ctrl-C, go on: flower",
    ]
    assert "# context 140.0K/200K · about 10K to the handoff" in lines
    assert "# context 155.0K/200K —— writing the handoff" in lines
    assert "  - doing      Porting tests/test_export.py, 3 of 7 done." in lines
    assert re.search(r"^<- handoff written to .*交接-work\.md · \$\d+\.\d+ so far$", done.out, re.MULTILINE)
    assert "<- a new session takes over, the context starts again from 155.0K" in lines
    assert done.out.count("All done.") == 1
    assert re.search(r"^done in \d+s: 2 sessions, \d+ turns, \$", done.out, re.MULTILINE)
    assert f"  document  {document}" in lines
    assert lines[-2:] == [f"  books     {workspace / 'runs' / 'manifest.json'}", "  more      flower TASK"]
    assert document.exists()
    assert "<- edit it now if you like, 1 s" in lines  # and no key is named
    assert "h holds" not in done.out
    assert "\r" not in done.out
    assert "\x07" not in done.out


def test_with_json_every_line_is_an_object_and_the_last_is_the_row(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = handing_off()

    chinese = {"FLOWER_LANG": "zh", "PYTHONUTF8": "1"}  # for the person; the lines for programs stay as they are
    done = flower("--json", *USUAL, TASK, cwd=workspace, environment={**environment, **chinese})

    assert done.code == 0, done
    *events, last = done.lines
    (row,) = json.loads((workspace / "runs" / "manifest.json").read_text())
    assert last == {"kind": "result", **row}
    assert {event["run"] for event in events} == {row["run"]}
    assert all(event["v"] == 1 and event["step"] == "work" and event["at"] and event["kind"] for event in events)
    first = next(event for event in events if event["kind"] == "session")
    assert (first["phase"], first["generation"], first["window"]) == ("started", 1, 200_000)
    phases = [event["phase"] for event in events if event["kind"] == "handoff"]
    assert phases == ["near", "writing", "done"]
    assert [event["generation"] for event in events if event["kind"] == "text"] == [2]
    assert "步骤 work:新开始" in done.err
    journal = (workspace / ".flower" / "live" / "events.jsonl").read_text().splitlines()
    assert len(journal) == len(events)


def test_a_chinese_locale_gets_the_seeds_lines(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = handing_off()

    done = flower(*USUAL, TASK, cwd=workspace, environment={**environment, "PYTHONUTF8": "1", "LANG": "zh_CN.UTF-8"})

    assert done.code == 0, done
    assert "# 上下文 155.0K/200K —— 写交接准备换代" in done.out
    assert "<- 新会话接手,上下文从 155.0K 重新开始" in done.out


def test_the_task_comes_from_stdin_word_for_word_and_verbose_shows_the_token_masked(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    task, secret = "Port it,\n\n  keep the 缩进.", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"

    done = flower(
        *("-v", *USUAL, "--at", "120000", "-"),
        cwd=workspace,
        environment={**environment, "ANTHROPIC_API_KEY": secret},
        given=task,
    )

    assert done.code == 0, done
    assert any(task in request.last_text() for request in model.requests)
    assert "window 200K (reported by the CLI), hands off at 120.0K" in done.out
    assert f"endpoint  {model.url}" in done.out
    assert "token     sk-a**** (ANTHROPIC_API_KEY)" in done.out
    assert secret[:6] not in done.out


def test_options_come_from_variables_and_what_the_terminal_cannot_show_does_not_reach_it(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = text("\x1b[31mred\x1b[0m\x07 交接 done.")
    variables = {"FLOWER_WINDOW": "300K", "FLOWER_AT": "120000", "FLOWER_STEP": "docs", "FLOWER_MODEL": MODEL}

    done = flower(TASK, cwd=workspace, environment={**environment, **variables, "PYTHONIOENCODING": "ascii"})

    assert done.code == 0, done
    assert done.out.startswith("step docs: new\n")
    assert f"model {MODEL}, window 300K (set), hands off at 120.0K" in done.out
    assert "red ?? done." in done.out
    assert "\x1b" not in done.out
    assert "\x07" not in done.out


def test_what_nobody_allows_is_refused_and_listed_at_the_end(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = Story([bash("touch made"), text("I could not.")])

    done = flower("--model", MODEL, TASK, cwd=workspace, environment=environment)

    assert done.code == 0, done
    assert "nobody is here to ask" in done.out.splitlines()[2]
    assert "! Bash: touch made: refused, nobody is here to allow it" in done.out
    assert "  refused   Bash: touch made" in done.out
    assert "to allow it: --permission-mode acceptEdits" in done.out
    assert not (workspace / "made").exists()


def test_a_step_goes_on_without_a_task_only_when_it_is_not_finished(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = Story([bash("echo one"), bash("echo two"), text("Now it is done.")])
    stopped = flower(*USUAL, "--max-turns", "1", TASK, cwd=workspace, environment=environment)

    resumed = flower(*USUAL, cwd=workspace, environment=environment)
    finished = flower(*USUAL, cwd=workspace, environment=environment)

    assert stopped.code == 1
    assert "stopped after" in stopped.out
    assert "go on     flower" in stopped.out
    assert resumed.code == 0, resumed
    assert resumed.out.startswith("step work: resumed, session 1")
    assert finished.code == 2
    assert "no task" in finished.err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_one_signal_lets_the_batch_end_and_keeps_the_books(
    number: signal.Signals, code: int, model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = Story([bash("touch begun; sleep 1; touch ended"), text("Not reached.")])
    with subprocess.Popen(
        [*FLOWER, *USUAL, TASK],
        cwd=workspace,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until((workspace / "begun").exists, 60)

        process.send_signal(number)
        out, err = process.communicate(timeout=60)

    assert process.returncode == code, (out, err)
    assert (workspace / "ended").exists()
    assert "once more stops now" in out
    assert "Stopped as asked" in out
    assert "Traceback" not in err
    (row,) = json.loads((workspace / "runs" / "manifest.json").read_text())
    assert (row["state"], row["ok"]) == ("stopped", False)
    assert marked(f"FLOWER_RUN={row['run']}") == []


def test_a_step_that_runs_is_busy_and_the_second_signal_ends_it_now(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = Story([bash("touch begun; for i in $(seq 600); do sleep 0.1; done"), text("Not reached.")])
    with subprocess.Popen(
        [*FLOWER, *USUAL, TASK],
        cwd=workspace,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until((workspace / "begun").exists, 60)
        second = flower(*USUAL, TASK, cwd=workspace, environment=environment)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        while "once more" not in process.stdout.readline():
            pass

        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)

    assert second.code == 3
    assert str(process.pid) in second.err
    assert len(second.err.splitlines()) == 1
    assert process.returncode == 130, (out, err)
    assert "stopping now" in out
    assert "Traceback" not in err
    (row,) = json.loads((workspace / "runs" / "manifest.json").read_text())
    assert row["state"] == "stopped"
    assert row["error"] == "Ended at once, as asked. Run flower again to go on from here."
    assert marked(f"FLOWER_RUN={row['run']}") == []


def test_neither_a_reader_that_goes_nor_a_signal_that_is_ignored_from_outside_ends_the_run(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    model.script = Story([bash("touch begun; sleep 1"), text("Done.")])
    command = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *FLOWER, *USUAL, TASK]
    with subprocess.Popen(
        command, cwd=workspace, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until((workspace / "begun").exists, 60)
        process.send_signal(signal.SIGHUP)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
        code = process.wait(timeout=60)

    assert code == 0, err
    assert err == ""
    assert json.loads((workspace / "runs" / "manifest.json").read_text())[0]["ok"] is True
