"""No secret that a model, a tool, an error or the environment held lies on disk after a run, or is told to anybody.

One run takes each of them through its real path; then every file that it left is read. What a person typed stays.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp import Client

from flower_mcp import Workbench
from flower_mcp.core.masking import MARK
from flower_mcp.demo.model import ScriptedModel, Story, each_session, failure, text
from flower_mcp.server.app import build
from tests.core.test_masking import HASH, IN_PLACE, SECRETS, private_key
from tests.e2e.harness import command, marked
from tests.e2e.steps import DOCUMENT, Run, bash, document_path, is_asked, policy, run_step

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

TYPED = "Q7typedHere9"  # by the person, who may
INNOCENT = f"commit {HASH}, run 123e4567-e89b-12d3-a456-426614174000, the word token"
PLACED = {name: IN_PLACE[name] for name in ("bearer header", "basic header", "url", "password, json")}


def all_kinds() -> str:
    """One secret of each kind, a line each."""
    placed = [before + secret + after for before, secret, after in PLACED.values()]
    return "\n".join([*SECRETS.values(), *placed, private_key()])


def values() -> list[str]:
    """What must be found nowhere: the secrets alone. One of a single letter is looked for with its place."""
    placed = [secret if len(secret) > 4 else before + secret for before, secret, _ in PLACED.values()]
    return [*SECRETS.values(), *placed, private_key().splitlines()[1], "passw0rdOfTheGateway"]


def leaks(told: str) -> list[str]:
    """The secrets in a text, as it is and as JSON escapes it."""
    return [secret for secret in values() if secret in told or json.dumps(secret)[1:-1] in told]


def files(*folders: Path) -> dict[Path, str]:
    """All files below, as text."""
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path: path.read_bytes().decode("utf-8", "replace") for path in found}


async def told_by_mcp(workspace: Path) -> str:
    """All that the tools say about the step."""
    async with Client(build(Workbench(workspace), watch=False)) as client:
        answers = [await client.call_tool(name, {"step": "work"}) for name in ("handoff_status", "read_handoff")]
    return "\n".join(answer.model_dump_json() for answer in answers)


async def test_no_secret_of_any_kind_is_left_on_disk_or_told(
    model: ScriptedModel, workspace: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = model.url.replace("://", "://user:passw0rdOfTheGateway@")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
    bearer, key = PLACED["bearer header"], SECRETS["anthropic"]
    commands: list[str] = []
    model.script = each_session(
        Story(
            [
                text(f"Found:\n{all_kinds()}").but(stop_reason="max_tokens").at(30_000),
                bash(f"echo 'curl -H \"{''.join(bearer)}\"' '{key}'").at(40_000),
                failure(500, "api_error", f"upstream refused {all_kinds()} of {address}"),
                failure(500, "api_error", f"upstream refused {all_kinds()} of {address}"),
                failure(500, "api_error", f"upstream refused {all_kinds()} of {address}"),
                bash(f"echo '{key}' > /proc/$CLAUDE_PID/fd/2; kill -9 $CLAUDE_PID").at(50_000),
                bash("echo b").at(155_000),
            ],
            branches=[(is_asked, text(f"{DOCUMENT}\n{all_kinds()}\n{INNOCENT}\n").at(156_000))],
        ),
        Story([text(f"All ported. {all_kinds()}").at(20_000)]),
    )
    run: Run = await run_step(
        workspace,
        f"Port it. The password: {TYPED}",
        handoff=policy(),
        during=lambda _runtime, _event: commands.extend(map(command, marked("FLOWER_RUN="))),
    )
    assert run.result.ok, run.result.error
    assert len(run.result.generations) == 2
    assert len(run.of("retry")) >= 2  # the refusals, and the killed CLI

    left = files(workspace / ".flower", workspace.parent / "runs", state_dir)
    assert {str(path): leaks(content) for path, content in left.items() if leaks(content)} == {}
    assert [path.name for path, content in left.items() if TYPED in content] == ["任务-work.md"]
    assert leaks(json.dumps([[each.text, each.payload] for each in run.events], default=str, ensure_ascii=False)) == []
    assert leaks(repr(run.result)) == []
    assert leaks(await told_by_mcp(workspace)) == []
    assert commands
    assert "passw0rdOfTheGateway" not in "\n".join(commands)
    frozen = document_path(workspace).read_text()
    assert INNOCENT in frozen
    assert frozen.count(MARK) >= len(SECRETS)
    assert TYPED in model.requests[0].all_text()
    assert document_path(workspace).stat().st_mode & 0o077 == 0
