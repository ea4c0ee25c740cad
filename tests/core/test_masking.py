"""Secrets are masked, look-alikes are not, twice is the same as once, and no text takes long.

The keys are made up and put together here from parts, so that no scanner of repositories takes them for real ones.
"""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flower_mcp.core.masking import MARK, RULES, Masked, mask, may_hold_secrets

RANDOM = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0"
HASH = "3f786850e387550fdab836ed7e6dc881de23001b"
DASHES = "-" * 5
JWT = ".".join(["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV"])


def private_key(kind: str = "RSA ", line_break: str = "\n", *, ends: bool = True) -> str:
    lines = [f"{DASHES}BEGIN {kind}PRIVATE KEY{DASHES}", "MIIE" + RANDOM, RANDOM + "+/", "a1B2c3=="]
    return line_break.join([*lines, f"{DASHES}END {kind}PRIVATE KEY{DASHES}"] if ends else lines)


SECRETS = {
    "anthropic": "sk-" + "ant-api03-" + RANDOM + "-_" + RANDOM,
    "anthropic, login": "sk-" + "ant-oat01-" + RANDOM,
    "openai, project": "sk-" + "proj-" + RANDOM,
    "openai, older": "sk-" + RANDOM,
    "case 53": "sk-" + "test-0000EXAMPLE0000EXAMPLE0000",
    "aws id": "AKIA" + "IOSFODNN7EXAMPLE",
    "google": "AI" + "za" + "SyA" + RANDOM[:32],
    "google, login": "GOC" + "SPX-" + RANDOM[:28],
    "github": "gh" + "p_" + RANDOM[:36],
    "github, app": "gh" + "o_" + RANDOM[:36],
    "github, fine grained": "github" + "_pat_11" + RANDOM[:20] + "_" + RANDOM,
    "gitlab": "gl" + "pat-" + RANDOM[:20],
    "slack": "xo" + "xb-123456789012-123456789012-" + RANDOM[:24],
    "stripe": "sk_" + "live_" + RANDOM[:24],
    "stripe, restricted": "rk_" + "live_" + RANDOM[:24],
    "npm": "npm" + "_" + RANDOM[:36],
    "hugging face": "hf" + "_" + RANDOM[:34],
    "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + RANDOM + RANDOM,
    "jwt": JWT,
}

IN_PLACE = {
    "aws secret": ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""),
    "aws secret, json": ('"SecretAccessKey": "', "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", '"'),
    "azure account": ("AccountName=x;AccountKey=", RANDOM + RANDOM + "==", ";EndpointSuffix=core.windows.net"),
    "azure bus": ("SharedAccessKeyName=Root;SharedAccessKey=", RANDOM + "=", ""),
    "azure signature": ("https://acc.blob.core.windows.net/c?sv=2020&sig=", RANDOM + "%3D", "&se=2026"),
    "bearer header": ("Authorization: Bearer ", RANDOM, ""),
    "basic header": ("curl -H 'Authorization: Basic ", "dXNlcjpwYXNz", "' x"),
    "header without a scheme": ("authorization: ", RANDOM, ""),
    "header in a dict": ("{'Authorization': 'token ", RANDOM, "'}"),
    "bearer alone": ("sent Bearer ", RANDOM, ", got 401"),
    "api key header": ("x-api-key: ", RANDOM[:24], ""),
    "url": ("postgres://u:", "p", "@h/db"),
    "url, at sign in the password": ("postgresql+psycopg://app:", "p@ss:w0rd", "@db.internal/app"),
    "url without user": ("redis://:", "s3cr3tpw", "@cache:6379/0"),
    "url of a remote": ("git clone https://bob:", "hunter2", "@example.com/x.git"),
    "password": ("password = ", "hunter2hunter2", ""),
    "password, quoted": ("password: '", "Tr0ub4dor&3", "'"),
    "password of a season": ("password: ", "Summer2024", ""),
    "password, json": ('{"password": "', "Xk29fLq0", '"}'),
    "password, semicolon": ("Server=foo;Password=", "Abc12345", ";Database=bar"),
    "password, in a sentence": ("the password is ", "Xk29fLq0z", ".\n"),
    "password, bold": ("**Password:** ", "Xk29fLq0z", ""),
    "password, table": ("| db password | ", "Xk29fLq0z", " |"),
    "password, option": ("mysql --password ", "Xk29fLq0z", " -h db"),
    "password, chinese": ("数据库密码：", "Xk29fLq0z", "。"),
    "environment file": ("DB_PASSWORD=", "Xk29fLq0!", "\nDB_HOST=db"),
    "api key": ("export API_KEY=", RANDOM, ""),
    "api key, json in json": ('{\\"api_key\\": \\"', RANDOM, '\\"}'),
    "hex secret": ("client_secret=", HASH + "aa", ""),
    "token": ("token: ", RANDOM, ""),
    "npm file": ("//registry.example/:_authToken=", RANDOM, ""),
    "token, option": ("tool --api-token ", RANDOM, ""),
}

NO_SECRETS = [
    f"commit {HASH}",
    HASH[:7],
    f"sha256:{HASH}{HASH[:24]}",
    HASH + HASH[:24],
    "123e4567-e89b-12d3-a456-426614174000",
    f"token: {HASH}",
    "token: 123e4567-e89b-12d3-a456-426614174000",
    "session token: 2026-01-01T00:00:00Z",
    "the word token, a secret, a password, an api key",
    "token: 152.0K",
    "tokens: 152.0K of 200.0K",
    "max_tokens: 128001",
    "token_count=1234567890123456",
    "sk-...",
    "sk-ant-...",
    "sk-ant-api03-xxxxxxxxxxxxxxxxxxxx",
    "AKIA" + "X" * 16,
    "<your key>",
    "api_key = <your key>",
    "api_key: YOUR_API_KEY_HERE1",
    "api_key: your-api-key-123",
    "password: ********",
    "api_key=${API_KEY}",
    "password: $DB_PASSWORD1",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "Authorization: required",
    'os.environ["API_KEY"]',
    'api_key = os.environ["ANTHROPIC_API_KEY"]',
    "api_key=process.env.OPENAI_API_KEY2",
    "api_key = settings.API_KEY_2",
    "token = get_token_from_v2_store(x)",
    "token=request.headers.get('x')",
    "password = config['db']['password']",
    "password: str = Field(default=None)",
    "password: required",
    "private_key: keys.Ed25519PrivateKey,",
    "'ASAuthorization', 'ASAuthorizationAppleIDButton'",
    "password = forgotten-field",
    "Password: must contain 8 characters",
    "aGVsbG8gd29ybGQ=",
    "aGVsbG8=",
    "/usr/lib/python3.11/site-packages/foo.py",
    "password_file: /run/secrets/db_password_1",
    "secret: /run/secrets/db1",
    "secret: projects/123/secrets/foo/versions/1",
    "sk-learn",
    "const skill = 'sk-illful'",
    "sk-learn-pipeline-feature-builder-2024",
    "task-1234567890abcdef1234567890abcdef",
    "desk-A1b2C3d4E5f6G7h8I9j0",
    "npm_config_registry, hf_hub_download, pypi-data/pypi-mirror-404, ghp_ and AKIA keys",
    "http://localhost:8080/a@b",
    "https://user@example.com",
    "git@github.com:owner/repo.git",
    "postgres://${USER}:${PASS}@host/db",
    "postgres://user:{password}@host",
    "https://x:***@h/",
    "Bearer token authentication",
    "bearer authentication-scheme-one",
    "basic functionality",
    "eyJhbGciOiJIUzI1NiJ9",
    f"looks for {DASHES}BEGIN PRIVATE KEY{DASHES} and {DASHES}END PRIVATE KEY{DASHES}",
    f"{DASHES}BEGIN CERTIFICATE{DASHES}\n{RANDOM}{RANDOM}\n{DASHES}END CERTIFICATE{DASHES}",
    "Staging login works with the key in the vault entry `ci/staging` (value not written here).",
]


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    ("before", "after"),
    [("", ""), ("`", "`."), ("key=", ""), ('{"k":"', '"}'), ("密钥在", "里"), ("(", ")"), ("\n", "\n")],
)
def test_key_with_a_prefix_is_masked_wherever_it_stands(name: str, before: str, after: str) -> None:
    secret = SECRETS[name]
    assert mask(before + secret + after) == Masked(before + secret[:4] + MARK + after, 1)


@pytest.mark.parametrize("name", IN_PLACE)
def test_secret_is_masked_for_its_place_and_the_rest_stays(name: str) -> None:
    before, secret, after = IN_PLACE[name]
    shown = secret[:4] if len(secret) >= 16 else ""
    assert mask(before + secret + after) == Masked(before + shown + MARK + after, 1)


@pytest.mark.parametrize("text", NO_SECRETS)
def test_what_only_resembles_a_secret_stays(text: str) -> None:
    assert mask(text) == Masked(text, 0)


def test_a_quick_look_misses_no_secret() -> None:
    known = [*SECRETS.values(), *("".join(parts) for parts in IN_PLACE.values()), private_key()]
    assert [text for text in known if not may_hold_secrets(json.dumps({"text": text}, ensure_ascii=False))] == []
    assert not may_hold_secrets("a path, a name and 42 numbers")


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\\n", "\\\\n", "\n> ", "\n    "])
@pytest.mark.parametrize("ends", [True, False])
def test_private_key_is_masked_from_its_first_line_on(kind: str, line_break: str, ends: bool) -> None:
    masked = mask(f"see {private_key(kind, line_break, ends=ends)}\n\n## Next\n\nGo on.")
    assert masked == Masked(f"see {DASHES}BEGIN {kind}PRIVATE KEY{DASHES}{MARK}\n\n## Next\n\nGo on.", 1)


def test_case_document_loses_its_key_and_nothing_else() -> None:
    document = (
        "## Scene\n\n- The key is in the vault entry `ci/staging` (value not written here).\n"
        "- One key was pasted by mistake: `" + SECRETS["case 53"] + "`.\n"
    )
    assert mask(document) == Masked(document.replace(SECRETS["case 53"], "sk-t" + MARK), 1)


def test_each_secret_counts_once_even_when_two_rules_see_it() -> None:
    text = (
        f"api_key: {SECRETS['anthropic']}\nAuthorization: Bearer {JWT}\nhttps://x:{SECRETS['gitlab']}@gitlab.example/a"
    )
    masked = mask(text)
    assert masked.count == 3
    assert RANDOM[:10] not in masked.text


def test_character_that_grows_when_lowered_moves_no_mask() -> None:
    assert mask("İİİ key " + SECRETS["github"] + " end") == Masked("İİİ key ghp_" + MARK + " end", 1)


def test_every_rule_has_a_name_and_lower_case_needles() -> None:
    assert all(rule.name and rule.needles for rule in RULES)
    assert all(needle == needle.lower() for rule in RULES for needle in rule.needles)


PARTS = [
    *SECRETS.values(),
    *(part for place in IN_PLACE.values() for part in place),
    private_key(),
    private_key(ends=False),
    *(rule.needles[0] for rule in RULES),
    *["…", "[masked]", MARK, "@", "://", ":", "=", "'", '"', "\\", "\n", " ", "-", "--", ".", "/", "a1B2", "Bearer "],
]


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=12), max_size=12).map("".join))
@example("password=" + MARK + RANDOM)
@example("https://u:" + MARK + "x@h")
@example(private_key(ends=False) + private_key() + RANDOM)
@example(private_key() + SECRETS["npm"])
def test_masking_a_masked_text_changes_nothing(text: str) -> None:
    once = mask(text)
    assert mask(once.text) == Masked(once.text, 0)


@given(st.text())
def test_ordinary_text_comes_back_whole_when_nothing_was_masked(text: str) -> None:
    masked = mask(text)
    assert (masked.text == text) == (masked.count == 0)


@pytest.mark.parametrize(
    "unit",
    ["a", "sk-", f"{DASHES}BEGIN ", ":", "://", "://a:", "eyJ", "password:", "password=", "--", "-", "Bearer a", "AKIA",
     "A1b2C3d4/", "authorization: ", "password=.", '"', "\\", " ", f"{DASHES}BEGIN PRIVATE KEY{DASHES}", "x@"],
)  # fmt: skip
def test_time_does_not_explode_on_a_megabyte_of_anything(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    mask(text)
    assert time.process_time() - start < 5  # at most 0.4 s when alone; super-linear patterns take many minutes


def test_one_long_private_key_or_value_takes_no_longer() -> None:
    for text in (f"{DASHES}BEGIN PRIVATE KEY{DASHES}" + "A1" * 500_000, "password=" + "a-" * 500_000):
        start = time.process_time()
        mask(text)
        assert time.process_time() - start < 5
