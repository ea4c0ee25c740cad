"""Which parts make one message: by the stream, and by ids where there is none."""

from __future__ import annotations

import pytest
from claude_agent_sdk import ToolUseBlock

from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.signals import TurnEnded
from tests.runtime.test_reader import STOP, delta, ended, result_of, said, start, take


@pytest.mark.parametrize("message_id", [None, "always", ""], ids=["none", "constant", "empty"])
def test_messages_of_a_gateway_without_ids_of_their_own_are_told_apart_by_their_stream(message_id: str | None) -> None:
    reader = Reader()
    two = [said("", message_id, 0, ToolUseBlock(name, "Bash", {"command": "ls"})) for name in ("t1", "t2")]
    turn = [
        *(start(message_id, read=30_000), said("look", message_id, 30_000), *two, delta("tool_use", output=9), STOP),
        *(result_of("t1"), result_of("t2")),
        *(start(message_id, read=31_000), said("done", message_id, 31_000), delta("end_turn", output=7), STOP, ended()),
    ]
    ends = [signal for _ in range(2) for signal in take(reader, *turn) if isinstance(signal, TurnEnded)]
    assert [end.messages for end in ends] == [2, 2]
    assert (reader.turns, reader.good, reader.meter.messages) == (4, 4, 4)
    assert (reader.meter.floor, reader.meter.context, reader.meter.usage.output) == (30_000, 31_000, 7)


def test_without_a_stream_messages_with_one_id_are_told_apart_by_what_comes_between() -> None:
    reader = Reader()
    blocks = [said("", "always", 30_000, ToolUseBlock(name, "Bash", {})) for name in ("t1", "t2")]
    turn = [*blocks, result_of("t1"), result_of("t2"), said("done", "always", 31_000), ended()]
    ends = [signal for _ in range(2) for signal in take(reader, *turn) if isinstance(signal, TurnEnded)]
    assert [end.messages for end in ends] == [2, 2]


def test_a_message_without_a_stream_is_one_of_its_own_also_when_a_stream_before_it_broke() -> None:
    reader = Reader()
    take(reader, start("m1", read=30_000), said("half", "m1", 30_000), said("whole", "m2", 30_000), said("", "m2", 0))
    assert (reader.turns, reader.meter.message_id) == (2, "m2")
