"""`flower demo`: the real supervisor and the real CLI, with a scripted model, in a folder of their own.

Puts demo/ and runtime/ together, which do not know each other. What can hurt: the person's own key, login or settings
must not steer it, so the demo's environment is laid over this process's before anything is started.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flower_mcp.cli.options import refuse_windows
from flower_mcp.cli.output import Output
from flower_mcp.cli.run import (
    Job,
    Outcome,
    document_path,
    is_terminal,
    load_runtime,
    own_server,
    read_keys,
    run_job,
)
from flower_mcp.cli.words import Words, language
from flower_mcp.core.commands import command_line
from flower_mcp.core.events import Event, Kind, Phase
from flower_mcp.core.policy import AgentSpec, HandoffPolicy

if TYPE_CHECKING:
    from flower_mcp.cli.keys import Keys
    from flower_mcp.cli.listening import Taker
    from flower_mcp.demo.person import Person
    from flower_mcp.demo.story import DemoWorld
    from flower_mcp.runtime.runtime import Runtime


def demo_command(keep: str | None, *, as_json: bool) -> int:
    """Run the demo; the exit code. `keep`: the folder to work in. Raises FlowerError when it cannot be started."""
    refuse_windows()
    runtime_class = load_runtime()
    output, words = Output(as_json=as_json), Words(language(os.environ))
    folder = Path(keep) if keep else Path(tempfile.mkdtemp(prefix="flower-demo-"))
    stays = bool(keep)
    try:
        code, came_true = _demo(folder, runtime_class, output, words)
        stays = stays or as_json or not (came_true or code >= 128)  # what went wrong can be looked at
    finally:
        if not stays:
            shutil.rmtree(folder, ignore_errors=True)
    output.line(words("kept", folder=folder.resolve()) if stays else words("removed"))
    return code


def _demo(folder: Path, runtime_class: type[Runtime], output: Output, words: Words) -> tuple[int, bool]:
    """Tell the story; the exit code, and whether the disk says that it came true."""
    from flower_mcp.demo.model import ScriptedModel
    from flower_mcp.demo.story import FIRST_LINE, Person, prepare, script, verify

    output.line(FIRST_LINE)
    with ScriptedModel("").in_thread() as model:
        world = prepare(folder, model.url)
        person = Person()
        model.script = script(world.workspace, person=person)
        os.environ.update(world.environment)
        keys = read_keys() if is_terminal(as_json=output.as_json) else None
        job = _job(world, runtime_class, keys, partial(_tell, person, output, words))
        outcome = run_job(job, output, words)
    problems = verify(world)
    output.lines([f"! {problem}" for problem in problems])
    code = outcome.exit_code or (1 if problems else 0)
    output.json(_result(job, outcome, ok=code == 0))
    return code, code == 0


def _job(world: DemoWorld, runtime_class: type[Runtime], keys: Keys | None, taker: Taker) -> Job:
    policy = HandoffPolicy(window=world.window, edit_window=world.edit_window)
    spec = AgentSpec(
        name=world.step, model=world.model, permission_mode="bypassPermissions", env=dict(world.environment)
    )
    runtime = runtime_class(
        workspace=world.workspace,
        run_dir=world.run_dir,
        handoff=policy,
        mcp_server=own_server(str(world.workspace), world.step),
    )
    folder = str(world.workspace)
    hold, release = (command_line(name, world.step, workspace=folder) for name in ("hold", "release"))
    return Job(
        runtime, spec, world.task, policy, go_on="flower demo", keys=keys, release=release, also=(taker,), hold=hold
    )


def _tell(person: Person, output: Output, words: Words, event: Event, _line: Mapping[str, Any]) -> None:
    """Tell the scripted person that a document waits."""
    path = event.payload.get("path")
    if event.kind == Kind.EDIT and event.payload.get("phase") == Phase.OPEN and path and person.edit(Path(path)):
        output.line(words("person edits"))


def _result(job: Job, outcome: Outcome, *, ok: bool) -> dict[str, Any]:
    """The last line of `--json`."""
    row = outcome.row
    return {
        "kind": "result",
        "ok": ok,
        "step": job.spec.name,
        "generations": len(row.generations) if row else 0,
        "document": str(document_path(job)),
        "retired": list(row.retired) if row else [],
        "manifest": str(job.runtime.run_dir / "manifest.json"),
        "workspace": str(job.runtime.workspace),
    }
