"""What a transcript says of the work: texts, calls, files, todos, tasks, and the pointers made of it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.happened import (
    LONGEST_INPUT,
    LONGEST_TEXT,
    MOST_CALLS,
    WRITING,
    Call,
    Happened,
    Started,
    Todo,
    after,
    happened,
    ran_lines,
)
from flower_mcp.core.texts import load
from tests.core.lines import (
    Line,
    agent,
    called,
    edited,
    error,
    linked,
    notified,
    prompt,
    ran,
    said,
    shell,
    wrote,
)

SECRET = "sk-ant-api03-" + "Qw7xLp2vNc9RkT4z" * 3


def test_texts_and_calls_are_the_main_threads_in_order() -> None:
    side: list[Line] = [{**line, "isSidechain": True} for line in [said("an agent"), *ran("ls")]]
    what = happened([prompt("Go."), said("I look."), *side, *ran("pytest -q", "3 passed"), said("Good."), said("  ")])
    assert what.texts == ("I look.", "Good.")
    assert what.last_text == "Good."
    assert what.calls == (Call("Bash", {"command": "pytest -q"}, False, "3 passed", "3 passed"),)


def test_what_the_cli_wrote_in_place_of_a_message_is_nobodys_text() -> None:
    filler = said("No response requested.")
    filler["message"]["model"] = "<synthetic>"
    lines = [said("I look."), error("Prompt is too long"), said("x", isApiErrorMessage=True), filler]
    assert happened(lines).texts == ("I look.",)


def test_what_is_said_and_done_in_a_handoff_turn_is_no_work() -> None:
    lines = [said("Work."), prompt(f"{WRITING[0]} This session's …"), said("## Doing"), *ran("ls"), prompt(WRITING[1])]
    assert happened([*lines, said("again")]).texts == ("Work.",)
    assert happened(lines).calls == ()
    assert happened([*lines, prompt("Go on."), said("More work.")]).last_text == "More work."


def test_the_prompts_of_a_handoff_turn_begin_as_they_are_known_by() -> None:
    assert [load("handoff").startswith(WRITING[0]), load("again").startswith(WRITING[1])] == [True, True]


@pytest.mark.parametrize(
    ("lines", "call"),
    [
        pytest.param(
            ran("make", "cc a.c\nerror: no b.h\n", code=2),
            Call("Bash", {"command": "make"}, True, "Exit code 2\ncc a.c\nerror: no b.h", "error: no b.h", 2),
            id="an exit code",
        ),
        pytest.param(
            ran("false", code=1), Call("Bash", {"command": "false"}, True, "Exit code 1", "Exit code 1", 1), id="alone"
        ),
        pytest.param(
            called("Edit", "no such string", failed=True, file_path="a"),
            Call("Edit", {"file_path": "a"}, True, "no such string", "no such string"),
            id="an edit",
        ),
        pytest.param(ran("sleep 9")[:1], Call("Bash", {"command": "sleep 9"}), id="no result"),
        pytest.param(
            called("Grep", [{"type": "text", "text": "a\nb"}, {"type": "image"}, "c"], pattern="x", limit=3),
            Call("Grep", {"pattern": "x", "limit": "int"}, False, "a\nb", "b"),
            id="blocks",
        ),
    ],
)
def test_a_call_is_told_with_how_it_ended(lines: list[Line], call: Call) -> None:
    assert happened(lines).calls == (call,)


def test_files_are_those_that_a_call_changed_newest_last_and_each_once() -> None:
    refused = called("Edit", "no", failed=True, file_path="c.py", old_string="a", new_string="b")
    lines = [*wrote("a.py", "1"), *edited("b.py", "x", "y"), *refused, *called("Read", file_path="d.py")]
    assert happened([*lines, *wrote("a.py", "2", of="1")]).files == ("b.py", "a.py")


def test_the_todos_are_what_the_task_tools_left() -> None:
    lines = [
        *called("TaskCreate", "Task #1 created successfully: a", result={"task": {"id": "1"}}, subject="port a"),
        *called("TaskCreate", "Task #2 created successfully: b", subject="port b"),
        *called("TaskCreate", "Task #3 created successfully: c", subject="port c"),
        *called("TaskUpdate", "Updated", taskId="1", status="completed"),
        *called("TaskUpdate", "Updated", taskId="2", status="in_progress", subject="port b and c"),
        *called("TaskUpdate", "Updated", taskId="3", status="deleted"),
        *called("TaskUpdate", "no such task", failed=True, taskId="1", status="pending"),
        *called("TaskUpdate", "Updated", taskId="9", status="completed"),
    ]
    what = happened(lines)
    assert what.todos == (Todo("port a", "completed"), Todo("port b and c", "in_progress"))
    assert what.todos_at == "2026-11-29T16:05:12.123Z"


def test_a_list_written_as_a_whole_replaces_the_one_before() -> None:
    first = called("TodoWrite", "ok", todos=[{"content": "old", "status": "pending"}])
    second = called("TodoWrite", "ok", todos=[{"content": "new", "status": "completed"}, "junk"])
    disabled = called("TodoWrite", "No such tool available", failed=True, todos=[])
    assert happened([*first, *second, *disabled]).todos == (Todo("new", "completed"),)


def test_agents_and_shells_are_running_until_the_cli_says_that_they_ended() -> None:
    lines = [*shell("b1", "npm run dev", "serve"), *agent("a1", "look around"), *agent("a2", "count"), notified("a1")]
    lines.append({"type": "attachment", "attachment": {"prompt": notified("a2", "killed")["content"]}})
    assert happened(lines).started == (
        Started("b1", False, "serve", "npm run dev", "/tasks/b1.output"),
        Started("a1", True, "look around", "", "/tasks/a1.output", ended=True),
        Started("a2", True, "count", "", "/tasks/a2.output", ended=True),
    )


def test_what_ran_in_the_background_has_its_result_when_it_ended_and_stands_there() -> None:
    failed = notified("b1", "failed", 'Background command "tests" failed with exit code 4')
    again = notified("b1", "completed")
    lines = [*shell("b1", "npm test"), *shell("b2", "npm run dev"), *shell("b3", "make"), *ran("ls"), notified("b3")]
    what = happened([*lines, failed, again, notified("b2", "killed")])
    assert [(call.command, call.failed, call.exit_code) for call in what.calls] == [
        ("npm run dev", None, None),
        ("ls", False, None),
        ("make", False, None),
        ("npm test", True, 4),
    ]


def test_what_is_kept_has_limits_and_the_newest_stays() -> None:
    what = happened(line for n in range(MOST_CALLS + 50) for line in ran(f"echo {n}"))
    assert (len(what.calls), what.calls[-1].command) == (MOST_CALLS, f"echo {MOST_CALLS + 49}")
    what = happened([said("x" * 100_000), *ran("y" * 100_000, "z" * 100_000)])
    assert len(what.last_text) == LONGEST_TEXT
    assert len(what.calls[0].command) == LONGEST_INPUT
    assert len(what.calls[0].output) + len(what.calls[0].last) <= 800


def test_after_gives_what_follows_a_line_and_nothing_for_one_that_is_not_there() -> None:
    lines = linked([prompt("Go."), said("one"), *ran("make"), said("two")])
    assert after(lines, lines[1]["uuid"]) == lines[2:]
    assert after(lines, lines[-1]["uuid"]) == []
    assert after(lines, "nowhere") == []


def test_after_leaves_a_dead_branch_out_and_keeps_parallel_results() -> None:
    start, dead = prompt("Go."), said("dead end")
    one, two = ran("one"), ran("two")
    for line, parent in ((dead, start), (one[0], start), (two[0], one[0])):
        line["parentUuid"] = parent["uuid"]
    two[0]["message"]["id"] = one[0]["message"]["id"]
    last = said("alive", parentUuid=two[1]["uuid"])
    blob = {"type": "api-request-blob"}
    lines = [start, dead, one[0], two[0], one[1], blob, notified("a1"), two[1], last]
    assert after(lines, start["uuid"]) == [one[0], two[0], one[1], lines[6], two[1], last]


def test_pointers_say_what_ran_and_never_that_it_is_done() -> None:
    lines = [
        *called("Read", file_path="a.py"), *ran("pytest -q", "1 failed", code=1), *wrote("a.py", "x"),
        *ran("sleep 1")[:1], *shell("b1", "npm run dev", "serve"), said("Now\nport  b."),
    ]  # fmt: skip
    assert ran_lines(happened(lines), gone={"a.py"}) == [
        '- ran since (not known to be done): Bash: pytest -q (failed, exit code 1: "1 failed")',
        "- ran since (not known to be done): Write: a.py",
        "- ran since (not known to be done): Bash: sleep 1 (no result seen)",
        "- ran since (not known to be done): Bash: npm run dev (no result seen)",
        "- files that were written since: a.py (gone)",
        "- started since, its end was not seen: serve",
        '- the last thing said since, not checked: "Now port b."',
    ]
    assert ran_lines(Happened()) == []


def test_pointers_are_few_short_masked_and_one_line_each() -> None:
    lines = [line for n in range(30) for line in wrote(f"{n}/{'x' * 300}", "1")]
    lines += [*ran(f"echo {SECRET}\n## Next\n```\u2028{'y' * 900}"), *shell("b1", "z" * 900), said("w" * 9_000)]
    told = ran_lines(happened(lines))
    assert len(told) == 14
    assert told[0] == "- ran since (not known to be done): 22 more tool calls before these"
    assert max(map(len, told)) < 5_000
    assert not any("\n" in line or "\u2028" in line or SECRET in line for line in told)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAME = st.sampled_from(["Bash", "Edit", "Write", "TodoWrite", "TaskCreate", "TaskUpdate", "Agent"])
TEXT = st.sampled_from(
    ["a", "b", "git checkout a", "Exit code ٣\nx", "<task-notification><task-id>a</task-id>", "\ud800"]
)
GIVEN = st.dictionaries(
    st.sampled_from(["command", "file_path", "old_string", "new_string", "content", "todos", "taskId", "status"]),
    TEXT | JUNK,
)
BLOCK = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "tool_use", "tool_result"]) | JUNK, "text": TEXT | JUNK, "id": TEXT | JUNK,
        "name": NAME | JUNK, "input": GIVEN | JUNK, "tool_use_id": TEXT | JUNK, "content": TEXT | JUNK,
        "is_error": JUNK,
    },
)  # fmt: skip
ANSWER = st.fixed_dictionaries(
    {}, optional={"originalFile": TEXT | JUNK, "oldString": TEXT | JUNK, "task": JUNK, "isAsync": JUNK, "agentId": JUNK}
)
LINE = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["assistant", "user", "queue-operation", "attachment"]) | JUNK,
        "uuid": TEXT | JUNK, "parentUuid": TEXT | JUNK, "sourceToolAssistantUUID": TEXT | JUNK, "content": TEXT | JUNK,
        "attachment": JUNK, "toolUseResult": ANSWER | JUNK, "timestamp": JUNK, "isSidechain": JUNK,
        "message": st.fixed_dictionaries({}, optional={"id": JUNK, "content": st.lists(BLOCK | JUNK) | TEXT}) | JUNK,
    },
)  # fmt: skip


@given(st.lists(LINE | JUNK, max_size=8))
def test_a_strange_transcript_is_never_an_error(lines: list[Any]) -> None:
    what = happened(lines)
    assert len(ran_lines(what)) <= 14
    assert all(isinstance(line, dict) for line in after(lines, "a"))


def test_the_time_grows_with_the_lines_and_no_faster() -> None:
    def seconds(count: int) -> float:
        lines = linked([line for n in range(count) for line in (*ran(f"make {n}", "x", code=n % 2), *wrote("a", "b"))])
        began = time.process_time()
        assert ran_lines(happened(after(lines, lines[0]["uuid"])))
        return time.process_time() - began

    few = min(seconds(500) for _ in range(3))
    assert min(seconds(4_000) for _ in range(2)) < 8 * few * 4
