"""What happened in a session, from the lines of its transcript: texts, tool calls, files, tasks, the list of todos.

It must not know where transcripts lie, what is running now, or what the facts are good for (`facts.py` does). The
format is the CLI's: what does not fit is passed over, nothing here raises on any line, and time and memory grow with
the number of lines, never with what a tool printed. The shapes were seen in files that the CLI (2.1.332) wrote itself.

What can hurt: the CLI writes its own errors as assistant messages, which no model said; an agent's lines are not the
session's; a call that has no result may have taken effect or not; what was said in a handoff turn is no work.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flower_mcp.core.masking import mask
from flower_mcp.core.transcript import SYNTHETIC, after, blocks_of, object_of, text_of, words_of
from flower_mcp.core.undone import CHANGERS, Change, change_of

__all__ = [
    "Call", "Happened", "Started", "Todo", "after", "happened", "how_it_failed", "named_files", "one_line",
    "ran_lines", "told",
]  # fmt: skip

MOST_CALLS = 5_000  # the newest; a session that fills a window of a million tokens has fewer
MOST_TEXTS = 50  # the newest
MOST_FILES = 1_000
LONGEST_TEXT = 8_000  # characters of one text of the session
LONGEST_INPUT = 800  # characters of one value that a tool was given
LONGEST_OUTPUT = 400  # characters of what a tool answered, from its start
RAN_CALLS = 10  # tool calls that `ran_lines` names
RAN_TEXT = 400  # characters of the last text there

WRITING = ("Write the handoff document now.", "The handoff document is not complete")
"""How the prompts of a handoff turn begin: what is said and done in answer to them is no work."""

_READERS = frozenset({"Read", "Grep", "Glob", "LS", "ToolSearch", "ListAgents", "TaskList", "TaskGet", "TodoRead"})
_TASK_ID = re.compile(r"<task-id>([\w-]{1,100})</task-id>")
_TASK_END = re.compile(r"<status>(completed|failed|stopped|killed)</status>")
_TASK_EXIT = re.compile(r"exit code (\d{1,3})\b")
_SHELL_ID = re.compile(r"running in background with ID: ([\w-]{1,100})\.")
_OUTPUT_FILE = re.compile(r"(?:written to: |output_file: )([^\n]{1,400}?\.output)")
_CREATED = re.compile(r"Task #(\w{1,40}) created")
_EXIT = re.compile(r"Exit code (\d{1,3})(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of the main thread.

    `input`: its strings, shortened, other values as their kind alone. `failed`: None without a result. `output` is the
    start of the answer, `last` its last line that is not blank, both shortened. `exit_code`: of a command that failed.
    What runs in the background has its result when it ends, and stands where it ended.
    """

    tool: str
    input: Mapping[str, str] = field(default_factory=dict)
    failed: bool | None = None
    output: str = ""
    last: str = ""
    exit_code: int | None = None
    change: Change | None = None

    @property
    def command(self) -> str:
        """The command that it ran, "" for other tools."""
        return self.input.get("command", "")

    @property
    def reads_only(self) -> bool:
        """Whether the tool only looks."""
        return self.tool in _READERS


@dataclass(frozen=True, slots=True)
class Todo:
    """One entry of the session's own list. `status` is the CLI's: pending, in_progress, completed."""

    text: str
    status: str = "pending"


@dataclass(frozen=True, slots=True)
class Started:
    """An agent or a shell that was started in the background. `ended`: the transcript says so."""

    id: str
    is_agent: bool
    description: str = ""
    command: str = ""
    output_file: str = ""
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Happened:
    """What happened on the main thread, oldest first. `todos_at` is when the list last changed, "" if never."""

    texts: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    files: tuple[str, ...] = ()
    todos: tuple[Todo, ...] = ()
    todos_at: str = ""
    started: tuple[Started, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.texts or self.calls or self.files or self.todos or self.started)

    @property
    def last_text(self) -> str:
        """The last thing that the session said, "" if it said nothing."""
        return self.texts[-1] if self.texts else ""


def happened(lines: Iterable[object]) -> Happened:
    """What the lines of a transcript, oldest first, say. Agents' lines and the CLI's own error texts are left out."""
    reading = _Reading()
    for line in lines:
        if isinstance(line, Mapping) and not line.get("isSidechain"):
            reading.take(line)
    return reading.result()


def ran_lines(what: Happened, gone: Collection[str] = ()) -> list[str]:
    """Pointers to what ran after a point, for the supervisor's own part of scene: that it ran, never that it is done.

    A line each, at most 14: the newest calls that do more than look, files written, what was started, the last text.
    `gone` are those of its files that do not exist any more. Secrets are masked.
    """
    lines = []
    calls = [call for call in what.calls if not call.reads_only]
    if len(calls) > RAN_CALLS:
        lines.append(f"- ran since (not known to be done): {len(calls) - RAN_CALLS} more tool calls before these")
    lines += [f"- ran since (not known to be done): {told(call)}" for call in calls[-RAN_CALLS:]]
    if what.files:
        lines.append(f"- files that were written since: {named_files(what.files, gone)}")
    if begun := [one.description or one.command or one.id for one in what.started if not one.ended]:
        lines.append(f"- started since, its end was not seen: {one_line(', '.join(begun), 300)}")
    if what.last_text:
        lines.append(f'- the last thing said since, not checked: "{one_line(what.last_text, RAN_TEXT)}"')
    return lines


def told(call: Call, most: int = 200) -> str:
    """A call on one line: the tool, what it was given, how it ended."""
    given = next((call.input[name] for name in _TELLING if call.input.get(name)), "")
    ended = {None: " (no result seen)", True: f" (failed{how_it_failed(call)})", False: ""}[call.failed]
    return f"{one_line(call.tool, 60)}{': ' if given else ''}{one_line(given, most)}{ended}"


def how_it_failed(call: Call) -> str:
    """The exit code and the last line of a call that failed, to stand behind a word; "" when nothing is known."""
    code = "" if call.exit_code is None else f", exit code {call.exit_code}"
    said = one_line(call.last, 160)
    return f'{code}: "{said}"' if said and not _EXIT.fullmatch(said) else code


def named_files(files: Sequence[str], gone: Collection[str] = (), most: int = 20) -> str:
    """The newest of these paths on one line; those that are gone are marked."""
    shown = [one_line(path, 200) + (" (gone)" if path in gone else "") for path in files[-most:]]
    more = f"{len(files) - most} more, " if len(files) > most else ""
    return more + ", ".join(shown)


def one_line(text: str, most: int) -> str:
    """A text as data on one line: masked, blanks as one space, no control characters, at most `most` characters."""
    shown = _UNSEEN.sub("", " ".join(mask(text[: 4 * most + 1_000]).text.split()))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


_TELLING = ("command", "file_path", "notebook_path", "description", "subject", "url", "query", "pattern", "skill")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


class _Reading:
    """The lines taken in so far."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque(maxlen=MOST_TEXTS)
        self._calls: OrderedDict[str, Call] = OrderedDict()
        self._open: dict[str, Mapping[str, Any]] = {}  # inputs of calls without a result, whole
        self._files: OrderedDict[str, None] = OrderedDict()
        self._todos: dict[str, Todo] = {}
        self._todos_at = ""
        self._started: dict[str, Started] = {}
        self._begun: dict[str, str] = {}  # the calls that started them
        self._writing = False

    def result(self) -> Happened:
        return Happened(
            tuple(self._texts), tuple(self._calls.values()), tuple(self._files), tuple(self._todos.values()),
            self._todos_at, tuple(self._started.values()),
        )  # fmt: skip

    def take(self, line: Mapping[str, Any]) -> None:
        kind = line.get("type")
        message = object_of(line.get("message"))
        if kind == "assistant" and not line.get("isApiErrorMessage") and message.get("model") != SYNTHETIC:
            for block in blocks_of(message.get("content")):
                self._said(block)
        elif kind == "user":
            self._answered(message.get("content"), line)
        elif kind == "queue-operation":
            self._task_told(text_of(line.get("content")))
        elif kind == "attachment":
            self._task_told(text_of(object_of(line.get("attachment")).get("prompt")))

    def _said(self, block: Mapping[str, Any]) -> None:
        if self._writing:
            return
        if block.get("type") == "text":
            text = text_of(block.get("text"))
            if text.strip():
                self._texts.append(text[:LONGEST_TEXT])
        elif block.get("type") == "tool_use":
            given = object_of(block.get("input"))
            key = text_of(block.get("id"))
            self._calls[key] = Call(text_of(block.get("name")) or "?", _short(given))
            self._open[key] = given
            if len(self._calls) > MOST_CALLS:
                self._open.pop(self._calls.popitem(last=False)[0], None)

    def _answered(self, content: object, line: Mapping[str, Any]) -> None:
        results = [block for block in blocks_of(content) if block.get("type") == "tool_result"]
        for block in results:
            self._ended(block, object_of(line.get("toolUseResult")), text_of(line.get("timestamp")))
        if not results and not line.get("isMeta"):
            prompt = words_of(content)
            self._writing = prompt.startswith(WRITING)
            self._task_told(prompt)

    def _ended(self, block: Mapping[str, Any], answer: Mapping[str, Any], at: str) -> None:
        key = text_of(block.get("tool_use_id"))
        given = self._open.pop(key, None)
        call = self._calls.get(key)
        if given is None or call is None:
            return
        failed = block.get("is_error") is True
        output = words_of(block.get("content"))
        bare = output[-20_000:].rstrip()
        code = _EXIT.match(output) if failed else None
        call = replace(
            call,
            failed=failed,
            output=output[:LONGEST_OUTPUT],
            last=bare.rpartition("\n")[2].strip()[:LONGEST_OUTPUT],
            exit_code=int(code[1]) if code else None,
        )
        if not failed:
            path = text_of(given.get("file_path") or given.get("notebook_path"))
            if call.tool in CHANGERS and path:
                self._files.pop(path, None)
                self._files[path] = None
                if len(self._files) > MOST_FILES:
                    self._files.popitem(last=False)
                call = replace(call, change=change_of(call.tool, path, given, answer))
            self._listed(call.tool, given, answer, output, at)
            if self._began(key, given, answer, output):
                call = replace(call, failed=None)
        self._calls[key] = call

    def _listed(self, tool: str, given: Mapping[str, Any], answer: Mapping[str, Any], output: str, at: str) -> None:
        """Keep the list of todos: TodoWrite has it whole, the task tools change it one by one."""
        if tool == "TodoWrite":
            entries = blocks_of(given.get("todos"))
            self._todos = {str(n): _todo(entry.get("content"), entry.get("status")) for n, entry in enumerate(entries)}
        elif tool == "TaskCreate":
            found = _CREATED.search(output[:LONGEST_OUTPUT])
            key = text_of(object_of(answer.get("task")).get("id")) or (found[1] if found else str(len(self._todos) + 1))
            self._todos[key] = _todo(given.get("subject") or given.get("description"), None)
        elif tool == "TaskUpdate":
            key = text_of(given.get("taskId"))
            before = self._todos.get(key)
            if given.get("status") == "deleted":
                self._todos.pop(key, None)
            elif before is not None:
                self._todos[key] = _todo(given.get("subject") or before.text, given.get("status") or before.status)
        else:
            return
        self._todos_at = at

    def _began(self, call: str, given: Mapping[str, Any], answer: Mapping[str, Any], output: str) -> bool:
        """Note what the call started in the background; whether it did."""
        head = output[:4_000]
        found = _SHELL_ID.search(head) if given.get("command") else None
        shell = text_of(answer.get("backgroundTaskId")) or (found[1] if found else "")
        agent = text_of(answer.get("agentId")) if answer.get("isAsync") is True else ""
        key = shell or agent
        if not key:
            return False
        file = _OUTPUT_FILE.search(head)
        self._started[key] = Started(
            key,
            is_agent=not shell,
            description=text_of(given.get("description"))[:LONGEST_INPUT],
            command=text_of(given.get("command"))[:LONGEST_INPUT],
            output_file=text_of(answer.get("outputFile")) or (file[1] if file else ""),
        )
        self._begun[key] = call
        return True

    def _task_told(self, text: str) -> None:
        """A notice that a task has ended; the CLI puts it into the queue, an attachment, or a prompt of its own."""
        if not text.lstrip().startswith("<task-notification>"):
            return
        key, end = _TASK_ID.search(text[:4_000]), _TASK_END.search(text[:4_000])
        if not key or not end or key[1] not in self._started or self._started[key[1]].ended:
            return
        self._started[key[1]] = replace(self._started[key[1]], ended=True)
        call = self._calls.get(self._begun.get(key[1], ""))
        if call is not None and end[1] in ("completed", "failed"):
            code = _TASK_EXIT.search(text[:4_000])
            failed = end[1] == "failed"
            self._calls.pop(self._begun[key[1]])
            self._calls[self._begun[key[1]]] = replace(
                call, failed=failed, last="", exit_code=int(code[1]) if code and failed else None
            )


def _todo(text: object, status: object) -> Todo:
    return Todo(text_of(text)[:LONGEST_INPUT], text_of(status)[:40] or "pending")


def _short(given: Mapping[str, Any]) -> dict[str, str]:
    """A tool's input with its strings shortened; whatever is no string is told by its kind."""
    items = list(given.items())[:20]
    return {
        str(name)[:100]: value[:LONGEST_INPUT] if isinstance(value, str) else type(value).__name__
        for name, value in items
    }
