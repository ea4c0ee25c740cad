"""What a reader counts of a session's text, for the case that its endpoint reports no figures."""

from __future__ import annotations

from claude_agent_sdk import TextBlock, ThinkingBlock, ToolUseBlock, UserMessage

from flower_mcp.core.estimate import REQUEST_FLOOR, Characters
from flower_mcp.core.figures import Context
from flower_mcp.core.meter import Left, Meter
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.signals import Measured
from tests.runtime.test_reader import result_of, said, start, system, take


def test_tool_results_and_nothing_else_count_as_added() -> None:
    reader = Reader()
    parts = [{"type": "text", "text": "abc"}, {"type": "image", "source": {}}, {"type": "text", "text": "defg"}]
    take(
        reader,
        said("a", "m1", 90_000, ToolUseBlock("t1", "Bash", {"command": "ls"})),
        result_of("t1", "x" * 300),
        result_of("t2", parts),
        result_of("t3", None),
        UserMessage("[Request interrupted by user]"),
    )
    assert reader.meter.added == Characters(300 + len("abc\n\ndefg"))
    take(reader, said("b", "m2", 90_100))
    assert reader.meter.added == Characters()


def test_prompts_answers_and_results_of_the_main_thread_are_all_counted() -> None:
    reader = Reader()
    reader.expect("prompt", "字" * 3_000)
    call = ToolUseBlock("t1", "Bash", {"command": "é"})
    take(reader, start("m1"), said("a" * 30, "m1"), said("", "m1", 0, call), result_of("t1", "x" * 300))
    take(reader, said("b" * 9_000, "s1", parent_tool_use_id="t9"), result_of("t2", "y" * 9_000, parent="t9"))
    take(reader, start("m2"))
    thinking = said("", "m2", 0)
    thinking.content = [ThinkingBlock("c" * 60, "signature"), TextBlock("d")]
    take(reader, thinking, start("m3"))
    assert reader.meter.is_estimated
    assert reader.meter.carried == Characters(30 + len('Bash{"command": "é"}') + 300 + 60 + 1, 3_000)
    assert reader.meter.context == REQUEST_FLOOR + reader.meter.carried.tokens


def test_an_estimate_is_told_like_a_figure() -> None:
    reader = Reader()
    signals = take(reader, *[start(f"m{n}") for n in range(4)])
    assert [signal.meter.is_estimated for signal in signals if isinstance(signal, Measured)] == [True]


def test_a_resumed_sessions_reader_goes_on_from_what_was_left() -> None:
    reader = Reader(Meter.resumed(Left(Context(90_000), estimated=True)))
    reader.expect("prompt", "x" * 300)
    take(reader, start("m1"))
    assert reader.meter.context == 90_100


def test_a_compaction_is_no_fall() -> None:
    reader = Reader()
    take(reader, said("a", "m1", 180_000), system("compact_boundary", compact_metadata={"post_tokens": 20_000}))
    assert reader.meter.context == 20_000
    take(reader, said("b", "m2", 25_000), said("c", "m3", 26_000))
    assert not reader.meter.fell
    for metadata in (None, {}, {"post_tokens": "many"}):
        take(reader, system("compact_boundary", compact_metadata=metadata))
        assert reader.meter.context == 0
