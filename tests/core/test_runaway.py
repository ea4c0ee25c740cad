"""Going round in circles: generations that come to nothing, and starts that fail alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.failures import Failure
from flower_mcp.core.figures import Context
from flower_mcp.core.runaway import Starts, Worked, are_thin, starts_far_above

LINE = 150_000


def worked(floor: int, context: int, line: int = LINE, counts: bool = True) -> Worked:
    return Worked(Context(floor), Context(context), line, counts)


@pytest.mark.parametrize(
    ("generation", "is_thin"),
    [
        pytest.param(worked(30_000, 49_999), True, id="19,999 tokens worked"),
        pytest.param(worked(30_000, 50_000), False, id="20,000 tokens worked"),
        pytest.param(worked(30_000, 31_000, counts=False), False, id="a person asked for it, or it was resumed"),
        pytest.param(worked(20_000, 24_999, 30_000), True, id="a small window, less than half of its room"),
        pytest.param(worked(20_000, 25_000, 30_000), False, id="a small window, half of its room"),
        pytest.param(worked(30_000, 33_000, 35_000), False, id="a line that is low on purpose"),
        pytest.param(worked(30_000, 45_000, 30_000), True, id="no room at all"),
        pytest.param(worked(160_000, 30_000), True, id="it ended below its floor"),
    ],
)
def test_a_generation_is_thin_when_it_came_to_nothing(generation: Worked, is_thin: bool) -> None:
    assert generation.is_thin is is_thin


FULL, THIN, ASKED = worked(30_000, 150_000), worked(30_000, 33_000), worked(30_000, 33_000, counts=False)


@pytest.mark.parametrize(
    ("generations", "circling"),
    [
        pytest.param([], False, id="none"),
        pytest.param([THIN], False, id="one"),
        pytest.param([THIN, THIN], True, id="two in a row"),
        pytest.param([FULL, THIN, THIN], True, id="two in a row after a full one"),
        pytest.param([THIN, FULL, THIN], False, id="with a full one between"),
        pytest.param([THIN, THIN, FULL], False, id="over"),
        pytest.param([THIN, ASKED, THIN], False, id="with one that was asked for between"),
        pytest.param([ASKED, ASKED, ASKED], False, id="a person who asks again and again"),
    ],
)
def test_two_thin_generations_in_a_row_are_a_circle(generations: list[Worked], circling: bool) -> None:
    assert are_thin(generations) is circling


@pytest.mark.parametrize(("floor", "far"), [(20_000, False), (50_000, False), (50_001, True), (5_000, False)])
def test_a_successor_starts_far_above_the_first_session_from_20_000_tokens_on(floor: int, far: bool) -> None:
    assert starts_far_above(Context(30_000), Context(floor)) is far


def after(*failures: tuple[str, str]) -> Starts:
    starts = Starts()
    for kind, words in failures:
        starts = starts.failed(kind, words)
    return starts


DIED, SILENT = Failure.CLI_DIED, Failure.SILENT


@pytest.mark.parametrize(
    ("failures", "hopeless"),
    [
        pytest.param([(DIED, "exit code 1")] * 2, False, id="two alike"),
        pytest.param([(DIED, "exit code 1")] * 3, True, id="three alike"),
        pytest.param([(DIED, f"exit code {n}") for n in range(3)], True, id="numbers may differ"),
        pytest.param(
            [(DIED, f"Request req_011{n}abc failed, 0000000{n}-1111-2222-3333-444444444444") for n in "abc"],
            True, id="ids may differ",
        ),
        pytest.param([(DIED, "a"), (DIED, "b"), (DIED, "a"), (DIED, "b")], False, id="other words"),
        pytest.param([(DIED, "a"), (SILENT, "a"), (DIED, "a")], False, id="another kind"),
        pytest.param([(DIED, "b"), *[(DIED, "a")] * 3], True, id="the last three count"),
    ],
)  # fmt: skip
def test_three_starts_that_fail_alike_are_hopeless(failures: list[tuple[str, str]], hopeless: bool) -> None:
    assert after(*failures).are_hopeless is hopeless


@given(st.lists(st.tuples(st.sampled_from(["x", "y"]), st.text()), max_size=8))
def test_any_words_can_be_taken_in(failures: list[tuple[str, str]]) -> None:
    starts = after(*failures)
    assert 0 <= starts.count <= len(failures)
    assert len(starts.words) <= 1_000
