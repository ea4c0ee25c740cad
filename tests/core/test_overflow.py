"""The verdicts on error texts, against the collected messages and against wordings of our own."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.overflow import is_media_limit, is_overflow, stated_limit

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "overflow.json").read_text(encoding="utf-8")
)
OVERFLOWS: list[dict[str, Any]] = CASES["overflow"]
OTHERS: list[dict[str, Any]] = CASES["not_overflow"]

OWN_OVERFLOWS = [
    "Prompt is too long",
    "PROMPT IS TOO LONG",
    "API Error: The model has reached its context window limit.",
    "API Error: 400 context length exceeded",
    "Context limit reached · /compact or /clear to continue",
    "Conversation too long. Press esc twice and try again.",
    "too many total text bytes",
    "exceed_context_size_error",
    "litellm.ContextWindowExceededError: the provider refused",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
    "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "Too many input tokens. Max input tokens: 8192, request input token count: 8507",
    "Unable to submit request because the input token count is 32825 but model only supports up to 32768.",
    "Input validation error: `inputs` must have less than 1024 tokens. Given: 1200",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "Context limit is 49152 tokens; prompt=51402 leaves 0 output tokens, below the minimum 16",
    "We ran out of room in the model's context window.",
    "Your messages are larger than what the model can hold",
    "The conversation exceeds what this model can read",
    "输入长度超过限制",
    "對話過長，請減少輸入",
    "413 {'error': {'message': 'The prompt is too long for this model', 'type': 'request_too_large'}}",
    "This model's maximum context length is 32768 tokens. However, you requested 4096 output tokens and your prompt "
    "contains at least 28673 input tokens. Please reduce the length of the input prompt or of the output.",
    'upstream answered "prompt is too long: 210000 tokens > 200000 maximum" for model x',
    '{"headers": {"x-ratelimit-remaining": "12"}, "error": {"code": "context_length_exceeded"}}',
    "Input length (429 tokens) exceeds the maximum allowed length (256 tokens).",
]

OWN_OTHERS = [
    "",
    "   ",
    "Credit balance is too low",
    "context deadline exceeded",
    "rpc error: context canceled",
    "API Error: Request rejected (429) prompt is too long",
    "status: 529 overloaded, context length exceeded",
    "Rate limit reached: your prompt exceeds 40000 input tokens per minute",
    "The answer exceeded the 32000 output token maximum. Raise CLAUDE_CODE_MAX_OUTPUT_TOKENS.",
    "max_tokens is too large: 128000. This model supports at most 16384 completion tokens.",
    "max_tokens cannot exceed the configured model output limit of 16384",
    "thinking.budget_tokens: Input should be greater than or equal to 1024",
    "File content (25345 tokens) exceeds maximum allowed tokens (25000). Use offset and limit.",
    "Tool output exceeded 100KB and was truncated",
    "bufio.Scanner: token too long",
    "RangeError: Maximum call stack size exceeded",
    "java.lang.StackOverflowError",
    "The message rate exceeded the allowed maximum for this channel",
    "Input image exceeds 8000 pixels",
    "Your input is larger than 20 MB",
    "no context was given for this request",
    "HTTPSConnectionPool: Max retries exceeded with url: /v1/messages",
    "Maximum conversation turns exceeded",
    "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
    "The prompt exceeds 100 pages",
    "every system prompt text block must be non-empty",
    "run_command: grep: the context window is not configured",
    "Context window too small: minimum is 1000 tokens",
    "输出token超过限制",
    "每分钟 token 数量超过限制",
    'The docs call this the "maximum context length" rule and we keep it.',
    "lib/errors.ts:12:  if (text.includes('prompt is too long')) {",
]

STATED_LIMITS: dict[str, int | None] = {
    "Range of input length should be": 204_800,
    "Input length (265330) exceeds": 262_144,
    "prompt is too long: 219898": 200_000,
    "Requested token count exceeds the model's maximum context length of 131072": 131_072,
    "Input length (160062 tokens)": 59_862,
    'Provider returned error\\",\\"code': 262_144,
    "Prompt too long: 32799": 32_768,
    "Prompt has 5,958,968": 256_000,
    "Input is too long for requested model": None,
    "n_keep: 4166": 4_096,
    "maximum prompt length is 131072": 131_072,
    "4097 tokens": 4_097,
    "context window of 2048": 2_048,
    "length of only 7866": 7_866,
    "193125 + 21333": 200_000,
    '\\"n_ctx\\":131072': 131_072,
    '\\"n_ctx\\":8192': 8_192,
    "cannot exceed 8192": 8_192,
    "allowed input length of 131040": 131_040,
    "8191 tokens": 8_191,
    "1048576 tokens": 1_048_576,
    "model_context_window_exceeded": None,
    "exceeded max context length by 100918": None,
    "262144 (requested": 262_144,
    "limit of 72000": 72_000,
    "exceeds limit (2013)": None,
    "exceed max message tokens": None,
}


def wrapped(text: str) -> str:
    return json.dumps({"error": {"message": text}})


@pytest.mark.parametrize("text", [case["text"] for case in OVERFLOWS])
def test_collected_overflow_is_recognised_bare_and_nested(text: str) -> None:
    assert is_overflow(text)
    assert is_overflow(wrapped(text))
    assert is_overflow(wrapped(wrapped(text)))
    assert not is_media_limit(text)


@pytest.mark.parametrize("text", [case["text"] for case in OTHERS])
def test_collected_other_error_is_no_overflow_and_states_no_limit(text: str) -> None:
    assert not is_overflow(text)
    assert stated_limit(text) is None


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: str(case["class"]))
def test_bytes_and_media_are_told_from_all_other_errors(case: dict[str, Any]) -> None:
    assert is_media_limit(case["text"]) == (case["class"] in {"wire_size", "media"})


@pytest.mark.parametrize("text", OWN_OVERFLOWS)
def test_wording_that_was_never_collected_is_an_overflow(text: str) -> None:
    assert is_overflow(text)
    assert is_overflow(wrapped(text))


@pytest.mark.parametrize("text", OWN_OTHERS)
def test_wording_that_only_resembles_an_overflow_is_none(text: str) -> None:
    assert not is_overflow(text)


@pytest.mark.parametrize("fragment", STATED_LIMITS)
def test_limit_is_read_as_the_text_states_it(fragment: str) -> None:
    texts = [case["text"] for case in OVERFLOWS if fragment in json.dumps(case["text"], ensure_ascii=False)]
    assert texts, "no collected text holds this fragment"
    assert {stated_limit(text) for text in texts} == {STATED_LIMITS[fragment]}


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("prompt is too long: 1.2M tokens > 1M maximum", 1_000_000),
        ("Model context window is 128k tokens, you requested 256k tokens", 128_000),
        ("ContextWindowExceededError: Input length 9000 exceeds model limit", None),
        ("prompt is too long, see page 12 of the manual", None),
        ("the prompt exceeds 8192 tokens", 8_192),
        ("Context length 9000 exceeds context limit (8192)", 8_192),
        ("Input length (9000 tokens) exceeds the input limit (8192 tokens)", 8_192),
        ("too many total text bytes: 9400000 > 9000000", None),
        ("image exceeds 5 MB maximum: 8956768 bytes > 5242880 bytes", None),
        ("max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens", None),
        ("The input token count exceeds the maximum number of tokens allowed 1048576.", 1_048_576),
        ('{"code": "context_length_exceeded", "message": "maximum context length is 8192 tokens."}', 8_192),
    ],
)
def test_only_a_window_in_tokens_counts_as_a_stated_limit(text: str, limit: int | None) -> None:
    assert stated_limit(text) == limit


def test_first_text_that_states_a_limit_gives_it() -> None:
    assert stated_limit(None, "boom 12345", "Prompt is too long", "prompt is too long: 9 tokens > 4096 maximum") == 4096


@pytest.mark.parametrize(
    "text",
    [
        "413 Request Entity Too Large",
        "<html><head><title>413 Request Entity Too Large</title></head></html>",
        "413 status code (no body)",
        "request_too_large",
        "Request too large (max 32MB). Try with a smaller file.",
        "Request exceeds the maximum allowed number of bytes.",
        "Request payload size exceeds the limit: 20971520 bytes.",
        "API Error: 400 Could not process image",
    ],
)
def test_refused_body_or_item_is_a_media_limit(text: str) -> None:
    assert is_media_limit(text)
    assert not is_overflow(text)


def test_status_413_with_a_count_of_tokens_is_an_overflow_and_no_media_limit() -> None:
    text = "413 prompt is too long: 210000 tokens > 200000 maximum"
    assert is_overflow(text)
    assert not is_media_limit(text)


def test_each_text_is_judged_alone() -> None:
    assert is_overflow("Command failed with exit code 1", None, "Prompt is too long")
    assert is_overflow("429 Too Many Requests", "Prompt is too long")
    assert not is_overflow("the prompt", "is too long")
    assert not is_overflow()


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_odd_input_gets_a_verdict_and_never_an_exception() -> None:
    assert is_overflow(b"prompt is too long")
    assert is_overflow(ValueError("prompt is too long"))
    assert is_overflow({"error": {"code": "context_length_exceeded"}})
    for odd in (None, b"\xff\xfe", 412, 4.5, [], Unprintable(), "\ud800", "\\ud800 \\u12", object()):
        assert not is_overflow(odd)
        assert not is_media_limit("ok", odd)
        assert stated_limit(odd) is None


@given(st.text() | st.binary() | st.none() | st.integers() | st.lists(st.text()))
def test_no_input_raises(value: object) -> None:
    assert is_overflow(value) in {True, False}
    assert is_media_limit(value) in {True, False}
    assert stated_limit(value) is None or is_overflow(value)


def test_long_text_is_read_at_both_ends_and_not_in_the_middle() -> None:
    filler = "and so on, " * 10_000
    assert is_overflow("prompt is too long, " + filler)
    assert is_overflow(filler + "prompt is too long")
    assert not is_overflow(filler + "prompt is too long" + filler)
    assert is_overflow((filler + "prompt is too long").encode())
    megabyte = filler * 10
    assert is_overflow(filler[:30_000] + "\nprompt is too long, " + filler[:30_000])  # under 64 Ki: read whole
    for room in (0, 100, 3_000, 32_000):  # an error with what a log has before it, or a stack trace after it
        assert is_overflow(filler[:room] + "\nprompt is too long, " + megabyte)
        assert is_overflow(megabyte + "\nprompt is too long, " + filler[:room])
        assert stated_limit(megabyte + "\nprompt is too long: 9 > 131072 maximum, " + filler[:room]) == 131_072


@pytest.mark.parametrize(
    "unit",
    ["a", "exceed ", "image exceed ", "prompt ", "context ", "maximum ", "status ", '"', 'a "b c', "\\", "\\u0061",
     "1,", "1", " ", "\n", "a/b.c:1:", "上下文", "压缩", "request must be less than "],
)  # fmt: skip
def test_time_does_not_explode_on_a_megabyte_of_anything(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    is_overflow(text)
    is_media_limit(text)
    stated_limit(text)
    assert time.process_time() - start < 0.5  # about 0.01 s when alone; super-linear patterns take minutes
