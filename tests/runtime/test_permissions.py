"""Questions to the person: with somebody there, with nobody, and with somebody who does not answer in time."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest
from claude_agent_sdk import PermissionResult, PermissionResultAllow, PermissionResultDeny
from claude_agent_sdk.types import ToolPermissionContext

from flower_mcp.runtime.permissions import (
    ASK_LIMIT,
    NOBODY,
    NOT_ALLOWED,
    QUESTION_TOOL,
    Answer,
    Asker,
    Permissions,
    Question,
    Reply,
    brief,
)
from flower_mcp.runtime.record import Record

pytestmark = pytest.mark.anyio
COMMAND = {"command": "rm -rf  build\n&& echo done"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Told:
    """Stands for the record: keeps what is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, Any]]] = []

    def event(self, kind: str, text: str = "", **payload: Any) -> None:
        self.events.append((str(kind), text, payload))


class Person:
    """Answers what it was told to, and remembers what it was asked."""

    def __init__(self, *answers: Answer | None) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Answer | None:
        self.asked.append(question)
        return self.answers.pop(0)


def permissions(ask: Asker | None, *, limit: float = ASK_LIMIT) -> tuple[Permissions, Told]:
    told = Told()
    return Permissions(cast(Record, told), ask, limit=limit), told


async def may(asked: Permissions, tool: str, given: dict[str, Any], title: str | None = None) -> PermissionResult:
    return await asked.callback(tool, given, ToolPermissionContext(title=title))


async def test_with_nobody_there_a_tool_is_refused_with_a_reason_and_listed() -> None:
    asked, told = permissions(None)
    assert await may(asked, "Bash", COMMAND) == PermissionResultDeny(message=NOT_ALLOWED)
    assert asked.denied == ["Bash: rm -rf build && echo done"]
    assert told.events == [("permission", "Bash: rm -rf build && echo done", {"tool": "Bash", "asked": False})]


async def test_a_refusal_lets_the_model_go_on() -> None:
    asked, _ = permissions(Person(Answer(Reply.NO)))
    for result in (await may(asked, "Bash", COMMAND), await may(permissions(None)[0], "Bash", COMMAND)):
        assert isinstance(result, PermissionResultDeny)
        assert result.message
        assert not result.interrupt


async def test_yes_allows_this_one_time_and_no_refuses_without_being_listed() -> None:
    person = Person(Answer(Reply.YES), Answer(Reply.NO))
    asked, told = permissions(person)
    assert await may(asked, "Bash", COMMAND, "Run this?") == PermissionResultAllow()
    assert isinstance(await may(asked, "Bash", COMMAND), PermissionResultDeny)
    assert person.asked == [Question("Bash", COMMAND, "Run this?"), Question("Bash", COMMAND, "")]
    assert asked.denied == []
    assert [payload["asked"] for _, _, payload in told.events] == [True, True]


async def test_always_allows_that_tool_from_then_on_and_no_other() -> None:
    person = Person(Answer(Reply.ALWAYS), Answer(Reply.NO))
    asked, told = permissions(person)
    assert await may(asked, "Bash", COMMAND) == PermissionResultAllow()
    assert await may(asked, "Bash", {"command": "ls"}) == PermissionResultAllow()
    assert isinstance(await may(asked, "Write", {"file_path": "a"}), PermissionResultDeny)
    assert [question.tool for question in person.asked] == ["Bash", "Write"]
    assert len(told.events) == 2


async def test_always_in_one_run_is_nothing_to_the_next() -> None:
    first, _ = permissions(Person(Answer(Reply.ALWAYS)))
    await may(first, "Bash", COMMAND)
    second, _ = permissions(None)
    assert isinstance(await may(second, "Bash", COMMAND), PermissionResultDeny)


async def test_somebody_who_does_not_answer_in_time_is_nobody() -> None:
    cancelled = anyio.Event()

    async def asleep(question: Question) -> Answer | None:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return None

    asked, _ = permissions(asleep, limit=0.02)
    with anyio.fail_after(5):
        assert await may(asked, "Bash", COMMAND) == PermissionResultDeny(message=NOT_ALLOWED)
        assert await may(asked, QUESTION_TOOL, {"questions": []}) == PermissionResultDeny(message=NOBODY)
    assert cancelled.is_set()
    assert asked.denied == ["Bash: rm -rf build && echo done"]


async def test_somebody_who_turns_away_is_nobody() -> None:
    asked, _ = permissions(Person(None))
    assert await may(asked, "Bash", COMMAND) == PermissionResultDeny(message=NOT_ALLOWED)


@pytest.mark.parametrize(
    "person", [None, Person(None), Person(Answer(Reply.YES))], ids=["nobody", "silent", "no words"]
)
async def test_a_question_without_an_answer_is_answered_with_decide_and_note_it(person: Person | None) -> None:
    asked, _ = permissions(person)
    assert await may(asked, QUESTION_TOOL, {"questions": []}) == PermissionResultDeny(message=NOBODY)
    assert asked.denied == []


async def test_a_persons_answers_go_to_the_model_beside_its_questions() -> None:
    given = {"questions": [{"question": "Which one?"}]}
    asked, _ = permissions(Person(Answer(answers={"Which one?": "A"})))
    assert await may(asked, QUESTION_TOOL, given) == PermissionResultAllow(
        updated_input={"questions": [{"question": "Which one?"}], "answers": {"Which one?": "A"}}
    )


async def test_a_question_waits_ten_minutes_for_its_answer() -> None:
    assert ASK_LIMIT == 600.0


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (COMMAND, "rm -rf build && echo done"),
        ({"file_path": "a.txt", "content": "x"}, "a.txt"),
        ({"pattern": "*.py", "path": "src"}, "src"),
        ({"pattern": "*.py", "n": 1}, "*.py"),
        ({"description": "Read it", "prompt": "Read the manual."}, "Read it"),
        ({"prompt": "Read the manual.", "n": 1}, "Read the manual."),
        ({"command": 7, "url": "http://localhost"}, "http://localhost"),
        ({"n": 1, "文": "字"}, '{"n": 1, "文": "字"}'),
        ({}, "{}"),
        ({"odd": {1}}, '{"odd": "{1}"}'),
        ({"command": "x" * 500}, "x" * 200),
        ({"n": "x" * 500}, ('{"n": "' + "x" * 500)[:200]),
    ],
)
async def test_a_tools_input_is_told_on_one_short_line(given: dict[str, Any], line: str) -> None:
    assert brief(given) == line
