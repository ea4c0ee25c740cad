"""The keeper's rules without a process: its variables, its table of endings, whom it may end."""

from __future__ import annotations

import os

import pytest

from flower_mcp.runtime import keeper
from flower_mcp.runtime.keeper import Ending, child_environment, ending

INHERITED = {
    "HOME": "/home/person",
    "IS_SANDBOX": "1",
    "MAX_THINKING_TOKENS": "9",
    "TRACEPARENT": "00-1",
    "AWS_PROFILE": "work",
}
PASSED = {
    "ANTHROPIC_API_KEY": "key",
    "ANTHROPIC_BASE_URL": "http://gateway",
    "CLAUDE_CONFIG_DIR": "/configuration",
    "CLAUDE_CODE_OAUTH_TOKEN": "token",
    "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR": "3",
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
    "CLAUDE_CODE_API_KEY_HELPER_TTL_MS": "5",
    "CLAUDE_CODE_CLIENT_CERT": "/certificate",
    "CLAUDE_CODE_EXTRA_BODY": "{}",
    "CLAUDE_CODE_SUBAGENT_MODEL": "haiku",
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    "CLAUDE_AGENT_SDK_VERSION": "0.2",
    "CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP": "flower",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
}
DROPPED = {
    "CLAUDECODE": "1",
    "CLAUDE_PID": "1",
    "CLAUDE_CODE_SESSION_ID": "outer",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "5000",
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1",
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true",
    "CLAUDE_AGENT_SDK_CLIENT_APP": "outer/1",
    "CLAUDE_CONFIG_DIRECTORY": "/no",
    "FLOWER_RUN": "outer",
    "FLOWER_KEEPER": "outer",
    "FLOWER_KEEPER_FOLDER": "/private",
    "FLOWER_BUDGET": "5",
    "DISABLE_AUTO_COMPACT": "1",
    "DISABLE_TELEMETRY": "1",
}


@pytest.mark.parametrize("name", sorted(INHERITED | PASSED))
def test_what_steers_no_outer_session_reaches_the_cli(name: str) -> None:
    value = (INHERITED | PASSED)[name]
    assert child_environment({name: value}, {}) == {name: value}


@pytest.mark.parametrize("name", sorted(DROPPED))
def test_what_would_steer_the_cli_from_outside_is_dropped(name: str) -> None:
    assert child_environment({name: DROPPED[name]}, {}) == {}


@pytest.mark.parametrize("name", sorted(INHERITED | PASSED | DROPPED))
def test_what_we_set_always_wins(name: str) -> None:
    assert child_environment(INHERITED | PASSED | DROPPED, {name: "ours"})[name] == "ours"


@pytest.mark.parametrize(
    ("word", "gone", "expected"),
    [
        ("retired", False, Ending.RETIRED),
        ("over", False, Ending.OVER),
        ("", False, Ending.CLOSED),
        ("closed", False, Ending.CLOSED),
        ("nonsense", False, Ending.CLOSED),
        ("retired", True, Ending.OVER),
        ("", True, Ending.OVER),
    ],
)
def test_the_table_of_endings(word: str, gone: bool, expected: Ending) -> None:
    assert ending(word, gone) is expected


def test_a_family_never_holds_this_process_or_one_above_it() -> None:
    me, above = os.getpid(), os.getppid()
    found = {above: (1, b""), me: (above, b""), 900_001: (me, b""), 900_002: (above, b""), 900_003: (900_002, b"")}
    assert keeper.family(found, {above, me}) == set()
    assert keeper.family(found, {above, 900_001, 900_002}) == {900_001, 900_002, 900_003}


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("node  server.js\n--port 1 ", "node server.js --port 1"),
        ("x" * 300, "x" * 200),
        ("sh -c . /c/shell-snapshots/s && eval 'a && eval b' < /dev/null && pwd -P >| f", "'a && eval b'"),
        ("sh /c/shell-snapshots/s.sh another shape", "sh /c/shell-snapshots/s.sh another shape"),
        ("", ""),
    ],
)
def test_a_command_is_shown_on_one_short_line(command: str, shown: str) -> None:
    assert keeper.shortened(command) == shown


def test_a_marker_is_the_whole_variable_and_not_the_start_of_one() -> None:
    found = {1: (0, b"\0A=1\0FLOWER_RUN=ab\0"), 2: (0, b"\0FLOWER_RUN=abc\0"), 3: (0, b"\0X_FLOWER_RUN=ab\0")}
    assert keeper.marked(found, "FLOWER_RUN", "ab") == {1}
