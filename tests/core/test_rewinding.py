"""Where a session can be rewound to, from its transcript: whole requests, the living branch, answered ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.rewinding import answered_requests

Line = dict[str, Any]


def line(kind: str, uuid: str, parent: str | None, **more: Any) -> Line:
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False, **more}


def user(uuid: str, parent: str | None, **more: Any) -> Line:
    return line("user", uuid, parent, message={"role": "user", "content": "…"}, **more)


def note(uuid: str, parent: str) -> Line:
    return line("attachment", uuid, parent)


def answer(uuid: str, parent: str, message_id: str, stop: str = "tool_use", **more: Any) -> Line:
    message = {"id": message_id, "model": "claude-sonnet-4-5", "stop_reason": stop}
    return line("assistant", uuid, parent, message=message, **more)


def refused(uuid: str, parent: str, details: str = "", **more: Any) -> Line:
    """An error that the CLI wrote as if it were a message."""
    message = {"id": "made-up", "model": "<synthetic>", "stop_reason": "stop_sequence"}
    return line("assistant", uuid, parent, message=message, isApiErrorMessage=True, errorDetails=details, **more)


# Two requests that were answered, and a third that was refused.
WORK = [
    {"type": "queue-operation"},
    user("p", None),
    note("n1", "p"),
    answer("a1", "n1", "m1"),
    user("r1", "a1"),
    note("n2", "r1"),
    answer("a2", "n2", "m2"),
    user("r2", "a2"),
    note("n3", "r2"),
]
REFUSED = [*WORK, refused("e", "n3"), {"type": "cost-state"}, line("system", "s", "e")]
AGENT = [answer("x1", "p", "m9", isSidechain=True), user("x2", "x1", isSidechain=True)]

TRANSCRIPTS: dict[str, tuple[list[Line], list[str]]] = {
    "nothing": ([], []),
    "nothing was answered": ([user("p", None), refused("e", "p")], []),
    "the first request was answered": ([user("p", None), answer("a", "p", "m", "end_turn")], ["p"]),
    "the last request was refused": (REFUSED, ["p", "r1"]),
    "its answer was lost": (WORK, ["p", "r1"]),
    "two prompts in a row are one request": (
        [user("p", None), note("n", "p"), user("p2", "n"), answer("a1", "p2", "m1"), user("r1", "a1")],
        ["p2"],
    ),
    "one message in several lines is one request": (
        [user("p", None), answer("a1", "p", "m1"), answer("a2", "a1", "m1"), user("r1", "a2"), refused("e", "r1")],
        ["p"],
    ),
    "two results of one message are one request, whichever hangs in the branch": (
        [
            user("p", None), answer("a1", "p", "m1"), answer("a2", "a1", "m1"), user("r2", "a2"), user("r1", "a1"),
            note("n", "r1"), answer("b", "n", "m2"), user("r3", "b"), refused("e", "r3"),
        ],
        ["p", "r1"],
    ),
    "a branch that was left is no part of it": (
        [*WORK, answer("old", "n3", "m3"), user("old2", "old"), answer("a3", "r1", "m4"), user("r3", "a3")],
        ["p", "r1"],
    ),
    "an agent's lines are no part of it": ([*WORK[:4], *AGENT, *REFUSED[4:], *AGENT], ["p", "r1"]),
    "answers that the window cut had no room": (
        [
            *WORK, answer("c1", "n3", "m3", "model_context_window_exceeded"), user("go", "c1", isMeta=True),
            answer("c2", "go", "m4", "model_context_window_exceeded"), refused("e", "c2"),
        ],
        ["p", "r1"],
    ),
    "an answer cut at the output limit had room": ([*WORK, answer("c1", "n3", "m3", "max_tokens")], ["p", "r1", "r2"]),
    "a second prompt was refused": (
        [*WORK, answer("a3", "n3", "m3", "end_turn"), user("p2", "a3"), refused("e", "p2")],
        ["p", "r1", "r2"],
    ),
    "what lies before a compaction is out of reach": (
        [*WORK, line("system", "c", None, subtype="compact_boundary", logicalParentUuid="n3"), user("sum", "c"),
         answer("a3", "sum", "m3"), user("r3", "a3"), refused("e", "r3")],
        ["sum"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "found"), TRANSCRIPTS.values(), ids=TRANSCRIPTS)
def test_a_session_can_be_rewound_to_each_request_that_was_answered(lines: list[Line], found: list[str]) -> None:
    assert list(answered_requests(reversed(lines))) == found


def test_only_as_much_is_read_as_the_branch_is_long() -> None:
    def lines() -> Any:
        yield from reversed(REFUSED[1:])
        raise AssertionError("read on behind the first prompt")

    assert answered_requests(lines()) == ("p", "r1")


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["p", "a", "r"])
LINES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["user", "assistant", "system"]) | VALUES,
        "uuid": st.sampled_from(["p", "a", "r"]) | VALUES,
        "parentUuid": st.sampled_from(["p", "a", "r"]) | VALUES,
        "isSidechain": VALUES,
        "isApiErrorMessage": VALUES,
        "message": VALUES | st.dictionaries(st.sampled_from(["id", "model", "stop_reason"]), VALUES),
    },
)


@given(st.lists(LINES, max_size=8))
def test_odd_lines_never_raise_and_never_loop(lines: list[Line]) -> None:
    uuids = {each.get("uuid") for each in lines}
    assert set(answered_requests(lines)) <= uuids
