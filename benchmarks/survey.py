"""A task of many equal pieces, and the script of a model that does it, whatever happens between two pieces.

Each piece is a file of real text that has to be looked at. Every second one is read with Read, which the CLI remembers
as a file that the session knows; the others with a command that also leaves a mark, so that what was done twice, never
or out of turn is seen on the disk. The document and the summary that are asked for on the way have the same length.

It knows how the CLI asks for a summary (seen with 2.1.332). It knows nothing of supervisors, usage or prices.

What can hurt: a script keeps its place by itself, so it never repeats or forgets work. What a real model would do with
the document or the summary, this cannot show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.measure import check
from flower_mcp.core.texts import load
from flower_mcp.demo.model import Reply, Request, Sender, asks, text, tool

LINE = 80  # characters
DONE = "All pieces are done."
MARKS = "done.txt"
NEWEST = 4  # messages, in which a result is when it is first sent: reminders and a prompt may follow it
HANDED_ON = 8_000  # characters of a document and of a summary
SUMMARY_ASKED = "Do NOT call any tools. Respond with"
CONTINUED = "This session is being continued from a previous conversation"
FIRST_LINE = re.compile(r"Piece (\d{5}), line 00000:")

is_handoff = asks(load("handoff").split(".")[0])


def is_compaction(request: Request) -> bool:
    """Whether the CLI asks for a summary of the conversation."""
    return any(SUMMARY_ASKED in words for words in request.last_texts()[-1:])


@dataclass(slots=True)
class Survey:
    """`count` pieces of `characters` each, in `folder`; `told` is how many were ordered so far."""

    folder: Path
    count: int
    characters: int
    told: int = 0
    handed_on: list[str] = field(default_factory=list)

    def write(self) -> None:
        """Write the pieces."""
        for number in range(self.count):
            self._file(number).write_text(self._text(number), encoding="utf-8")

    def __call__(self, request: Request) -> Reply:
        """The next piece, the end, or what is asked for on the way."""
        if request.sender is not Sender.MAIN:
            return text('{"title": "A survey"}')
        if is_handoff(request) or is_compaction(request):
            self.handed_on.append(self._account())
            words = self.handed_on[-1]
            return text(words if is_handoff(request) else f"<summary>\n{words}\n</summary>")
        if self.told == self.count:
            return text(DONE)
        self.told += 1
        return self._piece(self.told - 1)

    def check(self, requests: Iterable[Request]) -> None:
        """Raise Void unless every piece was done once, in order, and its text reached the model."""
        marks = (self.folder / MARKS).read_text(encoding="utf-8").split()
        check(marks == [str(number) for number in range(1, self.count, 2)], f"the marks on disk are {marks}")
        seen: dict[int, None] = {}
        for request in requests:
            newest = replace(request, body={"messages": request.messages[-NEWEST:]})
            seen |= dict.fromkeys(int(number) for number in FIRST_LINE.findall(newest.all_text()))
        check(list(seen) == list(range(self.count)), f"the model saw the pieces in this order: {list(seen)}")

    def _file(self, number: int) -> Path:
        return self.folder / f"piece-{number:05d}.txt"

    def _piece(self, number: int) -> Reply:
        file = self._file(number)
        if number % 2 == 0:
            return tool("Read", file_path=str(file))
        return tool("Bash", command=f"cat {file.name} && echo {number} >> {MARKS}", description="Look at a piece")

    def _text(self, number: int) -> str:
        lines = (
            f"Piece {number:05d}, line {line:05d}: {(number * 7919 + line * 104729) % 1000003:07d} were counted here."
            for line in range(self.characters // LINE)
        )
        return "".join(f"{line:<{LINE - 1}}\n" for line in lines)

    def _account(self) -> str:
        """What a session hands on, never twice the same, with sections that make a document complete."""
        head = f"## Doing\n\n{self.told} of {self.count} pieces are looked at.\n\n## Next\n\n- Piece {self.told:05d}.\n"
        findings = (f"- Piece {number:05d}: nothing out of the ordinary.\n" for number in range(self.count * 1000))
        body = head + "\n## Decided\n\n"
        for finding in findings:
            if len(body) + len(finding) > HANDED_ON:
                break
            body += finding
        return body.ljust(HANDED_ON - 1, ".") + "\n"
