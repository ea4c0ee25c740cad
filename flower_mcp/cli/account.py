"""`-v`: which endpoint, model, window and token a run will use, as far as the environment tells.

For showing alone: whether the credentials are any good is what the CLI says at connect, never judged from here. A token
is shown by its first four characters.
"""

from __future__ import annotations

from collections.abc import Mapping

from flower_mcp.cli.words import Words
from flower_mcp.core.policy import HandoffPolicy, WindowSource, guess_window
from flower_mcp.core.texts import window_text

_SHOWN = 4  # characters of a token: enough to know one's own by
_LONG = 12  # characters; of a shorter one, four would be a good part
TOKENS = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")
PROVIDERS = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex AI",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
}
_USUAL = "https://api.anthropic.com"


def account_lines(words: Words, environ: Mapping[str, str], model: str | None, policy: HandoffPolicy) -> list[str]:
    """The lines of `-v`, before a run starts."""
    chosen = model or environ.get("ANTHROPIC_MODEL") or words("default model")
    return [
        words("endpoint", endpoint=_endpoint(environ)),
        words("verbose model", model=chosen),
        _window(words, environ, model, policy),
        words("token", token=_token(words, environ)),
    ]


def masked_token(token: str) -> str:
    """The first four characters and stars; stars alone for a short one."""
    return f"{token[:_SHOWN]}****" if len(token) >= _LONG else "****"


def _endpoint(environ: Mapping[str, str]) -> str:
    from flower_mcp.core.masking import mask

    provider = next((name for variable, name in PROVIDERS.items() if environ.get(variable)), None)
    return provider or mask(environ.get("ANTHROPIC_BASE_URL") or _USUAL).text


def _window(words: Words, environ: Mapping[str, str], model: str | None, policy: HandoffPolicy) -> str:
    if policy.window_given:
        source = words(f"source {WindowSource.SET}")
        return words("verbose window", window=window_text(policy.window), source=source)
    guess = guess_window({**environ, **({"ANTHROPIC_MODEL": model} if model else {})})
    source = words("ask cli", source=words(f"source {WindowSource.GUESSED}"))
    return words("verbose window", window=window_text(guess), source=source)


def _token(words: Words, environ: Mapping[str, str]) -> str:
    found = next(((name, environ[name]) for name in TOKENS if environ.get(name)), None)
    return words("no token") if found is None else f"{masked_token(found[1])} ({found[0]})"
