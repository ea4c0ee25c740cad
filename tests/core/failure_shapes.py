"""The ends of turns and processes as the SDK gives them, each with the kind that it is. Tables, no tests.

The texts are the CLI's own where it has one; the shapes were seen with auto-compact off unless the name says otherwise.
"""

from __future__ import annotations

from typing import Any

from flower_mcp.core.failures import Failure, Outcome

TOO_LONG = "Prompt is too long"


def failed(
    reason: str | None = "api_error", status: int | None = None, error: str | None = None, text: str = "", **more: Any
) -> Outcome:
    """A turn that ended with is_error, in the order of the CLI's columns."""
    return Outcome(is_error=True, terminal_reason=reason, status=status, error=error, text=text, **more)


def exited(code: int | None = 1, text: str = "", stderr: str = "") -> Outcome:
    """A process that ended."""
    return Outcome(is_error=True, exited=True, exit_code=code, text=text, stderr=stderr)


# What a full context looks like, with auto-compact off.
FULL = {
    "400 prompt is too long": (failed("prompt_too_long", 400, "invalid_request", TOO_LONG), Failure.OVERFLOW),
    "the CLI's own limit": (failed("blocking_limit", None, "invalid_request", TOO_LONG), Failure.OVERFLOW),
    "413, bytes": (
        failed("image_error", 413, "invalid_request", "Request too large (max 32MB). Accumulated images and …"),
        Failure.POISONED,
    ),
    "413 without a reason": (
        failed("api_error", 413, "unknown", "API Error: 413 status code (no body)"),
        Failure.POISONED,
    ),
    "400 context length exceeded": (
        failed("api_error", 400, "unknown", "API Error: 400 context length exceeded"),
        Failure.OVERFLOW,
    ),
    "500 context length exceeded": (
        failed("api_error", 500, "server_error", "API Error: 500 context length exceeded"),
        Failure.OVERFLOW,
    ),
    "503 from a proxy": (
        failed("api_error", 503, "server_error", "API Error: 503 litellm.ContextWindowExceededError: too long"),
        Failure.OVERFLOW,
    ),
    "429, more than the plan has": (
        failed(
            "api_error", 429, "rate_limit",
            "API Error: Request rejected (429) · Extra usage is required for long context requests.",
        ),
        Failure.PLAN,
    ),
    "429, a subscription without it": (
        failed("api_error", 429, "rate_limit", "API Error: Usage credits required for 1M context · turn them on"),
        Failure.PLAN,
    ),
    "400, no long context in the plan": (
        failed("api_error", 400, "unknown", "API Error: 400 The long context beta is not yet available for this plan."),
        Failure.PLAN,
    ),
    "stopped by the window in the answer": (
        failed("api_error", None, "max_output_tokens", "API Error: The model has reached its context window limit."),
        Failure.OVERFLOW,
    ),
    "stop reason alone": (Outcome(stop_reason="model_context_window_exceeded"), Failure.OVERFLOW),
    "compaction that does not help": (failed("rapid_refill_breaker", None, None, "thrashing"), Failure.OVERFLOW),
    "answer cut at its limit": (
        failed(
            "api_error", None, "max_output_tokens",
            "API Error: Claude's response exceeded the 32000 output token maximum. Set CLAUDE_CODE_MAX_OUTPUT_TOKENS.",
        ),
        Failure.OUTPUT_LIMIT,
    ),
    "refused": (
        failed("api_error", None, "invalid_request", "API Error: Sonnet 4.5 can't help", stop_reason="refusal"),
        Failure.REFUSAL,
    ),
    "429 with the words of an overflow": (failed("api_error", 429, "rate_limit", TOO_LONG), Failure.RATE),
    "529 with the words of an overflow": (failed("api_error", 529, "server_error", TOO_LONG), Failure.SERVER),
}  # fmt: skip

# What makes every further request of the session fail.
POISONED = {
    "an open tool call": "API Error: 400 due to tool use concurrency issues. Run /rewind to recover the conversation.",
    "a result without its call": "API Error: 400 orphaned tool_result in conversation history.",
    "one id twice": "API Error: 400 duplicate tool_use ID in conversation history.",
    "the API's own words": "messages.214: `tool_use` ids were found without `tool_result` blocks immediately after",
    "an empty message": "messages.208: all messages must have non-empty content except for the optional final one",
    "an image": "API Error: 400 image exceeds 5 MB maximum: 8956768 bytes > 5242880 bytes",
    "an image, in the CLI's words": "Image was too large. Try resizing the image or using a different approach.",
    "many images": "An image in the conversation exceeds the dimension limit for many-image requests (2000px).",
    "a long PDF": "PDF too large (max 100 pages, 32 MB). Try reading the file a different way.",
    "a locked PDF": "PDF is password protected. Try using a CLI tool to extract or convert the PDF.",
}

# The world's failures, and the person's.
OTHERS = {
    "401": (
        failed("api_error", 401, "authentication_failed", "Failed to authenticate. API Error: 401"),
        Failure.CREDENTIALS,
    ),
    "no login": (
        failed("api_error", None, "authentication_failed", "Not logged in · Please run /login"),
        Failure.CREDENTIALS,
    ),
    "no login, another kind": (failed("api_error", None, "unknown", "Not logged in"), Failure.CREDENTIALS),
    "a key that is no key": (
        failed("api_error", None, "invalid_request", "Invalid API key · Fix external API key"),
        Failure.CREDENTIALS,
    ),
    "401 of a gateway": (failed("api_error", 401, "invalid_request", "the gateway refused"), Failure.CREDENTIALS),
    "a cloud's login": (failed("api_error", None, "cloud_credential_error", "no AWS login"), Failure.CREDENTIALS),
    "403": (
        failed("api_error", 403, "authentication_failed", "Failed to authenticate. API Error: 403"),
        Failure.PERMISSION,
    ),
    "404": (
        failed(
            "api_error", 404, "model_not_found",
            "There's an issue with the selected model (nope). It may not exist or you may not have access to it.",
        ),
        Failure.MODEL,
    ),
    "a model that the plan lacks": (
        failed("api_error", 400, "invalid_request", "Claude Opus is not available with the Claude Pro plan. /login"),
        Failure.PLAN,
    ),
    "402": (failed("api_error", 402, "billing_error", "Credit balance is too low"), Failure.BILLING),
    "400, no credit": (failed("api_error", 400, "billing_error", "Credit balance is too low"), Failure.BILLING),
    "402 that speaks of tokens": (
        failed("api_error", 402, "unknown", "402: request token limit exceeded for this billing plan"),
        Failure.BILLING,
    ),
    "no usage left to buy": (
        failed("api_error", 429, "rate_limit", "You're out of extra usage. Add more at claude.ai/settings/usage"),
        Failure.BILLING,
    ),
    "spend limit": (failed("api_error", 429, "rate_limit", "You've hit your monthly spend limit"), Failure.BILLING),
    "429": (
        failed(
            "api_error", 429, "rate_limit",
            "API Error: Request rejected (429) · this may be a temporary capacity issue. If it persists, check …",
        ),
        Failure.RATE,
    ),
    "429, not the usage limit": (
        failed(
            "api_error", 429, "rate_limit",
            "API Error: Server is temporarily limiting requests (not your usage limit) · slow down",
        ),
        Failure.RATE,
    ),
    "429, tokens per minute": (
        failed("api_error", 429, "rate_limit", "API Error: Request rejected (429) · Rate limit reached: 40000 TPM"),
        Failure.RATE,
    ),
    "429 without words": (failed("api_error", 429), Failure.RATE),
    "rate limit without a status": (failed("api_error", None, "rate_limit", "slow down"), Failure.RATE),
    "weekly limit": (
        failed("api_error", 429, "rate_limit", "You've hit your weekly limit · resets Sep 14 at 8pm"),
        Failure.LIMITED,
    ),
    "usage limit, older words": (
        failed("api_error", None, "rate_limit", "Claude AI usage limit reached|1766502000"),
        Failure.LIMITED,
    ),
    "a limit that is reported and not called one": (
        failed("api_error", 429, "rate_limit", "Server is temporarily limiting requests", resets_at=1_766_502_000.0),
        Failure.LIMITED,
    ),
    "500": (failed("api_error", 500, "server_error", "API Error: 500 Internal server error"), Failure.SERVER),
    "502, a page": (
        failed("api_error", 502, "server_error", "API Error: 502 <a href='/login'>Bad</a>"),
        Failure.SERVER,
    ),
    "503 of unknown kind": (failed("api_error", 503, "unknown", "no connection upstream"), Failure.SERVER),
    "529": (failed("api_error", 529, "server_error", "API Error: Overloaded"), Failure.SERVER),
    "overloaded": (failed("api_error", None, "overloaded", "Overloaded"), Failure.SERVER),
    "refused connection": (
        failed("api_error", None, "unknown", "API Error: Connection refused (ECONNREFUSED)"),
        Failure.NETWORK,
    ),
    "dropped connection": (
        failed("api_error", None, "server_error", "API Error: Connection dropped (ECONNRESET)"),
        Failure.NETWORK,
    ),
    "no certificate": (
        failed("api_error", None, "server_error", "API Error: Unable to connect to API: SSL certificate"),
        Failure.NETWORK,
    ),
    "no answer": (failed("api_error", None, "server_error", "API Error: No response from API"), Failure.NETWORK),
    "too late": (failed("api_error", None, "unknown", "Request timed out"), Failure.NETWORK),
    "server error, no status": (
        failed("api_error", None, "server_error", "API Error: overloaded_error"),
        Failure.SERVER,
    ),
    "JSON for a stream": (
        failed("api_error", None, "unknown", "API Error: API returned an empty or malformed response (HTTP 200)"),
        Failure.MALFORMED,
    ),
    "no tool call that can be read": (failed("malformed_tool_use_exhausted"), Failure.MALFORMED),
    "words nobody knows": (failed("api_error", 400, "invalid_request", "some brand new words 0x17"), Failure.UNKNOWN),
    "nothing said": (failed(None), Failure.UNKNOWN),
    "a session that crashed": (failed(None, text="[session_crash] error_name=AbortError"), Failure.UNKNOWN),
    "our hook": (Outcome(terminal_reason="hook_stopped", stop_reason="tool_use"), Failure.OUR_BREAK),
    "another hook": (Outcome(terminal_reason="stop_hook_prevented"), Failure.OUR_BREAK),
    "interrupted in a tool": (failed("aborted_tools", text="[ede_diagnostic] …"), Failure.ABORTED),
    "interrupted in the answer": (failed("aborted_streaming"), Failure.ABORTED),
    "budget": (failed("budget_exhausted", text="Reached maximum budget ($1)"), Failure.BUDGET),
    "turns": (failed("max_turns"), Failure.TURNS),
    "nothing takes a connection there": (
        failed("api_error", None, "unknown", "API Error: Connection refused (ECONNREFUSED)", unreachable=True),
        Failure.UNREACHABLE,
    ),
    "silence": (Outcome(is_error=True, silent=True), Failure.SILENT),
    "silence of the network": (Outcome(is_error=True, silent=True, unreachable=True), Failure.UNREACHABLE),
    "well": (Outcome(terminal_reason="completed", stop_reason="end_turn"), Failure.NONE),
    "a local command": (Outcome(), Failure.NONE),
}  # fmt: skip

EXITS = {
    "killed": (exited(-9), Failure.CLI_DIED),
    "terminated": (exited(143, stderr="something"), Failure.CLI_DIED),
    "without a word": (exited(1), Failure.CLI_DIED),
    "crashed": (exited(1, "[session_crash] error_name=AbortError"), Failure.CLI_DIED),
    "nothing to resume": (
        exited(1, "No conversation found with session ID: 00000000-0000-0000-0000-000000000000"),
        Failure.NO_CONVERSATION,
    ),
    "id in use": (exited(1, stderr="Error: Session ID x is already in use."), Failure.ID_IN_USE),
    "no id": (exited(1, stderr="Error: Invalid session ID. Must be a valid UUID."), Failure.REFUSED_START),
    "root": (
        exited(1, stderr="--dangerously-skip-permissions cannot be used with root/sudo privileges"),
        Failure.REFUSED_START,
    ),
    "option": (exited(1, stderr="error: unknown option '--nonsense'"), Failure.REFUSED_START),
    "value": (
        exited(1, stderr="error: option '--permission-mode <mode>' argument 'x' is invalid. Allowed choices are plan."),
        Failure.REFUSED_START,
    ),
    "no folder": (exited(None, "Working directory does not exist: gone"), Failure.REFUSED_START),
    "no CLI": (exited(None, "Claude Code not found at: gone"), Failure.REFUSED_START),
    "the words of an overflow": (exited(1, TOO_LONG), Failure.OVERFLOW),
    "the words of an overflow, on standard error": (exited(1, stderr=f"Error: {TOO_LONG}"), Failure.OVERFLOW),
}

# What only the measured context tells from something else, in a window of 200,000: the least context at which it is an
# overflow, and what it is with one token less (None: always an overflow).
NEAR_THE_END: dict[str, tuple[Outcome, int, tuple[int, Failure] | None]] = {
    "400 in new words": (
        failed("api_error", 400, "unknown", "API Error: 400 some brand new words 0x17"),
        180_000, (179_999, Failure.UNKNOWN),
    ),
    "422 in new words": (failed("api_error", 422, "unknown", "nope"), 180_000, (20_000, Failure.UNKNOWN)),
    "exit 1 without a word": (exited(1), 180_000, (179_999, Failure.CLI_DIED)),
    "exit 1 with a note on the model": (
        exited(1, stderr="[claude-code:unrecognized_model] my-model"), 194_000, (10_000, Failure.CLI_DIED),
    ),
    "cut at the output limit, with no room left": (
        failed("api_error", None, "max_output_tokens", "exceeded the 32000 output token maximum"),
        198_000, (197_999, Failure.OUTPUT_LIMIT),
    ),
    "not a word at the limit": (
        Outcome(terminal_reason="completed", stop_reason="end_turn", empty=True), 198_000, (197_999, Failure.NONE),
    ),
    "a server error above the window": (
        failed("api_error", 500, "server_error", "API Error: 500 Internal server error"),
        200_001, (200_000, Failure.SERVER),
    ),
    "the words of one": (failed("api_error", 400, "unknown", "API Error: 400 context length exceeded"), 1, None),
}  # fmt: skip

# Their own numbers say that a prompt far below the window was asked to leave room for too long an answer.
BLAMING = {
    "in the completion": (
        "This model's maximum context length is 131072 tokens. However, you requested 131217 tokens (3217 in the "
        "messages, 128000 in the completion). Please reduce the length of the messages or completion."
    ),
    "in the output": (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 131217 tokens (3217 of "
        "text input, 128000 in the output). Please reduce the length of either one."
    ),
    "with tools": (
        "This endpoint's maximum context length is 131,072 tokens. However, you requested about 140,000 tokens (3,217 "
        "of text input, 5,000 of tool input, 131,783 in the output). Please reduce the length of either one."
    ),
    "the API's own": (
        "input length and `max_tokens` exceed context limit: 3217 + 198000 > 200000, decrease input length or "
        "`max_tokens` and try again"
    ),
}
