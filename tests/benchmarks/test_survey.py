"""The task of the comparison: what it orders, what it hands on, what it does not let pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.first_request import start_of
from benchmarks.measure import Void
from benchmarks.survey import CONTINUED, DONE, HANDED_ON, MARKS, SUMMARY_ASKED, Survey
from flower_mcp.core.handoff import Handoff
from flower_mcp.core.texts import load
from flower_mcp.demo.model import Reply, Request, Text, ToolUse

COUNT = 5
TOOLS = [{"name": "Bash"}]


@pytest.fixture
def survey(tmp_path: Path) -> Survey:
    made = Survey(tmp_path, COUNT, 800)
    made.write()
    return made


def sent(*words: str) -> Request:
    messages = [{"role": "user", "content": [{"type": "text", "text": each}]} for each in words]
    return Request(1, "", {}, {"tools": TOOLS, "messages": messages}, b"", 0.0)


def words_of(reply: Reply) -> str:
    block = reply.blocks[0]
    assert isinstance(block, Text)
    return block.text


def tools_of(reply: Reply) -> list[str]:
    return [block.name for block in reply.blocks if isinstance(block, ToolUse)]


def pieces(survey: Survey) -> list[Request]:
    """What the model would see when all went well, one piece a request."""
    return [sent(file.read_text()) for file in sorted(survey.folder.glob("piece-*.txt"))]


def mark(survey: Survey, *numbers: int) -> None:
    (survey.folder / MARKS).write_text("".join(f"{number}\n" for number in numbers))


def test_pieces_are_ordered_once_each_and_every_second_one_leaves_a_mark(survey: Survey) -> None:
    replies = [survey(sent("Go.")) for _ in range(COUNT)]
    assert [tools_of(reply) for reply in replies] == [["Read"], ["Bash"], ["Read"], ["Bash"], ["Read"]]
    assert words_of(survey(sent("Go."))) == DONE


def test_what_is_handed_on_is_equally_long_and_never_the_same_and_takes_no_piece(survey: Survey) -> None:
    documents = []
    for _ in range(COUNT):
        documents.append(words_of(survey(sent(load("handoff")))))
        summary = words_of(survey(sent(f"REMINDER: {SUMMARY_ASKED} plain text only.")))
        assert summary == f"<summary>\n{documents[-1]}\n</summary>"
        survey(sent("Go."))
    assert {len(each) for each in documents} == {HANDED_ON}
    assert len(set(documents)) == COUNT
    assert Handoff.from_markdown(documents[0]).complete()
    assert survey.told == COUNT


def test_a_survey_that_went_well_passes(survey: Survey) -> None:
    mark(survey, 1, 3)
    survey.check(pieces(survey))


@pytest.mark.parametrize("marks", [(1,), (1, 3, 3), (3, 1)], ids=["missing", "twice", "out of turn"])
def test_work_that_was_not_done_once_and_in_order_is_void(survey: Survey, marks: tuple[int, ...]) -> None:
    mark(survey, *marks)
    with pytest.raises(Void):
        survey.check(pieces(survey))


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 2, 1, 3, 4]], ids=["missing", "out of turn"])
def test_a_piece_that_the_model_did_not_see_in_its_turn_is_void(survey: Survey, order: list[int]) -> None:
    mark(survey, 1, 3)
    seen = pieces(survey)
    with pytest.raises(Void):
        survey.check([seen[number] for number in order])


def test_what_a_session_starts_with_is_told_apart(survey: Survey) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": f"{CONTINUED}.\n" + "d" * 4_000}]},
        {"role": "user", "content": [{"type": "text", "text": f"Result:\n{pieces(survey)[3].all_text()}"}]},
        {"role": "system", "content": "r" * 400},
    ]
    body = {"tools": TOOLS, "system": [{"type": "text", "text": "s" * 2_000}], "messages": messages}
    start = start_of(Request(1, "", {}, body, b"", 0.0))
    assert 500 < start.fixed < 530
    assert 1_000 < start.account < 1_050
    assert 200 < start.put_back < 230
    assert 100 < start.rest < 120
    assert start.total == start.fixed + start.account + start.put_back + start.rest
    assert f"put back {start.put_back}" in start.told
