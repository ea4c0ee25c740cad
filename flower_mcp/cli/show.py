"""Drawing: events and rows to lines of text. Everything that a person sees of a run is made here.

Values in, lines out; it writes nothing. What can hurt: model text is drawn as it
comes, so whoever writes the lines cleans them (output.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flower_mcp.cli.output import shorten
from flower_mcp.cli.phrases import cost_text, home_path
from flower_mcp.cli.show_edits import EditFacts, edit_lines
from flower_mcp.cli.show_waits import wait_lines
from flower_mcp.cli.show_windows import source_text, window_lines
from flower_mcp.cli.words import Words
from flower_mcp.core.books import Generation, StepResult, WrittenBy
from flower_mcp.core.events import Event, Kind, Phase
from flower_mcp.core.failures import Failure
from flower_mcp.core.texts import context_text, time_text, used_text, window_text
from flower_mcp.core.windows import DEAR, EARLIER

LONGEST_TEXT = 1500  # characters of a model's text on a live terminal; all of it is in events.jsonl
OTHER_WRITERS = {WrittenBy.REWOUND: "rewound", WrittenBy.BEFORE: "handed on"}  # not the session, yet not degraded
SECTIONS = ("doing", "decided", "deadends", "next")  # scene is pointers, read in the file


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a run before it starts. `asks`: somebody is at the terminal. `line`: the --at that was given."""

    step: str
    permission_mode: str = "default"
    asks: bool = False
    budget: float | None = None
    document: Path | None = None
    go_on: str = "flower"
    handoff: bool = True
    line: int | None = None
    edits: EditFacts = field(default_factory=EditFacts)
    workspace: Path | None = None  # paths in it are told from there


@dataclass(frozen=True, slots=True)
class End:
    """What is known when a run is over, beside its row."""

    manifest: Path
    go_on: str
    document: Path | None = None
    denied: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    said: str = ""  # the last text that was drawn, so that it is not drawn twice
    estimated: frozenset[int] = frozenset()  # sessions, by number, whose context is an estimate
    more: str = ""  # the command that gives the step another task
    permission_mode: str = "default"
    workspace: Path | None = None


class Log:
    """Draws a run's events, in order: some lines need what an earlier event said.

    `tool_line` cuts a tool's line to what one line of the terminal takes; with it long texts are cut, too.
    """

    def __init__(
        self, words: Words, facts: Facts, *, verbose: bool = False, tool_line: Callable[[str], str] | None = None
    ) -> None:
        self.said = ""
        self._tool_line = tool_line
        self._words = words
        self._facts = facts
        self._verbose = verbose
        self._begun = False
        self._context = ""  # of the session that hands off, when it was asked to
        self.estimated: dict[int, bool] = {}  # by session: whether its context was estimated when last told
        self._drawers: dict[str, Callable[[Event], list[str]]] = {
            Kind.TEXT: self._text,
            Kind.TOOL: self._tool,
            Kind.HANDOFF: self._handoff,
            Kind.EDIT: self._edit,
            Kind.PERMISSION: self._permission,
            Kind.CONTEXT: self._measured,
            Kind.ERROR: self._error,
            Kind.DRAIN: self._note,
            Kind.RETRY: self._note,
            Kind.WAIT: lambda event: wait_lines(words, event, facts.go_on),
        }

    def lines(self, event: Event, generation: int, advice: str | None = None) -> list[str]:
        """The lines for an event of the n-th session. `advice` is a remark on the headroom, for the first lines."""
        if event.kind == Kind.CONTEXT or (event.kind == Kind.SESSION and "estimated" in event.payload):
            self.estimated[generation] = bool(event.payload.get("estimated"))
        if event.kind == Kind.SESSION:
            return self._session(event, generation, advice)
        drawer = self._drawers.get(event.kind)
        return [] if drawer is None else drawer(event)

    def _text(self, event: Event) -> list[str]:
        if self._tool_line is None or self._verbose or len(event.text) <= LONGEST_TEXT:
            self.said = event.text
            return [event.text]
        self.said = ""  # so that the end tells all of it, if it is the result
        return [f"{event.text[:LONGEST_TEXT].rstrip()}…"]

    def _tool(self, event: Event) -> list[str]:
        text = shorten(near_call(event.text, self._facts.workspace))
        line = ("    · " if event.payload.get("by_agent") else "  · ") + text
        return [line if self._tool_line is None else self._tool_line(line)]

    def _measured(self, event: Event) -> list[str]:
        if "phase" in event.payload:
            return window_lines(self._words, event)
        return [self._words("context", **_contexts(event.payload))] if self._verbose else []

    def _note(self, event: Event) -> list[str]:
        return [f"  … {shorten(event.text)}"] if event.text else []

    def _error(self, event: Event) -> list[str]:
        """What is told at the end anyway is left out."""
        told_later = event.payload.get("final") or is_about_credentials(event)
        return [] if told_later else [f"! {shorten(event.text, 1000)}"]

    def _session(self, event: Event, generation: int, advice: str | None) -> list[str]:
        phase = event.payload.get("phase")
        if not self._begun and phase in (Phase.STARTED, Phase.RESUMED, Phase.LAUNCHED):
            self._begun = True
            return first_lines(self._words, self._facts, event.payload, generation, advice)
        if phase == Phase.LAUNCHED:
            context, self._context = self._context, ""
            return [self._words("launched", context=context or used_text(0))]
        return self._note(event)

    def _handoff(self, event: Event) -> list[str]:
        words, payload = self._words, event.payload
        phase = payload.get("phase")
        if phase == Phase.NEAR:
            return ["", words("near", **_contexts(payload), left=window_text(int(payload.get("left") or 0)))]
        if phase == Phase.WRITING:
            self._context = _contexts(payload)["context"]
            return ["", words("writing", **_contexts(payload))]
        if phase != Phase.DONE:
            return []
        self._context = self._context or _contexts(payload)["context"]
        sections = payload.get("sections") or {}
        lines = [words(name, text=shorten(str(sections[name]))) for name in SECTIONS if sections.get(name)]
        if payload.get("degraded"):
            lines.append(words("degraded", why=shorten(str(payload.get("why") or ""))))
        elif payload.get("written_by") in OTHER_WRITERS:
            lines.append(words(OTHER_WRITERS[payload["written_by"]], why=shorten(str(payload.get("why") or ""))))
        path = payload.get("path")
        where = home_path(path) if path else words("in memory")
        return [*lines, words("written", path=where, cost=cost_text(words, payload.get("cost_usd")))]

    def _edit(self, event: Event) -> list[str]:
        return edit_lines(self._words, self._facts.edits, event)

    def _permission(self, event: Event) -> list[str]:
        if event.payload.get("asked"):
            return []  # the question itself is on the terminal
        if event.payload.get("tool") == "AskUserQuestion":
            return [self._words("undecided")]
        return [self._words("refused", what=shorten(near_call(event.text, self._facts.workspace)))]


def first_lines(
    words: Words, facts: Facts, payload: Mapping[str, Any], generation: int, advice: str | None = None
) -> list[str]:
    """The four lines with which a run begins; `payload` is its first session event's."""
    return [
        _which(words, facts, payload, generation),
        _model(words, facts, payload) + (f"; {advice}" if advice else ""),
        words("permissions", mode=facts.permission_mode, meaning=words(_asked(facts))),
        words(
            "limits",
            budget=words("no budget") if facts.budget is None else f"{facts.budget:.2f} USD",
            document=home_path(facts.document) if facts.document else words("in memory"),
            go_on=facts.go_on,
        ),
    ]


def _which(words: Words, facts: Facts, payload: Mapping[str, Any], generation: int) -> str:
    phase, context = payload.get("phase"), payload.get("context")
    wake = words("wake", wake=payload["wake"]) if payload.get("wake") else ""
    if phase == Phase.LAUNCHED:
        return words("from document", step=facts.step, n=generation, wake=wake)
    if phase == Phase.RESUMED:
        again = words("resumed context", context=_contexts(payload)["context"]) if context else ""
        return words("resumed", step=facts.step, n=generation, context=again, wake=wake)
    return words("new", step=facts.step)


def _model(words: Words, facts: Facts, payload: Mapping[str, Any]) -> str:
    window, at = int(payload.get("window") or 0), int(payload.get("handoff_at") or 0)
    line = words("hands off", at=used_text(at)) if facts.handoff else words("no handoff")
    text = words(
        "model",
        model=payload.get("model") or words("default model"),
        window=window_text(window),
        source=source_text(words, payload),
        line=line,
    )
    if facts.handoff and facts.line is not None and facts.line >= window:
        text += words("line too high", at=facts.line)
    elif facts.handoff and at > DEAR:
        text += words("earlier", at=EARLIER)
    return text


def _asked(facts: Facts) -> str:
    if facts.permission_mode == "bypassPermissions":
        return "asks nothing"
    if facts.permission_mode == "dontAsk":
        return "asks never"
    return "asks you" if facts.asks else "asks nobody"


def last_lines(words: Words, row: StepResult, end: End) -> list[str]:
    """The lines with which a run ends: its text, how it ended and why, its sessions, and what to know now."""
    text = [row.text] if row.text and row.text != end.said else []
    sessions, turns = words.counted("session", len(row.generations)), words.counted("turn", row.num_turns)
    figures = words("figures", sessions=sessions, turns=turns, cost=cost_text(words, row.cost_usd))
    state = str(row.state) if str(row.state) in ("done", "failed") else "stopped"
    lines = [*text, "", words(state, time=time_text(row.duration_s or 0), figures=figures)]
    if row.error:
        lines.append(words("why", why=row.error))
    lines += [line for each in row.generations for line in _generation(words, each, each.n in end.estimated)]
    if end.document is not None:
        lines.append(words("document", path=home_path(end.document)))
    lines += [words("denied", what=shorten(near_call(what, end.workspace))) for what in end.denied]
    if end.denied:
        lines.append(words("denied edits" if end.permission_mode == "default" else "denied rule"))
    lines += [words("ended", what=shorten(what)) for what in end.ended]
    lines.append(words("manifest", path=home_path(end.manifest)))
    if not row.ok:
        lines.append(words("go on", command=end.go_on))
    elif end.more:
        lines.append(words("say more", command=end.more))
    return lines


def _generation(words: Words, generation: Generation, estimated: bool) -> list[str]:
    """A session, and what is to be known of the document that it left."""
    line = words(
        "generation",
        n=generation.n,
        context=context_text(generation.context, estimated),
        cost=cost_text(words, generation.cost_usd),
        id=generation.session_id,
    )
    return [line, *_about_document(words, generation)]


def _about_document(words: Words, generation: Generation) -> list[str]:
    """Which it is, what of it a person edited; and if it is degraded or rewound, why."""
    lines, why = [], shorten(generation.why or "")
    if generation.frozen:
        name = "its edited document" if generation.edited else "its document"
        lines.append(words(name, revision=generation.launched or generation.frozen))
    how = {**OTHER_WRITERS, WrittenBy.CODE: "degraded"}.get(generation.written_by or WrittenBy.SESSION)
    if generation.frozen and how:
        lines.append(words(f"its {how} document", why=why))
    if generation.edited and generation.sections_edited:
        lines.append(words("its edited sections", sections=", ".join(generation.sections_edited)))
    return lines


def is_about_credentials(event: Event) -> bool:
    """Whether the event says that the credentials were refused, or that there are none."""
    return event.kind == Kind.ERROR and event.payload.get("failure") == Failure.CREDENTIALS


def near_call(text: str, workspace: Path | None) -> str:
    """A tool's call, "Write: /proj/notes.md", with its path told from the workspace. A command's text is left alone."""
    tool, colon, given = text.partition(": ")
    return text if workspace is None or not colon else f"{tool}: {given.removeprefix(f'{workspace}/')}"


def _contexts(payload: Mapping[str, Any]) -> dict[str, str]:
    return {
        "context": context_text(int(payload.get("context") or 0), bool(payload.get("estimated"))),
        "window": window_text(int(payload.get("window") or 0)),
    }
