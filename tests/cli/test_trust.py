"""`flower trust`, `--trust`, and the question at the terminal: what came with a folder is used once a person agrees."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.demo.model import ScriptedModel, Story, text
from flower_mcp.workbench.known import Known, is_known
from tests.cli.processes import flower, flower_at_terminal
from tests.cli.steps import DOCUMENT, NEXT
from tests.e2e.harness import MODEL

pytestmark = pytest.mark.e2e

USUAL = ["--model", MODEL, "--permission-mode", "bypassPermissions"]
ESCAPES = "\x1b[2J\x1b]0;title\x07"


@pytest.fixture
def cloned(workspace: Path, state_dir: Path) -> Path:
    """A workspace with a document and settings that were not written here."""
    Workbench(workspace).freeze("work", DOCUMENT.replace(NEXT, NEXT + ESCAPES))
    shutil.rmtree(state_dir)
    hook = [{"hooks": [{"type": "command", "command": "touch hooked"}]}]
    (workspace / ".claude").mkdir()
    (workspace / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": hook}}))
    return workspace


def test_it_is_refused_without_a_task_then_shown_and_trusted_then_used(
    model: ScriptedModel, cloned: Path, environment: dict[str, str]
) -> None:
    model.script = Story([text("All ported.").at(20_000)])
    refused = flower(*USUAL, cwd=cloned, environment=environment)
    assert (refused.code, refused.out) == (2, "")
    assert "Traceback" not in refused.err
    assert "flower trust work" in refused.err

    trusted = flower("trust", cwd=cloned, environment=environment)
    assert trusted.code == 0, trusted.err
    assert NEXT in trusted.out
    assert "touch hooked" in trusted.out
    assert "\x1b" not in trusted.out
    assert is_known(cloned, "work")

    run = flower(*USUAL, cwd=cloned, environment=environment)
    assert run.code == 0, run.out + run.err
    assert NEXT in model.requests[-1].all_text()
    assert (cloned / "hooked").exists()
    again = flower("trust", cwd=cloned, environment=environment)
    assert (again.code, "nothing to trust" in again.out) == (0, True)


def test_settings_alone_can_be_trusted_and_nothing_at_all_cannot(
    workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    nothing = flower("trust", cwd=workspace, environment=environment)
    assert (nothing.code, nothing.out) == (5, "")
    (workspace / ".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "evil"}}}')
    done = flower("trust", cwd=workspace, environment=environment)
    assert done.code == 0, done.err
    assert "server theirs: `evil`" in done.out
    assert Known().workspace(workspace)
    assert not (workspace / ".flower").exists()


def test_settings_can_be_trusted_where_there_are_several_steps_and_no_step_is_then(
    workspace: Path, environment: dict[str, str], state_dir: Path
) -> None:
    for step in ("work", "my docs"):
        Workbench(workspace).freeze(step, DOCUMENT)
    shutil.rmtree(state_dir)
    several = flower("trust", cwd=workspace, environment=environment)
    assert (several.code, several.out) == (2, "")
    assert "There are 2 steps" in several.err
    (workspace / ".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "evil"}}}')
    done = flower("trust", cwd=workspace, environment=environment)
    assert done.code == 0, done.err
    assert "server theirs: `evil`" in done.out
    assert NEXT not in done.out
    assert Known().workspace(workspace)
    assert not is_known(workspace, "work")
    assert "flower trust 'my docs'" in flower("--step", "my docs", cwd=workspace, environment=environment).err


def test_at_a_terminal_it_asks_and_no_goes_on_without_them(
    model: ScriptedModel, cloned: Path, environment: dict[str, str]
) -> None:
    model.script = Story([text("Done.").at(20_000)])
    with flower_at_terminal(*USUAL, "Port it all.", cwd=cloned, environment=environment) as terminal:
        terminal.wait_for("use them?")
        assert NEXT in terminal.shown
        assert "touch hooked" in terminal.shown
        terminal.type("n\n")
        code = terminal.end()
    assert code == 0, terminal.shown
    assert NEXT not in model.requests[0].all_text()
    assert "Port it all." in model.requests[0].all_text()
    assert not (cloned / "hooked").exists()


def test_trust_on_the_run_uses_them_without_a_question(
    model: ScriptedModel, cloned: Path, environment: dict[str, str]
) -> None:
    model.script = Story([text("Done.").at(20_000)])
    with flower_at_terminal(*USUAL, "--trust", cwd=cloned, environment=environment) as terminal:
        code = terminal.end()
    assert code == 0, terminal.shown
    assert "use them?" not in terminal.shown
    assert NEXT in model.requests[0].all_text()
    assert (cloned / "hooked").exists()


def test_flower_edit_keeps_a_moved_document_known(workspace: Path, environment: dict[str, str], tmp_path: Path) -> None:
    Workbench(workspace).freeze("work", DOCUMENT)
    moved = workspace.rename(tmp_path / "moved")
    done = flower(
        "edit", cwd=moved, environment={**environment, "EDITOR": "sed -i s/test_resume/test_batch/", "TERM": "dumb"}
    )
    assert done.code == 0, done.out + done.err
    document = Workbench(moved).read("work")
    assert document is not None
    assert "test_batch next" in document.text
    assert Workbench(moved).comes_from_here(document)


def test_a_run_folder_that_leads_out_of_the_workspace_is_refused_in_a_sentence(
    workspace: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (workspace / "runs").symlink_to(victim)
    done = flower(*USUAL, "Port it all.", cwd=workspace, environment=environment)
    assert done.code == 2
    assert "leads out of the workspace" in done.err
    assert done.err.count("\n") == 1
    assert list(victim.iterdir()) == []
