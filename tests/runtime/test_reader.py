"""One session's messages, read in order: what the meter takes in, what the step is told, what the hooks wait for."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from flower_mcp.core.failures import Failure, failure_of
from flower_mcp.core.meter import Watermark
from flower_mcp.core.policy import HandoffPolicy
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.signals import BackgroundTask, Idle, Measured, Retrying, Said, Signal, TurnEnded, Used

OVERFLOW_TEXT = "prompt is too long: 219898 tokens > 200000 maximum"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def usage(input: int = 0, creation: int = 0, read: int = 0, output: int = 0) -> dict[str, Any]:
    return {
        "input_tokens": input,
        "cache_creation_input_tokens": creation,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }


def said(
    text: str = "", message_id: str | None = "m1", context: int = 0, *tools: ToolUseBlock, **more: Any
) -> AssistantMessage:
    """A message of the main thread, unless `parent_tool_use_id` is given."""
    blocks: list[Any] = [TextBlock(text)] if text else []
    values = {"model": "claude-opus-5", "usage": usage(read=context), "message_id": message_id, **more}
    return AssistantMessage([*blocks, *tools], **values)


def stream(event: dict[str, Any], parent: str | None = None) -> StreamEvent:
    return StreamEvent("u", "s", event, parent)


def start(message_id: str | None = "m1", **figures: int) -> StreamEvent:
    return stream({"type": "message_start", "message": {"id": message_id, "usage": usage(**figures)}})


def delta(stop_reason: str | None = None, **figures: int) -> StreamEvent:
    return stream({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": usage(**figures)})


STOP = stream({"type": "message_stop"})


def result_of(tool_use_id: str, content: Any = "ok", parent: str | None = None) -> UserMessage:
    return UserMessage([ToolResultBlock(tool_use_id, content)], parent_tool_use_id=parent)


def ended(**more: Any) -> ResultMessage:
    """The result of a turn, well ended unless told otherwise."""
    values: dict[str, Any] = {
        "subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 3,
        "session_id": "s", "stop_reason": "end_turn", "result": "Done.", "terminal_reason": "completed",
    }  # fmt: skip
    return ResultMessage(**{**values, **more})


def system(subtype: str, **data: Any) -> SystemMessage:
    return SystemMessage(subtype, {"type": "system", "subtype": subtype, **data})


def started(task_id: str, kind: str = "local_agent", **data: Any) -> SystemMessage:
    return system("task_started", task_id=task_id, task_type=kind, description=f"task {task_id}", **data)


def take(reader: Reader, *messages: object) -> list[Signal]:
    return [signal for message in messages for signal in reader.take(message)]


def contexts(signals: list[Signal]) -> list[int]:
    return [signal.meter.context for signal in signals if isinstance(signal, Measured)]


def test_a_subagents_messages_are_not_the_main_threads_context() -> None:
    reader = Reader()
    signals = take(
        reader,
        said("a", "m1", 40_000),
        said("b", "s1", 180_000, parent_tool_use_id="toolu_1"),
        stream({"type": "message_start", "message": {"id": "s2", "usage": usage(read=185_000)}}, "toolu_1"),
        system("task_progress", task_id="a1", usage={"total_tokens": 185_000}),
        result_of("t9", "x" * 900_000, parent="toolu_1"),
        said("c", "m2", 41_000),
    )
    assert contexts(signals) == [40_000, 41_000]
    assert reader.turns == 2
    assert reader.meter.watermark(HandoffPolicy(window=200_000)) is Watermark.BELOW


def test_a_results_usage_is_a_sum_and_never_the_context() -> None:
    reader = Reader()
    signals = take(reader, said("a", "m1", 90_000), ended(usage=usage(read=14_800_000), model_usage={"opus": {}}))
    assert contexts(signals) == [90_000]
    assert reader.meter.context == 90_000


def test_one_message_in_several_parts_is_one_turn_with_the_greatest_figures() -> None:
    reader = Reader()
    signals = take(
        reader,
        start("m1", input=7, creation=1_000, read=30_000, output=3),
        AssistantMessage([ThinkingBlock("…", "sig")], "opus", usage=usage(7, 1_000, 30_000, 3), message_id="m1"),
        said("hello", "m1", 30_000),
        delta("tool_use", output=321),
        STOP,
    )
    assert contexts(signals) == [31_007]
    assert (reader.turns, reader.meter.messages, reader.meter.usage.output) == (1, 1, 321)


def test_figures_that_come_at_a_messages_end_alone_are_taken_from_there() -> None:
    signals = take(Reader(), start("m1"), said("hello", "m1"), delta("end_turn", input=51_000, output=9), STOP)
    assert contexts(signals) == [51_000]


def test_an_error_that_the_cli_wrote_is_neither_text_nor_context_and_gives_the_result_its_kind() -> None:
    reader = Reader()
    signals = take(
        reader,
        said("working", "m1", 199_000),
        said("Prompt is too long", "x", model="<synthetic>", error="invalid_request"),
        ended(is_error=True, result="Prompt is too long", terminal_reason="prompt_too_long", api_error_status=400),
    )
    assert [signal.text for signal in signals if isinstance(signal, Said)] == ["working"]
    assert take(reader, said("No response requested.", "y", 9, model="<synthetic>")) == []
    assert reader.turns == 1
    turn = signals[-1]
    assert isinstance(turn, TurnEnded)
    assert (turn.outcome.error, turn.outcome.status, turn.text) == ("invalid_request", 400, "")
    assert failure_of(turn.outcome) is Failure.OVERFLOW


def test_an_error_of_one_turn_is_not_the_next_ones() -> None:
    reader = Reader()
    failed = said("API Error", "x", model="<synthetic>", error="rate_limit")
    take(reader, failed, ended(is_error=True, result="API Error", terminal_reason="api_error"))
    (turn,) = take(reader, ended(is_error=True, result="odd", terminal_reason="api_error", stop_reason=None))
    assert isinstance(turn, TurnEnded)
    assert (turn.outcome.error, turn.outcome.stop_reason) == (None, None)


def test_an_error_in_the_middle_of_a_turn_that_went_on_well_is_none() -> None:
    reader = Reader()
    lost = said("Connection lost mid-response", "m1", error="server_error")
    (turn,) = [s for s in take(reader, lost, said("on", "m2", 9), ended()) if isinstance(s, TurnEnded)]
    assert failure_of(turn.outcome) is Failure.NONE
    assert turn.text == "Done."


@pytest.mark.parametrize(
    "message",
    [
        said(f"The log says: {OVERFLOW_TEXT}", "m1", 50_000),
        result_of("t1", OVERFLOW_TEXT),
        ended(result=OVERFLOW_TEXT),
        said("", "m2", 50_000, ToolUseBlock("t2", "Bash", {"command": f"echo '{OVERFLOW_TEXT}'"})),
    ],
    ids=["prose", "tool result", "last words", "command"],
)
def test_an_answer_that_speaks_of_an_overflow_is_none(message: object) -> None:
    signals = take(Reader(), message, ended())
    outcomes = [signal.outcome for signal in signals if isinstance(signal, TurnEnded)]
    assert {failure_of(outcome) for outcome in outcomes} == {Failure.NONE}


def test_a_failed_result_without_words_is_told_by_its_errors() -> None:
    (turn,) = take(Reader(), ended(subtype="error_during_execution", is_error=True, result=None, errors=["one", "two"]))
    assert isinstance(turn, TurnEnded)
    assert turn.outcome.text == "one; two"


def test_the_stop_reason_of_the_last_message_stands_in_for_a_results_own() -> None:
    reader = Reader()
    turns = take(
        reader, start("m1", read=9), delta("max_tokens", output=32_000), STOP, ended(stop_reason=None), ended()
    )
    reasons = [turn.outcome.stop_reason for turn in turns if isinstance(turn, TurnEnded)]
    assert reasons == ["max_tokens", "end_turn"]


def test_a_result_carries_its_prompts_cost_and_turns_and_says_whether_it_is_ours() -> None:
    reader = Reader()
    (mine,) = take(reader, ended(user_message_uuids=["u1", "u2"], total_cost_usd=0.5))
    (injected,) = take(reader, ended(origin={"kind": "task-notification"}))
    assert isinstance(mine, TurnEnded)
    assert isinstance(injected, TurnEnded)
    assert (mine.uuids, mine.cost_usd, mine.ours) == (("u1", "u2"), 0.5, True)
    assert (injected.uuids, injected.cost_usd, injected.ours) == ((), None, False)


def test_a_turn_is_ours_once_it_answers_a_prompt_that_was_sent() -> None:
    reader = Reader()
    reader.expect("u1")
    messages = [
        said("injected", "m1", 9, user_message_uuids=["other"]),
        ended(),
        said("mine", "m2", 9, user_message_uuids=["u1"]),
        said("more", "m3", 9),
        ended(),
    ]
    ours = []
    for message in messages:
        take(reader, message)
        ours.append(reader.turn_is_ours)
    assert ours == [False, False, True, True, False]


def test_tools_of_the_main_thread_and_of_agents_are_told_apart_and_agents_texts_are_not_told() -> None:
    bash = ToolUseBlock("t1", "Bash", {"command": "ls"})
    signals = take(
        Reader(),
        said("look", "m1", 9, bash),
        said("agent's words", "s1", 9, ToolUseBlock("t2", "Read", {}), parent_tool_use_id="toolu_1"),
        said("  \n", "m2", 9),
    )
    told = [signal for signal in signals if not isinstance(signal, Measured)]
    assert told == [Said("look"), Used("Bash", "t1", {"command": "ls"}), Used("Read", "t2", {}, by_agent=True)]


def test_agents_and_shells_are_known_while_they_run() -> None:
    reader = Reader()
    take(
        reader,
        said("", "m1", 9, ToolUseBlock("t1", "Bash", {"command": "sleep 60", "run_in_background": True})),
        started("b1", "local_bash", tool_use_id="t1"),
        started("a1"),
        started("a2"),
    )
    assert [task.task_id for task in reader.agents()] == ["a1", "a2"]
    assert reader.shells() == [BackgroundTask("b1", "local_bash", "task b1", "sleep 60")]
    take(reader, system("task_updated", task_id="a1", patch={"status": "completed"}))
    take(reader, system("task_notification", task_id="b1", status="stopped", output_file="o"))
    assert [task.task_id for task in reader.tasks.values()] == ["a2"]


def test_a_task_is_gone_with_any_of_its_ends() -> None:
    for status in ("completed", "failed", "stopped", "killed"):
        reader = Reader()
        take(reader, started("a1"), system("task_updated", task_id="a1", patch={"status": status}))
        assert reader.tasks == {}, status


def test_a_task_that_goes_on_stays_and_one_never_heard_of_is_no_task() -> None:
    reader = Reader()
    take(
        reader,
        started("a1"),
        system("task_updated", task_id="a1", patch={"status": "running"}),
        system("task_updated", task_id="a9", patch={"status": "running"}),
        system("task_progress", task_id="a8", usage={}),
    )
    assert list(reader.tasks) == ["a1"]


def test_the_list_of_background_tasks_drops_what_is_not_on_it() -> None:
    reader = Reader()
    take(reader, started("a1"), started("b1", "local_bash"))
    take(reader, system("background_tasks_changed", tasks=[{"task_id": "b1"}, {"task_id": "unknown"}]))
    assert list(reader.tasks) == ["b1"]
    take(reader, system("background_tasks_changed", tasks=[]))
    assert reader.tasks == {}


def test_a_shells_output_file_is_learned_from_its_tools_result() -> None:
    reader = Reader()
    words = "Command running in background with ID: {}. Output is being written to: /somewhere/tasks/{}.output"
    take(reader, started("b1", "local_bash"), result_of("t1", words.format("b1", "b1")))
    take(reader, result_of("t2", words.format("b9", "b9")))
    assert [task.output_file for task in reader.tasks.values()] == ["/somewhere/tasks/b1.output"]


def test_the_session_says_when_it_is_idle() -> None:
    reader = Reader()
    told = [(reader.idle, list[Signal]())]
    for state in ("running", "requires_action", "idle"):
        signals = take(reader, system("session_state_changed", state=state))
        told.append((reader.idle, signals))
    assert told == [(True, []), (False, []), (False, []), (True, [Idle()])]


def test_a_retry_of_the_cli_is_told_with_its_status() -> None:
    signals = take(
        Reader(),
        system("api_retry", attempt=2, max_retries=10, error_status=401, error="authentication_failed"),
        system("api_retry", error_status=None),
    )
    assert signals == [Retrying(2, 10, 401, "authentication_failed"), Retrying(0, 0, None, "")]


@pytest.mark.parametrize(
    "message",
    [
        system("thinking_tokens", n=1),
        system("informational"),
        stream({"type": "ping"}),
        stream({}),
        stream({"type": "message_start"}),
        stream({"type": "message_start", "message": "torn"}),
        stream({"type": "message_delta", "delta": [], "usage": "lots"}),
        AssistantMessage([], "opus", usage=["odd"]),  # type: ignore[arg-type]
        UserMessage([TextBlock("hello")]),
        {"no": "message"},
        None,
    ],
    ids=repr,
)
def test_what_is_unknown_or_torn_is_passed_over(message: object) -> None:
    reader = Reader()
    take(reader, said("a", "m1", 90_000))
    assert take(reader, message) == []
    assert reader.meter.context == 90_000


@pytest.mark.anyio
async def test_a_hook_waits_until_its_batchs_results_were_read_and_their_message_is_whole() -> None:
    reader = Reader()
    take(reader, start("m1", read=150_000), said("", "m1", 150_000, ToolUseBlock("t1", "Bash", {})))
    seen: list[int] = []

    async def hook() -> None:
        assert await reader.reached(["t1", "t2"], patience=30)
        seen.append(reader.meter.next_request)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hook)
            for message in (result_of("t1", "x" * 300), result_of("t2", "y" * 300), delta("tool_use", output=1_000)):
                await anyio.wait_all_tasks_blocked()
                assert seen == []
                take(reader, message)
            await anyio.wait_all_tasks_blocked()
            assert seen == []
            take(reader, STOP)
    assert seen == [151_200]


@pytest.mark.anyio
async def test_what_was_read_already_needs_no_waiting() -> None:
    reader = Reader()
    take(reader, said("", "m1", 9, ToolUseBlock("t1", "Bash", {})), result_of("t1"))
    assert await reader.reached(["t1"], patience=0)
    assert await reader.reached([], patience=0)


@pytest.mark.anyio
@pytest.mark.parametrize("messages", [[], [start("m1"), result_of("t1")]], ids=["no result", "message not whole"])
async def test_a_hook_waits_no_longer_than_its_patience(messages: list[object]) -> None:
    reader = Reader()
    take(reader, *messages)
    with anyio.fail_after(5):
        assert not await reader.reached(["t1"], patience=0.02)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "end", [ended(), said("API Error", "x", model="<synthetic>", error="server_error")], ids=["result", "error"]
)
async def test_a_message_that_broke_off_keeps_no_hook_waiting_after_the_turns_end(end: object) -> None:
    reader = Reader()
    take(reader, start("m1"), result_of("t1"), end)
    assert await reader.reached(["t1"], patience=0)
