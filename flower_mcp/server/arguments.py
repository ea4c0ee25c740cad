"""The tools' arguments: their types as clients see them, and checks whose errors a model can act on.

Schemas are flat: texts and one enumeration, the optional ones "" and never null, since some clients refuse a whole
server for one union or reference. What can hurt: the SDK drops an argument that it does not know without a word, and
answers a wrong type with pydantic's text and an address; so calls are checked before it sees them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from flower_mcp.core.errors import Usage

LONGEST = 200_000  # characters of one text
_SHOWN = 60  # characters of a wrong value that an error repeats
_REVISION = re.compile(r"[0-9a-f]{12}")
_NEW = "new"


def _number_as_text(value: object) -> object:
    """Numbers are texts here; a model sends 2 as readily as "2"."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _or_replace(value: object) -> object:
    return "replace" if value == "" else value


Step = Annotated[str, Field(description="Step name; leave out if there is one step")]
Expected = Annotated[
    str, Field(description='Revision you read, refused if the document changed since; "new": only if there is none')
]
Doing = Annotated[str, Field(description="What is in hand and how far it is: what works, what is half done")]
Next = Annotated[str, Field(description="Concrete steps in order, so that the successor can act at once")]
Decided = Annotated[str, Field(description="Decisions with their reasons")]
DeadEnds = Annotated[str, Field(description="What was tried, what happened, why it cannot work")]
Scene = Annotated[str, Field(description="Paths, branches, commands, ports")]
Section = Annotated[str, Field(description="doing, decided, deadends, next, scene, or the heading's name")]
SectionText = Annotated[str, Field(description="New text, markdown")]
Mode = Annotated[
    Literal["replace", "append"], BeforeValidator(_or_replace), Field(description="replace the section or append to it")
]
GenerationNumber = Annotated[
    str, BeforeValidator(_number_as_text), Field(description="An earlier session's number, for its document")
]
Offset = Annotated[str, BeforeValidator(_number_as_text), Field(description="From the page before")]


@dataclass(frozen=True, slots=True)
class Shape:
    """What one tool takes: its arguments in order, which of them are required, and the enumerations."""

    known: Sequence[str]
    required: frozenset[str]
    choices: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, schema: Mapping[str, Any]) -> Shape:
        """From a tool's input schema."""
        properties: Mapping[str, Any] = schema.get("properties", {})
        choices = {name: tuple(each["enum"]) for name, each in properties.items() if "enum" in each}
        return cls(tuple(properties), frozenset(schema.get("required", ())), choices)

    def complaint(self, arguments: object) -> str:
        """What is wrong with a call's arguments, "" when nothing is. Looks at names and types alone."""
        if not isinstance(arguments, Mapping):
            return f"The arguments must be an object with {self._list()}."
        for name, value in arguments.items():
            if name not in self.known:
                near = difflib.get_close_matches(str(name)[:_SHOWN], self.known, 1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                return f"There is no argument {str(name)[:_SHOWN]!r}.{hint} The arguments are {self._list()}."
            number = isinstance(value, int) and not isinstance(value, bool) and name in {"generation", "offset"}
            if not isinstance(value, str) and not number:
                return f'The argument {name!r} must be a text. Send a string, or "" to leave it out.'
            if name in self.choices and value not in ("", *self.choices[name]):
                return f"The argument {name!r} must be {' or '.join(self.choices[name])}, not {str(value)[:_SHOWN]!r}."
        missing = [name for name in self.known if name in self.required and name not in arguments]
        if missing:
            return f"The argument {' and '.join(map(repr, missing))} is missing. Call again with it filled in."
        return ""

    def _list(self) -> str:
        return ", ".join(name if name in self.required else f"{name} (optional)" for name in self.known)


def check_text(name: str, text: str) -> None:
    """Raise Usage for a text that cannot be kept as it is."""
    if len(text) > LONGEST:
        raise Usage(
            f"`{name}` has {len(text):,} characters; {LONGEST:,} are the most.",
            kept="Nothing was written.",
            next="Shorten it: give paths in place of contents.",
        )
    if "\0" in text:
        raise Usage(
            f"`{name}` holds a NUL character, at position {text.index(chr(0))}.",
            kept="Nothing was written.",
            next="Send it again without that character.",
        )


def expected_revision(given: str) -> str | None:
    """The revision that must be there: None for any, "new" for none. Raises Usage for what is no revision."""
    if not given:
        return None
    if given == _NEW or _REVISION.fullmatch(given):
        return given
    raise Usage(
        f"{given[:_SHOWN]!r} is no revision.",
        kept="Nothing was written.",
        next='A revision is 12 hex digits, as read_handoff shows it; "new" means that there must be no document.',
    )


def number(name: str, given: str, least: int) -> int | None:
    """A whole number given as text; None for "". Raises Usage."""
    if not given:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", given) or int(given) < least:
        raise Usage(f"`{name}` must be a whole number, {least} or more, not {given[:_SHOWN]!r}.", next="Call it again.")
    return int(given)
