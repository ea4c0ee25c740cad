"""What went wrong with contexts and costs elsewhere, and what happens here: a row for each field report, by its number.

The numbers and names are those of the reports that the project was given, group (a). Where a report is about something
else than the meter, its row asks whatever is responsible.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, ResultMessage, TextBlock

from flower_mcp.core.books import State
from flower_mcp.core.decide import Ending, Guard, Move, decide
from flower_mcp.core.errors import Usage as Refused
from flower_mcp.core.estimate import REQUEST_FLOOR, Characters
from flower_mcp.core.figures import Cost
from flower_mcp.core.meter import Condition, Meter, Usage, Watermark
from flower_mcp.core.overflow import is_overflow, stated_limit
from flower_mcp.core.policy import HandoffPolicy, guess_window
from flower_mcp.runtime.costs import Costs
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.signals import TurnEnded

POLICY = HandoffPolicy(window=200_000)


def api(input: int = 0, creation: int = 0, read: int = 0, output: int = 0, **more: Any) -> dict[str, Any]:
    """A usage object of the API."""
    figures = {"cache_creation_input_tokens": creation, "cache_read_input_tokens": read, "output_tokens": output}
    return {"input_tokens": input, **figures, **more}


def fed(*usages: dict[str, Any]) -> Meter:
    """A meter after messages with these usages."""
    meter = Meter()
    for number, usage in enumerate(usages):
        meter = meter.message(f"m{number}", Usage.read(usage))
    return meter


def said(message_id: str, usage: dict[str, Any], parent: str | None = None) -> AssistantMessage:
    return AssistantMessage([TextBlock("on")], "m", parent_tool_use_id=parent, usage=usage, message_id=message_id)


def ended(cost: float | None, **more: Any) -> ResultMessage:
    return ResultMessage("success", 1, 1, False, 1, "s", total_cost_usd=cost, result="Done.", **more)


def read(*messages: object) -> tuple[Reader, list[Cost | None]]:
    """A reader after these messages, and the costs of the turns that ended."""
    reader, costs = Reader(), list[Cost | None]()
    for message in messages:
        costs += [signal.cost_usd for signal in reader.take(message) if isinstance(signal, TurnEnded)]
    return reader, costs


def r1_a_clients_percentage() -> None:
    policy = HandoffPolicy(window=1_000_000, headroom=400_000)
    assert fed(api(read=170_000)).watermark(policy) is Watermark.BELOW
    assert fed(api(read=600_000)).watermark(policy) is Watermark.DUE
    assert policy.at == 600_000


def r2_figures_above_the_window() -> None:
    meters = [fed(*[api(read=tokens) for tokens in (150_001, 210_000, 300_000, 671_000)[: n + 1]]) for n in range(4)]
    assert [meter.watermark(POLICY) for meter in meters] == [Watermark.DUE] * 4  # one session, so one handoff
    assert [Condition.ABOVE_WINDOW in meter.conditions(POLICY) for meter in meters] == [False, True, True, True]
    assert decide(State.WORKING, Ending.LINE, Guard.FRESH).move is Move.FAIL  # a successor that starts above it


def r3_unknown_names() -> None:
    names = {
        "mimo-v2.5-pro": 1_000_000, "glm-4.6[1m]": 1_000_000, "anthropic/claude-opus-4.6": 1_000_000,
        "us.anthropic.claude-haiku-4-5-v1:0": 200_000, "claude-opus-4-6@20260115": 1_000_000, "": 1_000_000,
        "bedrock/converse/claude-haiku": 200_000, "deepseek-chat": 1_000_000, "kimi-k2.5:cloud": 1_000_000,
    }  # fmt: skip
    assert {name: guess_window({"ANTHROPIC_MODEL": name}) for name in names} == names


def r4_a_window_below_the_floor() -> None:
    meter, policy = fed(api(24_000)), HandoffPolicy(window=32_000)
    assert (meter.messages, meter.watermark(policy)) == (1, Watermark.DUE)
    assert decide(State.WORKING, Ending.LINE, Guard.FRESH).next is State.FAILED


def r5_an_overflow_that_states_its_limit() -> None:
    text = "prompt is too long: 140211 tokens > 131072 maximum"
    assert is_overflow(text)
    assert stated_limit(text) == 131_072
    assert POLICY.with_window(131_072).at == 131_072 - 32_768


def r7_messages_of_subagents() -> None:
    reader, _ = read(
        said("m1", api(read=40_000)), said("s1", api(read=180_000), "toolu_1"), said("m2", api(read=41_000))
    )
    assert (reader.meter.context, reader.meter.watermark(POLICY)) == (41_000, Watermark.BELOW)


def r8_a_results_summed_usage() -> None:
    reader, _ = read(said("m1", api(read=90_000)), ended(1.0, usage=api(read=14_800_000)))
    assert reader.meter.context == 90_000


def r9_nearly_all_of_it_cached() -> None:
    meter = fed(api(3, 900, 161_000, 700))
    assert meter.context == 161_903
    assert meter.watermark(POLICY) is Watermark.DUE


def r11_a_providers_total() -> None:
    assert fed(api(12_000, 0, 300_000, total_tokens=12_000)).context == 312_000


def r12_cache_reads_are_not_summed() -> None:
    assert fed(*[api(read=50_000)] * 10).watermark(POLICY) is Watermark.BELOW


def r13_one_message_in_several_parts() -> None:
    reader, _ = read(*[said("m1", api(7, 1_000, 30_000, output)) for output in (1, 40, 350)])
    assert (reader.meter.messages, reader.meter.usage.output, reader.turns) == (1, 350, 1)


def r14_a_gateway_that_reports_nothing() -> None:
    meter = Meter()
    for number in range(3):
        meter = meter.message(f"m{number}", Usage.read(None if number else api())).more(Characters(240_000))
    assert meter.conditions(POLICY) == (Condition.UNKNOWN,)
    assert meter.is_estimated
    assert meter.watermark(POLICY) is Watermark.DUE


def r16_a_line_in_another_form() -> None:
    for wrong in ("60%", "abc", -1, float("nan"), True):
        for name in ("window", "headroom"):
            with pytest.raises(Refused, match=name):
                HandoffPolicy(**{name: wrong})  # type: ignore[arg-type]
    with pytest.raises(Refused, match="window must be a number above 0"):
        HandoffPolicy(window=0.6)  # type: ignore[arg-type]  # a share
    assert HandoffPolicy(window=200_000, headroom=0.6).advice()  # type: ignore[arg-type]


def r17_chinese_and_what_no_message_shows() -> None:
    assert Characters.of("交" * 30_000).tokens >= 20_000
    meter = Meter().more(Characters.of("交" * 30_000))
    for number in range(3):
        meter = meter.message(f"m{number}", Usage())
    assert meter.context >= REQUEST_FLOOR + 20_000
    assert meter.floor == meter.context
    assert POLICY.next_request_limit == 180_000  # room to write the handoff in


def r18_an_agent_that_never_hands_off_by_itself() -> None:
    state, moves = State.WORKING, list[Move]()
    for ending in (Ending.LINE, Ending.DRAINED, Ending.UNWRITTEN):
        row = decide(state, ending)
        state, moves = row.next, [*moves, row.move]
    assert moves == [Move.DRAIN, Move.ASK, Move.DEGRADE]


def r19_tokens_not_time() -> None:
    for read_from in (Meter.message, Meter.watermark, Meter.more):
        assert not {"now", "time", "seconds"} & set(inspect.signature(read_from).parameters)
    assert fed(*[api(read=50_000)] * 5_000).watermark(POLICY) is Watermark.BELOW


def r21_a_new_session_inherits_nothing() -> None:
    assert fed(api(read=180_000)).watermark(POLICY) is Watermark.DUE
    assert Reader().meter == Meter()
    assert fed(api(read=20_000)).watermark(POLICY) is Watermark.BELOW


def r22_no_cost_and_a_cost_of_nothing() -> None:
    costs = Costs()
    assert (costs.of("killed"), costs.total) == (None, None)
    costs.report("free", Cost(0.0))
    assert (costs.of("free"), costs.of("killed")) == (0.0, None)


def r23_cost_includes_agents_and_context_does_not() -> None:
    usage = {"opus": {"inputTokens": 9_000_000, "costUSD": 1.0}, "haiku": {"inputTokens": 90, "costUSD": 0.5}}
    reader, costs = read(said("m1", api(read=90_000)), ended(1.5, model_usage=usage))
    assert (costs, reader.meter.context) == ([1.5], 90_000)


REPORTS: dict[str, Callable[[], None]] = {
    "1 anthropics/claude-code#36014: the client's own percentage": r1_a_clients_percentage,
    "2 anthropics/claude-code#73399: the API takes more than the window": r2_figures_above_the_window,
    "3 anthropics/claude-code#72462: unknown model names": r3_unknown_names,
    "4 eltmon/overdeck#2441: the floor fills the window": r4_a_window_below_the_floor,
    "5 Gitlawb/openclaude#805: an overflow states the limit": r5_an_overflow_that_states_its_limit,
    "7 Mng-dev-ai/agentrove#231: messages of subagents": r7_messages_of_subagents,
    "8 Mng-dev-ai/agentrove#298: a result's summed usage": r8_a_results_summed_usage,
    "9 JanDeDobbeleer/oh-my-posh#7097: nearly all of it cached": r9_nearly_all_of_it_cached,
    "11 anomalyco/opencode#47832: a provider's total": r11_a_providers_total,
    "12 tintinweb/pi-subagents#39: summed cache reads": r12_cache_reads_are_not_summed,
    "13 DataDog/dd-trace-py#19234: one message in several parts": r13_one_message_in_several_parts,
    "14 earendil-works/pi#2017: usage that is always empty": r14_a_gateway_that_reports_nothing,
    "16 jundot/omlx#2400: a share where tokens are meant": r16_a_line_in_another_form,
    "17 NousResearch/hermes-agent#1877: estimates that are too low": r17_chinese_and_what_no_message_shows,
    "18 NousResearch/hermes-agent#77790: no handoff by itself": r18_an_agent_that_never_hands_off_by_itself,
    "19 NousResearch/hermes-agent#54102: a handoff by time": r19_tokens_not_time,
    "21 zts212653/clowder-ai#1208: state that is inherited": r21_a_new_session_inherits_nothing,
    "22 calebevans/mulder#148: cost 0 and cost unknown": r22_no_cost_and_a_cost_of_nothing,
    "23 promptfoo/promptfoo#10455: cost includes agents": r23_cost_includes_agents_and_context_does_not,
}


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_a_report_from_the_field_does_not_happen_here(report: Callable[[], None]) -> None:
    report()
