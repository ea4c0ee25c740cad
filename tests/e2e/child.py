"""A supervisor in a process of its own, for tests that kill it: runs the step `work` and prints events as JSON lines.

python -m tests.e2e.child WORKSPACE PROMPT
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio

from flower_mcp import Event, RetryPolicy, Runtime
from flower_mcp.runtime.session import Session
from tests.e2e.steps import policy, spec


def main() -> None:
    """Run the step and print each event at once."""
    workspace, prompt = Path(sys.argv[1]), sys.argv[2]

    def show(event: Event) -> None:
        print(json.dumps({"kind": event.kind, "text": event.text, **event.payload}, default=str), flush=True)

    if os.environ.get("FLOWER_TEST_STOP_AT") == "connect":

        async def wait(_session: object) -> None:
            await anyio.sleep_forever()

        setattr(Session, "_connect", wait)  # noqa: B010

    async def run() -> None:
        async with Runtime(
            workspace=workspace,
            run_dir=workspace.parent / "runs",
            handoff=policy(edit_window=float(os.environ.get("FLOWER_TEST_EDIT_WINDOW", "0"))),
            retry=RetryPolicy(base=0.05, cap=0.2),
        ) as runtime:
            result = await runtime.run(spec(), prompt, on_event=show)
            print(json.dumps({"kind": "end", "ok": result.ok, "error": result.error}), flush=True)

    anyio.run(run)


if __name__ == "__main__":
    main()
