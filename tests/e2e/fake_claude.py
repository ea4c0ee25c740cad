"""A stand-in for the Claude Code CLI that starts in a fiftieth of its time, for steps with a thousand sessions.

It speaks the SDK's protocol as CLI 2.1.332 was heard to speak it (tests/e2e/test_many_handoffs.py holds the two
against each other): one Bash batch at 40,000 tokens, one over the line, the break by the PostToolBatch hook, the
handoff turn, idle. It calls no model, runs no tool, and keeps a transcript of a few lines. The file `handoffs-left` in
its folder says how many sessions still hand over; the one that finds 0 there is done after its first batch.

What it cannot show: anything that happens inside the real CLI. Standard library alone, started with `python -I -S`.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODEL = "claude-sonnet-4-5"
ASKED = "Write the handoff document now."
LEFT = "handoffs-left"
DOCUMENT = (
    "## Doing now\n\nPorting the tests.\n\n## Decided\n\nFixtures.\n\n## Dead ends\n\npytest-mock.\n\n"
    "## Next\n\nRun pytest -q; go on.\n\n## Scene\n\ntests/\n"
)


class Claude:
    """One process with one session."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.lines: Iterator[str] = iter(sys.stdin.readline, "")
        self.messages = 0
        self.hooks: dict[str, str] = {}
        folder = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects" / "fake"
        folder.mkdir(parents=True, exist_ok=True)
        self.transcript = folder / f"{session}.jsonl"

    def run(self) -> None:
        """Answer what comes, until the input ends."""
        for line in self.lines:
            given = json.loads(line)
            if given["type"] == "control_request":
                self.control(given)
            elif given["type"] == "user":
                self.turn(given)

    def control(self, given: dict[str, Any]) -> None:
        """Answer a request of the SDK's."""
        asked = given["request"]
        answer: dict[str, Any] = {}
        if asked["subtype"] == "initialize":
            self.hooks = {event: matchers[0]["hookCallbackIds"][0] for event, matchers in asked["hooks"].items()}
            account = {"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty"}
            answer = {"commands": [], "account": account}
        elif asked["subtype"] == "get_context_usage":
            answer = {"rawMaxTokens": 200_000, "model": MODEL}
        response = {"subtype": "success", "request_id": given["request_id"], "response": answer}
        self.say(type="control_response", response=response)

    def turn(self, given: dict[str, Any]) -> None:
        """One turn: write the document, or work until the hook says stop or nothing is left to do."""
        prompt, text = given["uuid"], given["message"]["content"]
        self.say(type="system", subtype="session_state_changed", state="running")
        self.say(type="system", subtype="init", model=MODEL, cwd=str(Path.cwd()), tools=["Bash"], mcp_servers=[])
        self.keep("user", prompt, {"role": "user", "content": text})
        if text.startswith(ASKED):
            Path(LEFT).write_text(str(left() - 1), encoding="utf-8")
            self.message(prompt, 156_000, {"type": "text", "text": DOCUMENT})
            self.result(prompt, "completed", DOCUMENT)
            return
        tokens = (40_000, 155_000) if left() > 0 else (30_000,)
        for each in tokens:
            if self.batch(prompt, each):
                self.result(prompt, "hook_stopped", "")
                return
        self.message(prompt, 31_000, {"type": "text", "text": "All done."})
        self.result(prompt, "completed", "All done.")

    def batch(self, prompt: str, tokens: int) -> bool:
        """A message that calls a tool, and its result; whether the hook said stop."""
        call = f"toolu_{uuid.uuid4().hex}"
        used = {"command": "echo on", "description": "a step"}
        self.message(prompt, tokens, {"type": "tool_use", "id": call, "name": "Bash", "input": used})
        self.hook("PreToolUse", {"tool_name": "Bash", "tool_input": used, "tool_use_id": call}, call)
        content = [{"tool_use_id": call, "type": "tool_result", "content": "on", "is_error": False}]
        self.say(type="user", message={"role": "user", "content": content}, parent_tool_use_id=None)
        self.keep("user", str(uuid.uuid4()), {"role": "user", "content": content})
        calls = [{"tool_name": "Bash", "tool_input": used, "tool_use_id": call, "tool_response": "on"}]
        return self.hook("PostToolBatch", {"tool_calls": calls}, f"hook-{uuid.uuid4()}").get("continue") is False

    def message(self, prompt: str, tokens: int, block: dict[str, Any]) -> None:
        """One message of the model with one block, as it streams."""
        self.messages += 1
        usage = {"input_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": tokens - 5}
        whole = {
            "id": f"msg_{self.session[:8]}_{self.messages}", "type": "message", "role": "assistant", "model": MODEL,
            "stop_reason": None, "usage": {**usage, "output_tokens": 1},
        }  # fmt: skip
        stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
        self.event(type="message_start", message={**whole, "content": []})
        self.event(type="content_block_start", index=0, content_block=block)
        self.say(
            type="assistant", message={**whole, "content": [block]}, parent_tool_use_id=None,
            user_message_uuids=[prompt],
        )  # fmt: skip
        self.keep("assistant", str(uuid.uuid4()), {**whole, "content": [block]})
        self.event(type="content_block_stop", index=0)
        self.event(type="message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 50})
        self.event(type="message_stop")

    def hook(self, event: str, given: dict[str, Any], call: str) -> dict[str, Any]:
        """Ask the SDK's hook, and wait for what it says."""
        number = str(uuid.uuid4())
        common = {"session_id": self.session, "transcript_path": str(self.transcript), "cwd": str(Path.cwd())}
        asked = {
            "subtype": "hook_callback", "callback_id": self.hooks[event], "tool_use_id": call,
            "input": {**common, "hook_event_name": event, **given},
        }  # fmt: skip
        self.say(type="control_request", request_id=number, request=asked)
        for line in self.lines:
            answer = json.loads(line)
            if answer["type"] == "control_response" and answer["response"]["request_id"] == number:
                response: dict[str, Any] = answer["response"]["response"]
                return response
            if answer["type"] == "control_request":
                self.control(answer)
        sys.exit(0)

    def result(self, prompt: str, reason: str, text: str) -> None:
        """The end of a turn."""
        self.say(
            type="result", subtype="success", is_error=False, duration_ms=1, duration_api_ms=1, num_turns=2,
            total_cost_usd=0.01 * self.messages, usage={}, result=text, terminal_reason=reason,
            user_message_uuids=[prompt],
        )  # fmt: skip
        self.say(type="system", subtype="session_state_changed", state="idle")

    def event(self, **event: Any) -> None:
        """A piece of the model's stream."""
        self.say(type="stream_event", event=event, parent_tool_use_id=None)

    def say(self, **message: Any) -> None:
        """Tell the SDK."""
        sys.stdout.write(json.dumps({**message, "session_id": self.session, "uuid": str(uuid.uuid4())}) + "\n")
        sys.stdout.flush()

    def keep(self, kind: str, line: str, message: dict[str, Any]) -> None:
        """Keep a line of the transcript."""
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"type": kind, "uuid": line, "sessionId": self.session, "message": message}) + "\n")


def left() -> int:
    """How many sessions still hand over."""
    return int(Path(LEFT).read_text(encoding="utf-8"))


def main(arguments: list[str]) -> None:
    """Be one session, or say a version: the SDK asks for it before each start."""
    if "-v" in arguments:
        sys.stdout.write("2.1.332 (Claude Code)\n")
        return
    given = (each.partition("=") for each in arguments)
    Claude(next(value for name, _, value in given if name in ("--session-id", "--resume"))).run()


if __name__ == "__main__":
    main(sys.argv[1:])
