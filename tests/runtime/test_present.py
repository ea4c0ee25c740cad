"""What a step is doing at an instant: the tools whose results have not come, and how far the books are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from claude_agent_sdk import ToolResultBlock, ToolUseBlock, UserMessage

from flower_mcp.core.books import Generation, LiveStep, State, StepResult
from flower_mcp.runtime.gate import Mode
from flower_mcp.runtime.present import Present, present_of
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.step import StepRun
from tests.runtime.test_reader import said, start

KEY = "sk-ant-api03-" + "a1B2" * 20


def look(reader: Reader | None, mode: Mode = Mode.WORK) -> Present:
    """The present of a step whose session is read by this reader."""
    row = StepResult("r", "work", generations=(Generation(1, "a"),), num_turns=3)
    record = SimpleNamespace(live=LiveStep("work", State.WORKING, row))
    session = None if reader is None else SimpleNamespace(reader=reader, gate=SimpleNamespace(mode=mode))
    return present_of(cast(StepRun, SimpleNamespace(record=record, session=session)))


def use(name: str, tool_use_id: str, **given: Any) -> ToolUseBlock:
    """A tool call."""
    return ToolUseBlock(tool_use_id, name, given)


def test_a_tool_runs_from_its_call_to_its_result_and_agents_tools_are_not_the_main_threads() -> None:
    reader = Reader()
    calls = (use("Bash", "t1", command=f"curl -H {KEY}"), use("Read", "t2", file_path="a.py"))
    for message in (
        start("m1"),
        said("", "m1", 10, *calls),
        said("", "m2", 5, use("Grep", "t3"), parent_tool_use_id="t1"),
    ):
        reader.take(message)

    both = look(reader)
    assert [call.partition(":")[0] for call in both.calls] == ["Bash", "Read"]
    assert KEY not in both.calls[0]
    assert (both.turns, both.is_paid) == (4, False)
    assert look(reader, Mode.WRITE).turns == 3  # those of a handoff turn do not count

    reader.take(UserMessage([ToolResultBlock("t1", "done")]))
    assert look(reader).calls == ("Read: a.py",)
    reader.take(start("m3"))
    assert look(reader).calls == ()


def test_between_sessions_the_books_are_all_that_is_known() -> None:
    assert look(None) == Present(look(None).live, (), 3, is_paid=True)
