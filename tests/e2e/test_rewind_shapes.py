"""Every shape in which a full context, or a history that the API refuses, reaches the supervisor: rewound, not lost.

One run for many of them, each session with another shape: a run of its own costs one more start of the CLI.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flower_mcp.demo.model import Reply, Request, ScriptedModel, Sender, Story, failure, overflow, text, tool
from flower_mcp.demo.script import Answer, Source
from tests.e2e.steps import TAKING_OVER, bash, document, document_path, is_asked, policy, run_step

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

INVALID = "invalid_request_error"
QUOTED = "prompt is too long: 219898 tokens > 200000 maximum"
MAXIMUM = "This model's maximum context length is 131072 tokens. However, your messages resulted in 204308 tokens."

ERROR_EVENT = {"type": "error", "error": {"type": INVALID, "message": QUOTED}}


def broken_stream(request: Request) -> Reply:
    """An error in the middle of a stream; asked again without one, the API says it with a status."""
    events = [f"event: error\ndata: {json.dumps(ERROR_EVENT)}\n\n"]
    return Reply(raw_events=events) if request.stream else overflow(219_898, 200_000)


# What the API answers, what the books then say, and how many requests the CLI makes of it at most.
SHAPES: dict[str, tuple[Source, str, int]] = {
    "the API's own": (overflow(210_000, 200_000), "210000 tokens > 200000 maximum", 1),
    "with max_tokens": (
        failure(400, INVALID, "input length and `max_tokens` exceed context limit: 188059 + 32000 > 200000"),
        "188059 + 32000 > 200000", 2,
    ),
    "a body too large": (failure(413, "request_too_large", "Request exceeds the maximum size"), "too large", 1),
    "a proxy's page": (
        Reply(status=413, body="<html><h1>413 Request Entity Too Large</h1></html>", content_type="text/html"),
        "too large", 1,
    ),
    "OpenAI": (
        Reply(status=400, json={"error": {"message": MAXIMUM, "type": INVALID, "code": "context_length_exceeded"}}),
        "131072 tokens", 1,
    ),
    "Bedrock": (failure(400, INVALID, "Input is too long for requested model."), "too long for requested model", 1),
    "LiteLLM": (
        failure(400, INVALID, f"litellm.ContextWindowExceededError: AnthropicException - {QUOTED}"), "219898 tokens", 1,
    ),
    "400 in other words": (failure(400, INVALID, "context length exceeded"), "context length exceeded", 6),
    "500": (failure(500, "api_error", "context length exceeded"), "context length exceeded", 3),
    "cut by the window": (
        text("half of it").but(stop_reason="model_context_window_exceeded").at(145_000), "reached the window", 4,
    ),
    "a call cut by the window": (
        bash("echo cut").but(stop_reason="model_context_window_exceeded").at(145_000), "reached the window", 4,
    ),
    "words nobody knows, nearly full": (
        failure(400, INVALID, "some brand new words 0x17"), "some brand new words 0x17", 6,
    ),
    "not a word at the limit": (Reply(output=0).at(149_900), "empty", 3),
    "an error in the stream": (broken_stream, "219898 tokens > 200000 maximum", 2),
    "a poisoned history": (
        failure(400, INVALID, "messages.5: `tool_use` ids were found without `tool_result` blocks immediately after"),
        "tool use concurrency issues", 6,
    ),
    "an image": (
        failure(400, INVALID, "messages.5.content.0.image.source.base64: image exceeds 5 MB maximum: 8956768 bytes"),
        "Image was too large", 1,
    ),
}  # fmt: skip
SYNTHETIC = ("Prompt is too long", "API Error", "Request too large", "Image was too large")


class Sessions:
    """Two requests well, the second quoting an error, then the shape; each fork writes a document of its own."""

    def __init__(self, shapes: list[Source]) -> None:
        self.order: list[str] = []
        self.counts: dict[str, int] = {}
        self.first: list[Request] = []
        self.asked: list[Request] = []
        self._stories = [self._story(shape, number == 0) for number, shape in enumerate(shapes)]

    def _story(self, shape: Source, with_agent: bool) -> Story:
        """A subagent's own overflow, prose and results that quote one: none of them is the session's."""
        look = {"description": "look", "prompt": "look", "subagent_type": "general-purpose"}
        begin = tool("Agent", **look, run_in_background=False) if with_agent else bash("echo one")
        quote = (text(QUOTED) + bash(f"echo '{QUOTED}'")).at(148_000)  # 98.7 % of the window: prose and results say it
        return Story([begin.at(40_000), quote], then=shape, agents=overflow(210_000, 200_000))

    def __call__(self, request: Request) -> Answer:
        if is_asked(request):
            self.asked.append(request)
            return text(document(f"Session {len(self.asked)}.")).at(50_000)
        if request.session not in self.order:
            self.order.append(request.session)
            self.first.append(request)
        if request.sender is Sender.MAIN:
            self.counts[request.session] = self.counts.get(request.session, 0) + 1
        at = self.order.index(request.session)
        answer = self._stories[at](request) if at < len(self._stories) else text("All ported.").at(30_000)
        assert isinstance(answer, str | Reply)
        return answer


NAMES = list(SHAPES)


@pytest.mark.parametrize("names", [NAMES[::2], NAMES[1::2]], ids=["even", "odd"])
async def test_every_shape_is_recognised_and_rewound_and_its_successor_gets_the_document(
    model: ScriptedModel, workspace: Path, names: list[str]
) -> None:
    model.script = sessions = Sessions([SHAPES[name][0] for name in names])
    run = await run_step(workspace, handoff=policy(window=150_000, headroom=1_500), limit=110)
    assert run.result.ok, run.result.error
    assert run.result.attempts == 1
    written = run.result.generations[:-1]
    assert [generation.written_by for generation in written] == ["rewound"] * len(names)
    assert list(run.result.retired) == sessions.order[:-1]
    for at, name in enumerate(names):
        _, why, most = SHAPES[name]
        assert why.lower() in (written[at].why or "").lower(), name
        assert (written[at].why or "").endswith("; rewound by 1 request"), name
        assert sessions.counts[written[at].session_id] <= 2 + most, name
        assert len(sessions.asked[at].messages) == 3, name
        successor = sessions.first[at + 1].all_text()
        assert TAKING_OVER in successor, name
        assert f"pytest-mock: breaks the spies of test_batch. Session {at + 1}." in successor, name
    assert not any("交接降级" in error for error in run.result.errors)
    assert run.phases() == ["near", "writing", "done"] * len(names)
    said = "".join(str(event.payload["sections"]) for event in run.of("handoff", "done"))
    said += document_path(workspace).read_text()
    assert not [words for words in SYNTHETIC if words in said]
