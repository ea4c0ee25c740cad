"""The plugin in Claude Code's own interface: work, the notice, write_handoff, /clear, and the new session goes on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.core.takeover import prompt_block
from flower_mcp.core.waiting import ROOM
from flower_mcp.demo.model import Request, ScriptedModel, Story, text, tool
from tests.e2e.harness import claude_cli
from tests.e2e.steps import bash
from tests.e2e.tui import LIMIT, PLUGIN, TOOLS, TOP, Screen, answered, claude_code, with_programs

pytestmark = pytest.mark.e2e

STATUS_LINE = {"statusLine": {"type": "command", "command": "flower hook status-line"}}
DUE = "so a handoff is due"
GIVEN = "SessionStart hook additional context: flower gives this session the handoff document"
WRITTEN = {"doing": "Porting, 3 of 7 done.", "next": "Port test_resume.", "deadends": "pytest-mock breaks the spies."}
EMPTY = " 0.0K/200K"  # the status line of a session that nobody has said anything to


def clear_and_say(screen: Screen, model: ScriptedModel, words: str) -> Request:
    """Begin a new session; its first request."""
    screen.type("/clear")
    screen.wait_for(EMPTY)
    screen.type(words)
    return model.wait_for(lambda request: words in request.last_text(), LIMIT)


@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_session_is_told_that_a_handoff_is_due_writes_it_and_the_next_one_has_it_after_clear(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    workbench = Workbench(workspace)
    model.script = Story(
        [
            text("Hello.").at(21_000),
            bash("echo one").at(149_000),
            bash("echo two").at(155_000),
            bash("echo three").at(156_000),
            tool("ToolSearch", query=f"select:{TOOLS}write_handoff", max_results=3).at(157_000),
            tool(f"{TOOLS}write_handoff", **WRITTEN).at(158_000),
            text("It is written, now /clear").at(159_000),
        ],
        then=text("<summary>Ok.</summary>").at(31_000),
    )

    with claude_code(workspace, environment, tmp_path, STATUS_LINE) as screen:
        screen.type("Say hello.")
        screen.wait_for("21.0K/200K")  # from here on the window is known
        assert not (workspace / ".flower").exists()
        screen.type("Port the tests.")
        screen.wait_for("● It is written, now /clear")
        screen.wait_for("a handoff document waits")
        at_work = list(model.requests)
        document = workbench.read("work")
        assert document is not None
        assert workbench.taken.read("work") == ""

        taking_over = clear_and_say(screen, model, "Go on, please.")
        screen.wait_for("31.0K/200K")
        assert workbench.taken.read("work") == document.revision
        again = clear_and_say(screen, model, "And now?")
        screen.wait_for("31.0K/200K")

        before = len(model.requests)
        long = "## 现在在做 · Doing now\nA long one.\n\n## 下一步 · Next\nStep " + "x" * 7_900 + "\n"
        workbench.freeze("work", long)
        screen.type("/compact")
        compacting = model.wait_for(lambda request: "Additional Instructions:" in request.last_text(), LIMIT)
        screen.wait_for("Compacted")
        whole = clear_and_say(screen, model, "The long one.")
        screen.wait_for("31.0K/200K")
        screen.type("/flower:handoff the spies above all")
        asked = model.wait_for(lambda request: "the spies above all" in request.last_text(), LIMIT)

    batches = [request.last_text() for request in at_work if request.last_text().startswith(("one", "two", "three"))]
    said = [DUE in batch for batch in batches]
    assert said in ([False, True, False], [False, False, True])  # a transcript may lag a message behind its hooks
    assert "holds 155.0K of its 200K tokens" in batches[1]
    (given,) = [words for words in taking_over.last_texts() if GIVEN in words]
    assert prompt_block(document.text, path=str(document.path)) in given
    assert len({request.session for request in (at_work[0], taking_over, again, whole)}) == 4
    assert "pytest-mock" not in again.all_text()
    assert str(document.path) in compacting.last_text()
    assert not [each for each in model.requests[before:] if each.session != whole.session and GIVEN in each.all_text()]
    (given,) = [words for words in whole.last_texts() if GIVEN in words]
    assert prompt_block(long, path=str(document.path)) in given
    assert "Write the handoff document of this session now" in asked.last_text()
    assert "now /clear" in asked.last_text()
    assert 0.95 * ROOM < len(given) < ROOM  # what is given arrives whole, up to the limit


def test_a_session_that_nobody_sits_at_takes_no_document(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    workbench = Workbench(workspace)
    workbench.freeze("work", "## 现在在做 · Doing now\nA\n\n## 下一步 · Next\nB\n")
    answered(environment, workspace, {})
    command = [str(claude_cli()), "-p", "/flower:takeover docs", "--plugin-dir", str(PLUGIN)]
    environ = {**environment, **with_programs(tmp_path / "bin")}
    subprocess.run(command, cwd=workspace, env=environ, capture_output=True, timeout=LIMIT, check=True)
    assert "Go on from a handoff document." in model.requests[0].last_text()
    assert 'if one was named: "docs"' in model.requests[0].last_text()
    assert "handoff document of the step" not in model.requests[0].all_text()
    assert workbench.taken.read("work") == ""


def test_the_plugin_is_what_the_cli_takes_for_one_and_is_installed_as_its_page_says(
    environment: dict[str, str],
) -> None:
    def claude(*arguments: str) -> str:
        command = [str(claude_cli()), "plugin", *arguments]
        done = subprocess.run(
            command, cwd=TOP, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    provided = claude("validate", "--strict", str(PLUGIN))
    for part in ("session-start", "post-tool-batch", "pre-compact", "flower:handoff", "flower:takeover", "flower-mcp"):
        assert part in provided
    page = (PLUGIN / "README.md").read_text(encoding="utf-8")
    steps = ("marketplace add flower-mcp/flower-mcp", "install flower@flower-mcp", "uninstall flower@flower-mcp")
    for step in steps:
        assert f"claude plugin {step}" in page
        claude(*step.replace("flower-mcp/flower-mcp", "./").split())
        assert ("flower@flower-mcp" in claude("list")) == step.startswith("install")
