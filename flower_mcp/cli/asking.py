"""Questions at the terminal: may this tool run, and what the model itself asks. Answers in the shapes of runtime.

It reads the terminal without a thread, so that a question whose time is over takes no line that is typed later. Only
one question is open at a time. What can hurt: what was typed before the question appeared must not answer it, so it is
dropped; a process in the background is stopped by the system when it reads, so then nobody is here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import anyio

from flower_mcp.cli.keys import drop_typed, is_in_front
from flower_mcp.cli.output import Output, shorten
from flower_mcp.cli.words import Words
from flower_mcp.runtime.permissions import QUESTION_TOOL, Answer, Question, Reply, brief

_REPLIES = {"y": Reply.YES, "yes": Reply.YES, "n": Reply.NO, "no": Reply.NO, "a": Reply.ALWAYS, "always": Reply.ALWAYS}
_CHUNK = 4096  # bytes; a terminal gives one line at a time, and no line is longer than this


class Closed(Exception):
    """The terminal's input has ended, so nobody can answer any more."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One question of the model's: `options` are labels with descriptions; `many` may be chosen."""

    question: str
    options: tuple[tuple[str, str], ...]
    many: bool


class Terminal:
    """Asks the person at the terminal. `ask` is an Asker of runtime; its time limit is the caller's, who cancels it.

    `lent` is entered while a question is open: it keeps whoever else reads the terminal away.
    """

    def __init__(
        self,
        output: Output,
        words: Words,
        descriptor: int,
        lent: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:
        self._lent = lent
        self._output = output
        self._words = words
        self._descriptor = descriptor
        self._one = anyio.Lock()
        self._open: anyio.CancelScope | None = None
        self._over = False

    def give_up(self) -> None:
        """End the open question, and answer all later ones at once: nobody is here."""
        self._over = True
        if self._open is not None:
            self._open.cancel()

    async def ask(self, question: Question) -> Answer | None:
        """The person's answer; None when nobody answers."""
        answer: Answer | None = None
        async with self._one:
            with anyio.CancelScope() as self._open:
                try:
                    if not self._over and is_in_front(self._descriptor):
                        async with self._lent():
                            drop_typed(self._descriptor)
                            answer = await self._answer(question)
                except Closed:
                    self._over = True
                finally:
                    if answer is None:
                        is_models = question.tool == QUESTION_TOOL
                        self._output.line(f"\n{self._words('unanswered question' if is_models else 'unanswered')}")
        return answer

    async def _answer(self, question: Question) -> Answer:
        if question.tool == QUESTION_TOOL:
            return Answer(
                Reply.YES, {choice.question: await self._chosen(choice) for choice in choices(question.input)}
            )
        self._output.line(self._words("may", what=shorten(f"{question.tool}: {brief(question.input)}")))
        self._output.line(self._words("may how", tool=question.tool), end="")
        while True:
            reply = _REPLIES.get((await self._line()).lower())
            if reply is not None:
                return Answer(reply)
            self._output.line(self._words("again"), end="")

    async def _chosen(self, choice: Choice) -> str:
        """Put one of the model's questions: an option's label, several joined by commas, or the person's own text."""
        self._output.line(self._words("may", what=choice.question))
        for number, (label, description) in enumerate(choice.options, start=1):
            self._output.line(f"  {number}  {label}" + (f": {shorten(description)}" if description else ""))
        while True:
            self._output.line(self._words("choose many" if choice.many else "choose"), end="")
            if typed := await self._line():
                return picked(typed, choice)

    async def _line(self) -> str:
        """One line as it was typed, outer spaces off. Raises Closed."""
        typed = b""
        while not typed.endswith(b"\n"):
            await anyio.wait_readable(self._descriptor)
            try:
                piece = os.read(self._descriptor, _CHUNK)
            except OSError as error:
                raise Closed from error
            if not piece:
                raise Closed
            typed += piece
        self._output.answered()
        return typed.decode("utf-8", "replace").strip()


def choices(given: Mapping[str, Any]) -> Iterator[Choice]:
    """The questions in the input of AskUserQuestion; what is not shaped like one is left out."""
    for asked in _mappings(given.get("questions")):
        options = tuple(
            (str(option.get("label") or ""), str(option.get("description") or ""))
            for option in _mappings(asked.get("options"))
        )
        if asked.get("question"):
            yield Choice(str(asked["question"]), options, bool(asked.get("multiSelect")))


def picked(typed: str, choice: Choice) -> str:
    """What a typed line chooses: the labels of its numbers, if all of it is numbers of options; else its own text."""
    parts = re.split("[,\uff0c\u3001]", typed) if choice.many else [typed]
    numbers = [int(part) for part in parts if part.strip().isascii() and part.strip().isdigit()]
    if len(numbers) == len(parts) and all(1 <= number <= len(choice.options) for number in numbers):
        return ", ".join(choice.options[number - 1][0] for number in numbers)
    return typed


def _mappings(value: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []
