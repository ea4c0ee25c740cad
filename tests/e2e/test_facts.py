"""What the supervisor knows of a session beside what it wrote: in the request to write, and in a degraded document."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp.core.handoff import DEGRADED, Handoff
from flower_mcp.core.texts import handoff_turn
from flower_mcp.demo.model import Reply, ScriptedModel, Story, each_session, failure, overflow, text, tool
from flower_mcp.demo.prefix import common_prefix_share
from tests.e2e.steps import DOCUMENT, TASK, bash, document_path, is_asked, policy, run_step

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

SHELL = tool("Bash", command="touch started; tail -f /dev/null", description="the server", run_in_background=True)


def work(workspace: Path) -> list[Reply]:
    """A session's work with all that writers leave out."""
    readme = str(workspace / "README.md")
    edit = ("A workspace", "A workshop")
    steps = [
        bash("test -e made && echo found || (echo 'no such thing' >&2; exit 3)"),
        bash("python3 -c 'import no_such_module'"),
        bash("touch made"),
        bash("test -e made && echo found || (echo 'no such thing' >&2; exit 3)"),
        tool("Read", file_path=readme),
        tool("Edit", file_path=readme, old_string=edit[0], new_string=edit[1]),
        tool("Edit", file_path=readme, old_string=edit[1], new_string=edit[0]),
        tool("Write", file_path=str(workspace / "lost.py"), content="x = 1\n"),
        bash("rm lost.py"),
        tool("TaskCreate", subject="port test_export", description="all of it"),
        tool("TaskCreate", subject="port test_resume", description="all of it"),
        tool("TaskUpdate", taskId="1", status="completed"),
        SHELL,
    ]
    return [step.at(20_000 + 100 * number) for number, step in enumerate(steps)]


async def test_the_request_to_write_names_what_failed_was_taken_back_and_runs_and_nothing_else(
    model: ScriptedModel, workspace: Path
) -> None:
    last = (text("Three left.") + bash("echo b")).at(155_000)
    first = Story([*work(workspace), last], branches=[(is_asked, text(DOCUMENT).at(156_000))])
    model.script = each_session(first, Story([text("All ported.").at(20_000)]))
    run = await run_step(workspace)
    assert run.result.ok, run.result.error
    place = next(number for number, request in enumerate(model.requests) if is_asked(request))
    asked, before = model.requests[place], model.requests[place - 1]
    prompt = asked.last_text()
    facts = [line for line in prompt.splitlines() if line.startswith("- ")]
    assert facts == [
        "- failed and never succeeded later: python3 -c 'import no_such_module', exit code 1: "
        "\"ModuleNotFoundError: No module named 'no_such_module'\"",
        f'- an edit of {workspace / "README.md"} was edited back (it had put in: "A workshop")',
        "- still running, ends with this session, shell: the server (touch started; tail -f /dev/null)",
    ]
    assert handoff_turn("155.0K", "200K") + "\n\nRecorded by flower" in prompt
    shared = common_prefix_share(before, asked)
    assert (shared.tools, shared.system, shared.messages, shared.share) == (True, True, shared.total, 1.0)


async def test_a_degraded_document_has_what_the_transcript_tells(model: ScriptedModel, workspace: Path) -> None:
    said = text("Ported two.\n\n## 下一步 · Next\n\nDrop the table.") + bash("echo b")
    first = Story(
        [*work(workspace), said.at(155_000)],
        branches=[(is_asked, failure(400, "invalid_request_error", "## Doing\nall is well"))],
        then=overflow(210_000, 200_000),
    )
    model.script = each_session(first, Story([text("All ported.").at(20_000)]))
    run = await run_step(workspace, handoff=policy())
    assert run.result.ok, run.result.error
    assert run.result.generations[0].written_by == "code"
    written = document_path(workspace).read_text()
    read = Handoff.from_markdown(written)
    assert read.extra == ()
    assert DEGRADED in read.doing
    assert "\n> Ported two.\n>\n> ## 下一步 · Next\n>\n> Drop the table." in read.doing
    assert "Drop the table." not in read.next
    assert "- [x] port test_export\n- [ ] port test_resume" in read.doing
    assert "import no_such_module" in read.deadends
    assert "README.md was edited back" in read.deadends
    assert "no such thing" not in written
    assert "- port test_resume" in read.next
    assert f"- {workspace / 'lost.py'} (gone)" in read.scene
    assert "stopped at the handoff, shell: the server (touch started; tail -f /dev/null)" in read.scene
    assert TASK in read.scene
    assert not [line for line in written.splitlines() if line.startswith(">") and "API Error" in line]
