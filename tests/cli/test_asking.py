"""Questions at a real pseudo-terminal, answered, unanswered, and answered with anything."""

from __future__ import annotations

import io
import os
import pty
import select
import sys
import termios
from collections.abc import Iterator
from functools import partial

import anyio
import pytest

from flower_mcp.cli.asking import Choice, Terminal, choices, picked
from flower_mcp.cli.keys import Key, Keys
from flower_mcp.cli.output import Output
from flower_mcp.cli.words import Words
from flower_mcp.runtime.permissions import Answer, Question, Reply
from tests.e2e.harness import wait_until_async

pytestmark = pytest.mark.anyio

BASH = Question("Bash", {"command": "rm -rf build"})
COLOURS = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
            "multiSelect": False,
        },
        {"question": "Which sizes?", "options": [{"label": "S"}, {"label": "M"}, {"label": "L"}], "multiSelect": True},
    ]
}


class Person:
    """Both ends of a pseudo-terminal, and what was shown."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keyboard, self.input = pty.openpty()
        self._screen = io.StringIO()
        monkeypatch.setattr(sys, "stdout", self._screen)
        self.output = Output()
        self.terminal = Terminal(self.output, Words(), self.input)

    @property
    def seen(self) -> str:
        """What was shown."""
        return self._screen.getvalue()

    def type(self, text: str) -> None:
        """Type."""
        os.write(self.keyboard, text.encode())

    def _is_asked_since(self, length: int) -> bool:
        return len(self.seen) > length and self.seen.endswith(": ")

    async def answers(self, question: Question, *typed: str, limit: float = 10.0) -> Answer | None:
        """Ask, and type each text once the next prompt is there."""
        answer: list[Answer | None] = []

        async def ask() -> None:
            answer.append(await self.terminal.ask(question))

        with anyio.fail_after(limit):
            async with anyio.create_task_group() as tasks:
                before = len(self.seen)
                tasks.start_soon(ask)
                for text in typed:
                    await wait_until_async(partial(self._is_asked_since, before))
                    before = len(self.seen)
                    self.type(text)
        return answer[0]


def _is_shown(person: Person, text: str, times: int) -> bool:
    return person.seen.count(text) == times


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    """Somebody at a terminal."""
    person = Person(monkeypatch)
    yield person
    for descriptor in (person.keyboard, person.input):
        os.close(descriptor)


@pytest.mark.parametrize(
    ("typed", "reply"),
    [("y\n", Reply.YES), ("YES\n", Reply.YES), ("n\n", Reply.NO), ("a\n", Reply.ALWAYS), (" always \n", Reply.ALWAYS)],
)
async def test_a_tool_is_allowed_refused_or_always_allowed(person: Person, typed: str, reply: Reply) -> None:
    assert await person.answers(BASH, typed) == Answer(reply)
    assert "? Bash: rm -rf build\n" in person.seen


async def test_anything_else_is_asked_again_and_enter_alone_is_no_yes(person: Person) -> None:
    assert await person.answers(BASH, "\n", "what?\n", "y\n") == Answer(Reply.YES)
    assert person.seen.count("please answer") == 2


async def test_what_was_typed_before_the_question_does_not_answer_it(person: Person) -> None:
    person.type("y\n")
    await wait_until_async(lambda: select.select([person.input], [], [], 0)[0])

    assert await person.answers(BASH, "n\n") == Answer(Reply.NO)


async def test_a_question_whose_time_is_over_takes_no_later_line(person: Person) -> None:
    with anyio.move_on_after(0.2) as limit:
        await person.terminal.ask(BASH)
    assert limit.cancelled_caught
    assert person.seen.endswith("no answer: refused\n")

    person.type("for somebody else\n")
    await wait_until_async(lambda: select.select([person.input], [], [], 0)[0])
    assert os.read(person.input, 100) == b"for somebody else\n"


async def test_an_unanswered_question_of_the_models_is_not_refused(person: Person) -> None:
    with anyio.move_on_after(0.2):
        await person.terminal.ask(Question("AskUserQuestion", COLOURS))
    assert person.seen.endswith("no answer: the model is told to decide\n")
    assert "refused" not in person.seen


async def test_after_a_time_limit_the_next_question_is_answered(person: Person) -> None:
    with anyio.move_on_after(0.1):
        await person.terminal.ask(BASH)

    assert await person.answers(BASH, "y\n") == Answer(Reply.YES)


async def test_giving_up_ends_the_open_question_and_all_later_ones(person: Person) -> None:
    answers: list[Answer | None] = []

    async def ask() -> None:
        answers.append(await person.terminal.ask(BASH))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(ask)
            await wait_until_async(lambda: "allow it?" in person.seen)
            person.terminal.give_up()
        await ask()

    assert answers == [None, None, None]
    assert person.seen.count("allow it?") == 1


async def test_two_questions_at_once_are_put_one_after_the_other(person: Person) -> None:
    answers: dict[str, Answer | None] = {}

    async def ask(tool: str) -> None:
        answers[tool] = await person.terminal.ask(Question(tool, {"command": tool}))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "Bash")
            tasks.start_soon(ask, "Write")
            for number, typed in enumerate(("y\n", "n\n"), start=1):
                await wait_until_async(partial(_is_shown, person, "allow it?", number))
                person.type(typed)

    assert sorted(str(answer.reply) for answer in answers.values() if answer) == ["no", "yes"]


async def test_the_end_of_input_is_nobody(person: Person) -> None:
    end_of_input = termios.tcgetattr(person.input)[6][termios.VEOF].decode()

    assert await person.answers(BASH, end_of_input) is None
    assert await person.terminal.ask(BASH) is None


async def test_the_models_own_questions_are_answered_with_numbers_or_words(person: Person) -> None:
    answer = await person.answers(Question("AskUserQuestion", COLOURS), "2\n", "1, 3\n")

    assert answer == Answer(Reply.YES, {"Which colour?": "Blue", "Which sizes?": "S, L"})
    assert "  1  Red: warm\n" in person.seen


async def test_an_empty_line_answers_no_question_of_the_models(person: Person) -> None:
    answer = await person.answers(Question("AskUserQuestion", COLOURS), "\n", "green\n", "all\n")

    assert answer == Answer(Reply.YES, {"Which colour?": "green", "Which sizes?": "all"})


@pytest.mark.parametrize(
    ("typed", "many", "expected"),
    [
        ("1", False, "Red"),
        ("3", False, "3"),
        ("0", False, "0"),
        ("1,2", False, "1,2"),
        ("1,2", True, "Red, Blue"),
        ("1\uff0c2", True, "Red, Blue"),
        ("1, x", True, "1, x"),
        ("blue", False, "blue"),
    ],
)
async def test_numbers_choose_options_and_all_else_is_the_answer(typed: str, many: bool, expected: str) -> None:
    assert picked(typed, Choice("?", (("Red", ""), ("Blue", "")), many)) == expected


def _is_by_key(person: Person) -> bool:
    return not termios.tcgetattr(person.input)[3] & (termios.ICANON | termios.ECHO)


async def test_a_question_takes_the_terminal_from_the_keys_and_gives_it_back(person: Person) -> None:
    keys, pressed = Keys(person.input), []
    person.terminal = Terminal(person.output, Words(), person.input, keys.lent)

    async def act(key: Key) -> None:
        pressed.append(key)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keys.run, act)
            keys.open()
            await wait_until_async(lambda: _is_by_key(person))
            answer = await person.answers(BASH, "h\n", "y\n")
            await wait_until_async(lambda: _is_by_key(person))
            person.type("h")
            await wait_until_async(lambda: pressed)
            keys.close()
            assert not _is_by_key(person)
            tasks.cancel_scope.cancel()

    assert answer == Answer(Reply.YES)
    assert pressed == [Key.HOLD]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("H", [Key.HOLD]), ("\r", [Key.LAUNCH]), ("\x1b[A\x1bqq", [Key.STOP]), ("xh", [Key.HOLD]), ("a pasted q", [])],
)
async def test_arrows_other_keys_and_pasted_text_ask_for_nothing(
    person: Person, typed: str, expected: list[Key]
) -> None:
    keys, pressed = Keys(person.input), []

    async def act(key: Key) -> None:
        pressed.append(key)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keys.run, act)
            keys.open()
            await wait_until_async(lambda: _is_by_key(person))
            person.type(typed)
            await wait_until_async(lambda: not select.select([person.input], [], [], 0)[0])
            person.type("h")
            await wait_until_async(lambda: len(pressed) > len(expected))
            tasks.cancel_scope.cancel()

    assert pressed == [*expected, Key.HOLD]


@pytest.mark.parametrize("given", [{}, {"questions": None}, {"questions": ["x", {"question": ""}, {"options": 3}]}])
async def test_what_is_not_shaped_like_a_question_is_left_out(given: dict[str, object]) -> None:
    assert list(choices(given)) == []
