"""A CLI that misbehaves, for tests of what the supervisor does then. It speaks as much of the protocol as is needed.

FAKE_CLI names how its first start goes wrong, FAKE_STARTS the file to which each start appends its pid (and each
interrupt a word, to one beside it); every later start does its task at once. `mute`: it never answers initialize.
`noise`: it takes the prompt, says what is no text, and lives.
`silent`: it takes the prompt and nothing more. `closed`: it closes its output and lives. These three ignore SIGTERM.
`late`: an interrupted turn ends a second later. `busy`: a tool runs for a second, in silence. `ended`: after its result
it never says that it is idle. `full`: its context grows over the line, an interrupt ends its turn, what it is asked
then is answered with a document; and every later start is `mute`. `dies`: with a full context it
ends without a word.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

LATE = 1.0  # seconds
DOCUMENT = "## Doing now\n\nIt is done.\n\n## Next\n\nNothing.\n"


def say(**message: Any) -> None:
    """One line to the SDK."""
    print(json.dumps({"session_id": "s", "uuid": "u", **message}), flush=True)  # noqa: T201


def answer(*content: dict[str, Any], context: int = 20_000) -> None:
    """A message of the model."""
    usage = {"input_tokens": context, "output_tokens": 10}
    message = {"id": f"msg_{time.monotonic_ns()}", "role": "assistant", "model": "claude", "usage": usage}
    say(type="assistant", message={**message, "content": list(content)})


def result(prompt: str, **changes: Any) -> None:
    """A turn's result."""
    usual = {"subtype": "success", "is_error": False, "terminal_reason": "completed", "stop_reason": "end_turn"}
    times = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "total_cost_usd": 0.01}
    say(type="result", result="Done.", user_message_uuids=[prompt], **{**usual, **times, **changes})


def work(prompt: str, how: str) -> None:
    """Take a prompt."""
    say(type="system", subtype="session_state_changed", state="running")
    if how == "silent":
        return
    if how == "noise":
        os.write(1, b"\xff\xfe\n")
        return
    if how == "closed":
        os.close(1)
        return
    if how == "late":
        return
    if how == "full":
        for context in (20_000, 190_000, 190_001, 190_002):
            answer({"type": "text", "text": "On."}, context=context)
        return
    if how == "dies":
        for context in (20_000, 940_000):
            answer({"type": "text", "text": "On."}, context=context)
        os._exit(1)
    if how == "busy":
        answer({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}})
        time.sleep(LATE)
        content = [{"type": "tool_result", "tool_use_id": "t1", "content": "made"}]
        say(type="user", message={"role": "user", "content": content})
    answer({"type": "text", "text": DOCUMENT})
    result(prompt)
    if how != "ended":
        say(type="system", subtype="session_state_changed", state="idle")


def main() -> None:
    """Answer the SDK's lines until there are no more, or for ever."""
    starts = Path(os.environ["FAKE_STARTS"])
    with starts.open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    later = "mute" if os.environ["FAKE_CLI"] == "full" else ""
    how = os.environ["FAKE_CLI"] if len(starts.read_text().split()) == 1 else later
    if how in ("mute", "silent", "closed"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    prompt = ""
    for line in sys.stdin:
        given = json.loads(line)
        request = given.get("request") or {}
        if given.get("type") == "user":
            prompt = given["uuid"]
            work(prompt, how)
        elif given.get("type") == "control_request" and how != "mute":
            if request["subtype"] == "interrupt":
                starts.with_suffix(".interrupts").write_text("interrupted", encoding="utf-8")
            if request["subtype"] == "interrupt" and how in ("silent", "closed", "ended"):
                continue
            response = {"subtype": "success", "request_id": given["request_id"], "response": {}}
            say(type="control_response", response=response)
            if request["subtype"] == "interrupt":
                time.sleep(LATE)
                result(prompt, subtype="error_during_execution", is_error=True, terminal_reason="aborted_streaming")
                say(type="system", subtype="session_state_changed", state="idle")
                how = ""
    while how in ("mute", "silent", "closed", "noise"):
        time.sleep(60)


if __name__ == "__main__":
    main()
