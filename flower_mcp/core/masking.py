"""Secrets in a text, replaced by a mark: text in, masked text and a count out.

It must not know what the text is or where it goes. The caller decides what is masked (what models and code write) and
what never is (what a person typed).

Two kinds of rules stand in one table. A key with a prefix of its own is known wherever it stands; anything else is a
secret only for its place (after `password =`, in an Authorization header, in a URL), and only when the value looks
drawn at random. There is no rule on randomness alone: it would take commit hashes, ids and digests, which a handoff
document lives on.

What can hurt: a miss writes a key to disk and into every successor's prompt; a false alarm destroys a word that the
successor needs. Masking twice gives what masking once gave. Every pattern starts at a literal, where alone it is
tried, and is bounded or possessive from there: time grows with the length of the text, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

MARK: Final = "…[masked]"
_SHOWN: Final = 4  # characters kept of a long secret, so that a person can tell which key it was
_LONG: Final = 16  # characters; of a shorter secret nothing is shown, four would be a good part of it
_PASSES: Final = 4  # a mark can lay bare one more secret beside it; two passes were the most ever needed


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets, and how many were taken out of it."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One shape of secret. `pattern` has a group "secret", or is the secret as a whole.

    `needles` are the lower-case literals that the pattern can start with: it is tried where the lowered text holds
    one. `is_secret` looks at the matched secret; `shows_start` tells whether its start may stay.
    """

    name: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[str], bool]
    shows_start: bool = True


# --- does a value look like a secret? ----------------------------------------------------------------------------

_PLACEHOLDER: Final = re.compile(
    r"\.\.\.|xxxx|\*\*\*|your[-_ ]|[-_ ]here\b|placeholder|changeme|change[-_]me|redacted|masked|dummy", re.IGNORECASE
)
_REFERENCE: Final = re.compile(r"[$%{<@]|[A-Za-z_][\w.]{0,80}[(\[]|(?:~|\.{1,2})?/|[a-z]+://|process\.env\b|[A-Z]:\\")
_IDENTIFIER: Final = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|sha(?:1|256|384|512)[:-].*|\d{4}-\d\d-\d\d.*",
    re.IGNORECASE | re.DOTALL,
)
_HASH: Final = re.compile(r"[0-9a-f]+")
_PIECES: Final = re.compile(r"[-_./:@+ ]+")
_WORD: Final = re.compile(r"(?:[A-Z]?[a-z]*|[A-Z]*)\d?|\d{1,6}|(?:[A-Z][a-z]{1,20}\d{0,5}){2,6}")


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.search(value) is not None or len(set(value[_SHOWN:])) < 4


def _is_key(value: str) -> bool:
    """A value with a known prefix: anything but a placeholder."""
    return not _is_placeholder(value)


def _is_made_of_words(value: str) -> bool:
    return all(_WORD.fullmatch(piece) for piece in _PIECES.split(value))


def _is_random(value: str) -> bool:
    """A value whose prefix is weak (`sk-`): one unbroken run of letters and digits that no name has."""
    runs = re.findall(r"[A-Za-z0-9]{16,}", value)
    return _is_key(value) and any(re.search(r"[0-9]", run) and re.search(r"[A-Za-z]", run) for run in runs)


def _is_opaque(value: str) -> bool:
    """A value in a secret's place that is no reference, identifier, date or word."""
    if _is_placeholder(value) or _REFERENCE.match(value) or _IDENTIFIER.fullmatch(value):
        return False
    return not _is_made_of_words(value) and re.search(r"[0-9=]", value) is not None


def _is_opaque_token(value: str) -> bool:
    """Like `_is_opaque`, for names such as `token`, which also name counts and commits: long, and no bare hash."""
    return len(value) >= _LONG and not _HASH.fullmatch(value) and _is_opaque(value)


def _is_header_value(value: str) -> bool:
    """A credential in a header: `dXNlcjpwYXNz` has no digit, but a word is never cased like that."""
    mixed = re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]|=$", value) is not None
    return _is_opaque(value) or (mixed and not _is_placeholder(value) and not _REFERENCE.match(value))


def _is_url_password(value: str) -> bool:
    return MARK not in value and not value.startswith(("$", "{", "<", "%s", "%(")) and set(value) - set("*x.") != set()


def _holds_key_lines(value: str) -> bool:
    return MARK not in value and re.search(r"[A-Za-z0-9+/=]{20}", value) is not None


# --- the table ---------------------------------------------------------------------------------------------------


def _prefixed(name: str, *prefixes: str, body: str, is_secret: Callable[[str], bool] = _is_key) -> Iterator[Rule]:
    """Rules for keys with a prefix of their own, which no letter, digit or hyphen may precede."""
    for prefix in prefixes:
        literal = re.escape(prefix)
        pattern = re.compile(rf"(?<![A-Za-z0-9_-]){literal}{body}")
        yield Rule(name, (prefix.lower(),), pattern, is_secret)


_QUOTE: Final = r"\\{0,4}[\"'`]"
_IS_SET_TO: Final = (
    rf"(?:{_QUOTE}|\*\*)?\]?[ \t]{{0,8}}(?::=|=>|={{1,3}}|:|：|\||\bis\b|是|为)(?:\*\*)?[ \t]{{0,8}}[bru]?"
)
_VALUE: Final = r"(?:\\{0,4}[\"'`](?P<quoted>[^\s\"'`\\…]{8,}+)|(?P<bare>[^\s\"'`\\…,;&)}\]>，。；、）」]{8,}(?<!\.)))"
_PASSWORD_NAMES: Final = ("password", "passwd", "passphrase", "passcode", "pwd", "密码", "密碼", "口令")
_SECRET_NAMES: Final = (
    "secret", "api_key", "api-key", "api key", "apikey", "access_key", "access-key", "accesskey", "secret_key",
    "secret-key", "secretkey", "private_key", "private-key", "privatekey", "signing_key", "encryption_key", "auth_key",
    "account_key", "accountkey", "sharedaccesskey", "credential", "credentials", "密钥", "密鑰",
)  # fmt: skip
_TOKEN_NAMES: Final = ("token", "令牌")


def _assigned(name: str, names: tuple[str, ...], is_secret: Callable[[str], bool]) -> Iterator[Rule]:
    """Rules for `name = value`, `"name": "value"`, `--name value`: words may stand before the name, none after it."""
    for word in names:
        pattern = re.compile(rf"{word}(?:{_IS_SET_TO}|(?<=-{word})[ \t]{{1,4}}){_VALUE}", re.IGNORECASE)
        yield Rule(name, (word,), pattern, is_secret)


_AUTHORIZATION: Final = rf"authorization(?:{_QUOTE})?[ \t]{{0,4}}[:=,][ \t]{{0,4}}(?:{_QUOTE})?"
_PEM_BEGIN: Final = r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_PEM_END: Final = _PEM_BEGIN.replace("BEGIN", "END")
_LINE_BREAK: Final = r"(?:\\{1,4}[nr]|[\s>|\"'+,]){0,16}+"

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "private key",
        ("-----begin ",),
        re.compile(rf"{_PEM_BEGIN}(?P<secret>(?:(?!-----)[\s\S]){{1,32768}}+{_PEM_END})"),
        _holds_key_lines,
        shows_start=False,
    ),
    Rule(
        "private key, cut off",
        ("-----begin ",),
        re.compile(
            rf"{_PEM_BEGIN}(?P<secret>(?:{_LINE_BREAK}[A-Za-z0-9+/=]{{24,}}+)++"
            rf"(?:{_LINE_BREAK}(?=[A-Za-z+/]{{0,24}}[0-9=])[A-Za-z0-9+/=]{{1,23}}+)?)"
        ),
        _holds_key_lines,
        shows_start=False,
    ),
    Rule(
        "password in a URL",
        ("://",),
        re.compile(r"://[^\s/:@'\"<>`]{0,100}:(?P<secret>[^\s/'\"<>`]{1,200})@(?=[\w\[])"),
        _is_url_password,
    ),
    Rule(
        "authorization header",
        ("authorization",),
        re.compile(rf"{_AUTHORIZATION}[a-z]{{1,12}}[ \t]{{1,4}}(?P<secret>[A-Za-z0-9._~+/=:-]{{8,}}+)", re.IGNORECASE),
        _is_header_value,
    ),
    Rule(
        "authorization header without a scheme",
        ("authorization",),
        re.compile(rf"{_AUTHORIZATION}(?P<secret>[A-Za-z0-9._~+/=:-]{{16,}}+)", re.IGNORECASE),
        _is_opaque,
    ),
    Rule(
        "bearer or basic credential",
        ("bearer", "basic"),
        re.compile(r"(?:bearer|basic)[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)", re.IGNORECASE),
        _is_header_value,
    ),
    Rule(
        "json web token",
        ("eyj",),
        re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
        _is_key,
    ),
    Rule(
        "signature in a URL",
        ("sig=",),
        re.compile(r"(?<=[?&;])sig=(?P<secret>[A-Za-z0-9%/+=_-]{20,}+)", re.IGNORECASE),
        _is_opaque,
    ),
    Rule(
        "webhook address",
        ("hooks.slack.com/", "/api/webhooks/"),
        re.compile(
            r"(?:hooks\.slack\.com/services/[A-Z0-9]{8,12}/[A-Z0-9]{8,12}|/api/webhooks/\d{15,20})/"
            r"(?P<secret>[A-Za-z0-9_-]{16,}+)"
        ),
        _is_key,
    ),
    *_prefixed("aws", "AKIA", "ASIA", "ABIA", "ACCA", body=r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    *_prefixed("anthropic", "sk-ant-", body=r"[A-Za-z0-9_-]{16,}+"),
    *_prefixed("openai", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-", body=r"[A-Za-z0-9_-]{20,}+"),
    *_prefixed("openai, older and alike", "sk-", body=r"[A-Za-z0-9_-]{16,}+", is_secret=_is_random),
    *_prefixed("google", "AIza", body=r"[A-Za-z0-9_-]{30,}+"),
    *_prefixed("google", "ya29.", "GOCSPX-", body=r"[A-Za-z0-9._-]{20,}+"),
    *_prefixed("github", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", body=r"[A-Za-z0-9]{20,}+"),
    *_prefixed("github", "github_pat_", body=r"[A-Za-z0-9_]{20,}+"),
    *_prefixed("gitlab", "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", body=r"[A-Za-z0-9._-]{16,}+"),
    *_prefixed("slack", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xapp-", body=r"[A-Za-z0-9-]{10,}+"),
    *_prefixed("stripe", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", body=r"[A-Za-z0-9]{16,}+"),
    *_prefixed("npm", "npm_", body=r"[A-Za-z0-9]{30,}+"),
    *_prefixed("hugging face", "hf_", body=r"[A-Za-z0-9]{30,}+"),
    *_prefixed("pypi", "pypi-", body=r"[A-Za-z0-9_-]{40,}+", is_secret=_is_random),
    *_prefixed("xai, groq, nvidia", "xai-", "gsk_", "nvapi-", body=r"[A-Za-z0-9_-]{24,}+", is_secret=_is_random),
    *_prefixed("docker, vault", "dckr_pat_", "hvs.", body=r"[A-Za-z0-9_-]{24,}+", is_secret=_is_random),
    *_prefixed("sendgrid, atlassian", "SG.", "ATATT3", body=r"[A-Za-z0-9._=-]{30,}+", is_secret=_is_random),
    *_assigned("password", _PASSWORD_NAMES, _is_opaque),
    *_assigned("secret", _SECRET_NAMES, _is_opaque),
    *_assigned("token", _TOKEN_NAMES, _is_opaque_token),
)  # fmt: skip


_NEEDLES: Final = tuple({needle for rule in RULES for needle in rule.needles})


def mask(text: str) -> Masked:
    """Replace every secret in `text` by its first four characters and a mark; count the secrets.

    Of a secret under 16 characters nothing but the mark is left. Masking a masked text changes nothing and counts 0.
    """
    count = 0
    for _ in range(_PASSES):
        spans = _secrets_in(text)
        if not spans:
            break
        count += len(spans)
        text = _replace(text, spans)
    return Masked(text, count)


def may_hold_secrets(text: str) -> bool:
    """A quick look: False when no secret of the table is in `text`, nor in any part of it."""
    return any(map(_lowered(text).__contains__, _NEEDLES))


@dataclass(frozen=True, slots=True, order=True)
class _Span:
    start: int
    end: int
    shown: int


def _secrets_in(text: str) -> list[_Span]:
    """Find the secrets, in order of their place, each once: of two that overlap the outer bounds are kept."""
    lower = _lowered(text)
    if not any(map(lower.__contains__, _NEEDLES)):  # nearly always
        return []
    merged: list[_Span] = []
    for span in sorted(span for rule in RULES for span in _matches(rule, text, lower)):
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            merged.append(_Span(last.start, max(last.end, span.end), last.shown))
        else:
            merged.append(span)
    return merged


def _lowered(text: str) -> str:
    """Lower the text without moving a character: a dotted capital I would become two."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.replace("\u0130", "i").lower()


def _matches(rule: Rule, text: str, lower: str) -> Iterator[_Span]:
    for needle in rule.needles:
        position = lower.find(needle)
        while position >= 0:
            end = position + 1
            if match := rule.pattern.match(text, position):
                end = match.end()
                if (span := _span(rule, match)) is not None:
                    yield span
            position = lower.find(needle, end)


def _span(rule: Rule, match: re.Match[str]) -> _Span | None:
    group = next((name for name, value in match.groupdict().items() if value is not None), 0)
    start, end = match.span(group)
    if not rule.is_secret(match.string[start:end]):
        return None
    return _Span(start, end, _SHOWN if rule.shows_start and end - start >= _LONG else 0)


def _replace(text: str, spans: list[_Span]) -> str:
    parts: list[str] = []
    position = 0
    for span in spans:
        parts += (text[position : span.start + span.shown], MARK)
        position = span.end
    return "".join(parts) + text[position:]
