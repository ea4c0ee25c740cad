"""One session's messages, read in order: signals for the step, the meter, running tasks, and how far reading has come.

It must not decide anything. What can hurt: the SDK runs hooks beside this reader, so a hook that looks at the meter
too early decides on a stale figure; it waits on `reached` first. One API message comes as several, a result's usage is
a sum, and an error arrives as an assistant message that no model wrote.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import anyio
from claude_agent_sdk import (
    AssistantMessage,
    RateLimitEvent,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from flower_mcp.core.estimate import Characters
from flower_mcp.core.failures import Outcome
from flower_mcp.core.figures import Context, Cost
from flower_mcp.core.meter import Meter, Usage
from flower_mcp.core.rewinding import CUT_BY_THE_WINDOW
from flower_mcp.core.transcript import SYNTHETIC, characters_in, object_of
from flower_mcp.runtime.signals import (
    BackgroundTask,
    Idle,
    Measured,
    Retrying,
    Said,
    Signal,
    Stuck,
    TurnEnded,
    Used,
)

ENDED = frozenset({"completed", "failed", "stopped", "killed"})  # statuses of tasks, in both of the CLI's vocabularies
_IN_BACKGROUND = re.compile(r"running in background with ID: ([\w-]+)\..{0,40}written to: ([^\n]{1,400}?\.output)")
CUT = "max_tokens"  # the stop reason of an answer that is not whole
MOST_BAD = 5  # in a row; the CLI itself asks three times for more of a cut answer before it gives up


class Reader:
    """Reads one session. `tasks` are the agents and shells that run now, `calls` the main thread's tools, by id."""

    def __init__(self, meter: Meter | None = None) -> None:
        self.meter = meter or Meter()
        self.tasks: dict[str, BackgroundTask] = {}
        self.calls: dict[str, Used] = {}
        self.model: str | None = None
        self.idle = True
        self.turns = 0
        self.good = 0  # messages of the main thread that came whole
        self.turn_messages = 0  # messages of the main thread in the turn under way
        self.says_idle = False  # whether this CLI tells when it is idle
        self.last = time.monotonic()  # when something was last sent, by the CLI or to it
        self._resets_at: float | None = None  # of the usage limit that the CLI says is reached
        self._silence = ""  # why the turn under way is ended, when the watchdog does it
        self._turn_ended = anyio.Event()
        self._owes = False  # a prompt was sent, and no turn has ended since
        self._open_tools: set[str] = set()  # calls of the main thread without a result
        self._bad_in_a_row = 0
        self._error: str | None = None
        self._stop_reason: str | None = None
        self._commands: dict[str, str] = {}
        self._tool_results: set[str] = set()
        self._answering = False
        self._is_over = False  # something came that follows a message, so what has its id is another one
        self._moved = anyio.Event()
        self._expected: set[str] = set()
        self._turn_uuids: set[str] = set()

    def expect(self, prompt_uuid: str, text: str = "") -> None:
        """Learn of a prompt that was just sent."""
        self._expected.add(prompt_uuid)
        self._owes, self.last = True, time.monotonic()
        self.meter = self.meter.more(Characters.of(text))

    @property
    def turn_is_ours(self) -> bool:
        """Whether the turn under way answers a prompt of ours, as far as the CLI told."""
        return bool(self._turn_uuids & self._expected)

    def take(self, message: object) -> list[Signal]:
        """Read one message; the signals that follow from it, in order."""
        self.last = time.monotonic()
        signals = list(self._signals(message))
        moved, self._moved = self._moved, anyio.Event()
        moved.set()
        return signals

    def heard(self) -> None:
        """Something came that says nothing but that the CLI is at work."""
        self.last = time.monotonic()

    async def reached(self, tool_use_ids: Iterable[str], *, patience: float = 2.0) -> bool:
        """Wait until the results of these tool calls were read and their message is whole; False after `patience`."""
        wanted = set(tool_use_ids)
        with anyio.move_on_after(patience) as scope:
            while self._answering or not wanted <= self._tool_results:
                await self._moved.wait()
        return not scope.cancelled_caught

    @property
    def may_be_silent(self) -> bool:
        """Whether nothing need come now: a tool or an agent runs, or no turn is under way."""
        return bool(self._open_tools or self.agents()) or (self.idle and not self._owes)

    def blame_silence(self, words: str) -> anyio.Event:
        """Have the end of the turn under way told as one for silence; the event comes when it has ended."""
        self._silence, self._turn_ended = words, anyio.Event()
        return self._turn_ended

    def agents(self) -> list[BackgroundTask]:
        """The agents that run now."""
        return [task for task in self.tasks.values() if task.is_agent]

    def shells(self) -> list[BackgroundTask]:
        """The background shells that run now."""
        return [task for task in self.tasks.values() if not task.is_agent]

    def _signals(self, message: object) -> Iterable[Signal]:
        match message:
            case StreamEvent(parent_tool_use_id=None):
                return self._stream(message.event)
            case AssistantMessage():
                return self._assistant(message)
            case UserMessage(parent_tool_use_id=None):
                return self._user(message)
            case ResultMessage():
                return self._result(message)
            case SystemMessage():
                return self._system(message.subtype, message.data)
            case RateLimitEvent(info):
                self._resets_at = info.resets_at if info.status == "rejected" else None
        return ()

    def _begins(self, message_id: str | None) -> bool:
        """Whether a part of a message begins another one. In a stream the stream tells: some gateways send no ids, or
        always the same one. Beside it the ids do, as of a message that is sent whole where a stream broke.
        """
        known = self.meter.message_id
        if self._answering and not (message_id and known):
            return False
        return not message_id or message_id != known or (self._is_over and not self._answering)

    def _measure(self, message_id: str | None, usage: Usage, *, begins: bool) -> Iterable[Signal]:
        before = self.meter
        self.meter = before.message(message_id, usage, begins=begins)
        if self.meter.messages != before.messages:
            self._is_over = False
            self.turns += 1
            self.turn_messages += 1
        if self.meter.context != before.context:
            yield Measured(self.meter)

    def _stream(self, event: Mapping[str, Any]) -> Iterable[Signal]:
        match event.get("type"):
            case "message_start":
                self._answering = True
                self.calls.clear()  # an answer begins once all results are there
                self._stop_reason = None
                self._open_tools.clear()
                message = object_of(event.get("message"))
                yield from self._measure(message.get("id"), Usage.read(message.get("usage")), begins=True)
            case "message_delta":
                self._stop_reason = object_of(event.get("delta")).get("stop_reason") or self._stop_reason
                yield from self._measure(self.meter.message_id, Usage.read(event.get("usage")), begins=False)
            case "message_stop":
                self._answering = False
                yield from self._whole()

    def _assistant(self, message: AssistantMessage) -> Iterable[Signal]:
        by_agent = message.parent_tool_use_id is not None
        if not by_agent and (message.error is not None or message.model == SYNTHETIC):
            self._error = message.error
            self._answering = False
            if message.error:
                yield from self._bad(Outcome(is_error=True, error=message.error, text=_words(message)))
            return
        if not by_agent:
            self._turn_uuids.update(message.user_message_uuids or ())
            begins = self._begins(message.message_id)
            yield from self._measure(message.message_id, Usage.read(message.usage), begins=begins)
            self.meter = self.meter.answer(_characters(message))
        for block in message.content:
            if isinstance(block, TextBlock) and not by_agent and block.text.strip():
                yield Said(block.text)
            elif isinstance(block, ToolUseBlock):
                if not by_agent:
                    self._open_tools.add(block.id)
                given = object_of(block.input)
                if isinstance(given.get("command"), str):
                    self._commands[block.id] = given["command"]
                used = Used(block.name, block.id, given, by_agent)
                if not by_agent:
                    self.calls[block.id] = used
                yield used

    def _whole(self) -> Iterable[Signal]:
        """A message ended: a good one, unless it was cut at a limit, or its stream broke (no stop reason then)."""
        if self._stop_reason is None:
            return
        if self._stop_reason == CUT_BY_THE_WINDOW:
            self._bad_in_a_row = 0
            yield Stuck(Outcome(is_error=True, stop_reason=self._stop_reason, text="the answer reached the window"))
        elif self._stop_reason == CUT:
            yield from self._bad(Outcome(is_error=True, error="max_output_tokens", text=f"cut: {self._stop_reason}"))
        else:
            self.good += 1
            self._bad_in_a_row = 0

    def _bad(self, outcome: Outcome) -> Iterable[Signal]:
        """Count what the CLI tries again by itself, without a bound of its own for some of it."""
        self._bad_in_a_row += 1
        if self._bad_in_a_row >= MOST_BAD:
            self._bad_in_a_row = 0
            yield Stuck(replace(outcome, broken=True))

    def _user(self, message: UserMessage) -> Iterable[Signal]:
        if isinstance(message.content, str):
            return
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                self._is_over = True
                self._tool_results.add(block.tool_use_id)
                self._open_tools.discard(block.tool_use_id)
                self.calls.pop(block.tool_use_id, None)
                text = _text(block.content)
                self.meter = self.meter.more(Characters.of(text))
                self._learn_output(text)
        yield from ()

    def _learn_output(self, text: str) -> None:
        """A background shell's result names its task and the file that its output goes to."""
        found = _IN_BACKGROUND.search(text)
        if found and found[1] in self.tasks:
            self.tasks[found[1]] = replace(self.tasks[found[1]], output_file=found[2])

    def _result(self, message: ResultMessage) -> Iterable[Signal]:
        self._answering, self._is_over = False, True
        self.calls.clear()
        failed = bool(message.is_error)
        words = message.result or "; ".join(message.errors or ())
        outcome = Outcome(
            is_error=failed,
            empty=not failed and message.terminal_reason == "completed" and not words.strip(),
            terminal_reason=message.terminal_reason,
            status=message.api_error_status,
            error=self._error if failed else None,
            text=words if failed else "",
            stop_reason=message.stop_reason or self._stop_reason,
            resets_at=self._resets_at if failed else None,
        )
        if failed and self._silence:
            outcome = Outcome(is_error=True, silent=True, text=self._silence)
        self._silence = ""
        self._turn_ended.set()
        self._open_tools.clear()
        self._owes = False
        self._error = self._stop_reason = None
        self._turn_uuids = set()
        messages, self.turn_messages = self.turn_messages, 0
        yield TurnEnded(
            outcome=outcome,
            uuids=tuple(message.user_message_uuids or ()),
            ours=message.origin is None,
            text="" if failed else (message.result or ""),
            cost_usd=None if message.total_cost_usd is None else Cost(message.total_cost_usd),
            messages=messages,
        )

    def _system(self, subtype: str, data: Mapping[str, Any]) -> Iterable[Signal]:
        match subtype:
            case "init":
                self.model = data.get("model") or self.model
            case "session_state_changed":
                self.says_idle = True
                self.idle = data.get("state") == "idle"
                if self.idle:
                    yield Idle()
            case "task_started" | "task_updated" | "task_notification":
                self._task(data)
            case "background_tasks_changed":
                running = {str(task.get("task_id")) for task in data.get("tasks") or ()}
                self.tasks = {key: task for key, task in self.tasks.items() if key in running}
            case "compact_boundary":
                after = object_of(data.get("compact_metadata")).get("post_tokens")
                self.meter = self.meter.compacted(Context(after if isinstance(after, int) else 0))
            case "api_retry":
                yield Retrying(
                    attempt=int(data.get("attempt") or 0),
                    most=int(data.get("max_retries") or 0),
                    status=data.get("error_status"),
                    error=str(data.get("error") or ""),
                )

    def _task(self, data: Mapping[str, Any]) -> None:
        """Follow one background task. Foreground agents are tasks too; they end with their tool call."""
        key = str(data.get("task_id"))
        status = data.get("status") or (data.get("patch") or {}).get("status")
        if status in ENDED:
            self.tasks.pop(key, None)
        elif key in self.tasks:
            output_file = data.get("output_file") or self.tasks[key].output_file
            self.tasks[key] = replace(self.tasks[key], output_file=output_file)
        elif "task_type" in data:
            self.tasks[key] = BackgroundTask(
                key,
                str(data.get("task_type") or ""),
                str(data.get("description") or ""),
                self._commands.get(str(data.get("tool_use_id"))),
            )


def _words(message: AssistantMessage) -> str:
    """What the CLI wrote into an error message of its own."""
    return " ".join(block.text for block in message.content if isinstance(block, TextBlock))


def _characters(message: AssistantMessage) -> Characters:
    """What these parts of a message will be in each later request."""
    total = Characters()
    for block in message.content:
        match block:
            case TextBlock():
                total += Characters.of(block.text)
            case ThinkingBlock():
                total += Characters.of(block.thinking)
            case ToolUseBlock():
                total += characters_in([{"name": block.name, "input": block.input}])
    return total


def _text(content: object) -> str:
    """The text of a tool result; an image counts as nothing, its tokens come with the usage."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return ""
