"""One Claude session, from its process to its end.

The life of it: `run` is a task of its own in the step's task group. It connects, says so, pumps every message through
the reader into the step's inbox (which never fills, so that a slow caller cannot make the CLI's control calls wait),
and stays until `close` is called or its watchdog gives it up; then it disconnects and removes the keeper's files. The
client is opened and closed in that one task. Clean-up is shielded; the SDK bounds it (5 s for the CLI to end by itself,
then TERM, then KILL). A session decides nothing: it says prompts, reads messages, and tells its step.
"""

from __future__ import annotations

import uuid
import warnings
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskStatus
from claude_agent_sdk import (
    CanUseToolShadowedWarning,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    Message,
    ProcessError,
    ResultError,
)

from flower_mcp.core.failures import Outcome
from flower_mcp.runtime.gate import Gate
from flower_mcp.runtime.keeping import Ended, Keeper
from flower_mcp.runtime.reader import Reader
from flower_mcp.runtime.signals import Gone, Signal
from flower_mcp.runtime.transport import quiet
from flower_mcp.runtime.watchdog import Watchdog

KEEPER_KILLED = -9  # the exit code when the keeper itself was killed; the CLI below it may live, and two would fork
STDERR_LINES = 20
UNKNOWN_MODEL = "[claude-code:unrecognized_model]"  # on standard error, with the first request (seen with 2.1.332)
CONNECT_LIMIT = 50.0  # seconds for a CLI to say that it is there; the SDK's own limit is 60 and says less
CONTROL_TIMEOUT = 5.0  # seconds; a control call waits behind undelivered messages, never longer than this


@dataclass(frozen=True, slots=True)
class Reported:
    """What the CLI says of a session before its first request: the window in tokens, and the model's whole name."""

    window: int
    model: str


class Session:
    """A session with its process. `send` puts a signal of this session into the step's inbox."""

    def __init__(
        self,
        session_id: str,
        *,
        reader: Reader,
        gate: Gate,
        keeper: Keeper,
        options: Callable[[Callable[[str], None]], ClaudeAgentOptions],
        send: Callable[[Session, Signal], None],
        watchdog: Watchdog | None = None,
    ) -> None:
        self.id = session_id
        self.reader = reader
        self.gate = gate
        self.keeper = keeper
        self.account: dict[str, Any] = {}
        self.alive = False
        self.model_is_unknown = False  # the CLI said so: the window that it reports is an assumption
        self._exit_code: int | None = None
        self.ended: tuple[Ended, ...] = ()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        chosen = options(self._take_stderr)
        self._client = ClaudeSDKClient(chosen, quiet(chosen, reader.heard))
        self._send = send
        self._watchdog = watchdog
        self._given_up: Outcome | None = None
        self._was_there = False  # it has been connected once
        self._connecting = anyio.CancelScope()
        self._closing = anyio.Event()
        self.closed = anyio.Event()

    @property
    def model(self) -> str | None:
        """The model that the CLI said it uses, once its first turn has begun."""
        return self.reader.model

    async def run(self, *, task_status: TaskStatus[Outcome | None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Connect, say how that went (None: well), pump until closed. Never raises for the CLI's failures."""
        try:
            failure = await self._connect()
            task_status.started(failure)
            if failure is None:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._pump)
                    tasks.start_soon(self._watch)
                    await self._closing.wait()
                    if self.alive and not self.reader.idle:
                        await self.interrupt()  # a closed input does not end a turn; it would go on for 5 s
                    await self._disconnect()
                    tasks.cancel_scope.cancel()
        finally:
            self.alive = False
            with anyio.CancelScope(shield=True):
                await self._disconnect()
                if self._exit_code == KEEPER_KILLED:
                    await anyio.to_thread.run_sync(self.keeper.end_rest)
            self.closed.set()
            self.ended = self.keeper.ended()
            self.keeper.close()
            if self._given_up is not None:  # told when it is gone: two CLIs on one transcript would fork it
                self._send(self, Gone(self._given_up))

    async def say(self, text: str, mine: str | None = None) -> str:
        """Send a prompt, verbatim; the uuid that its turn's result will name: `mine`, or one that is drawn."""
        mine = mine or str(uuid.uuid4())

        async def one() -> AsyncIterator[dict[str, Any]]:
            yield {
                "type": "user",
                "uuid": mine,
                "message": {"role": "user", "content": text},
                "parent_tool_use_id": None,
            }

        self.reader.expect(mine, text)
        with suppress(ClaudeSDKError, OSError):  # the process has just ended, which the pump tells
            await self._client.query(one())
        return mine

    async def interrupt(self) -> None:
        """End the turn now. Kills foreground and background agents."""
        await self._control(self._client.interrupt)

    async def stop_task(self, task_id: str) -> None:
        """Stop a background task."""
        await self._control(lambda: self._client.stop_task(task_id))

    async def reported(self) -> Reported | None:
        """The window that the CLI assumes for this session, and for which model; None: it does not say within 5 s."""
        with anyio.move_on_after(CONTROL_TIMEOUT):
            try:
                usage = await self._client.get_context_usage()
                window = int(usage.get("rawMaxTokens") or usage.get("maxTokens") or 0)
                return Reported(window, str(usage.get("model") or "")) if window > 0 else None
            except (ClaudeSDKError, TypeError, ValueError, Exception):  # noqa: BLE001  # the SDK raises bare Exception
                return None
        return None

    def close(self, *, retired: bool = False, over: bool = False) -> None:
        """Ask for the end, without waiting.

        `retired`: what the session had detached lives on. `over`: the run has ended, and all that carries its mark ends
        with the session.
        """
        if self._closing.is_set() or self.closed.is_set():
            return
        if retired:
            self.keeper.retire()
        elif over:
            self.keeper.over()
        self._closing.set()
        if not self._was_there:  # else it may be writing its last lines
            self.keeper.end_now()
            self._connecting.cancel()

    async def close_retired(self, later: float) -> None:
        """Close it as retired, so many seconds from now, unless it is closed meanwhile."""
        with anyio.move_on_after(later):
            await self._closing.wait()
        self.close(retired=True)

    async def _connect(self) -> Outcome | None:
        try:
            with warnings.catch_warnings():
                # Given in every mode, since it changes the tool list; the SDK warns where it will not be called.
                warnings.simplefilter("ignore", CanUseToolShadowedWarning)
                with self._connecting:
                    self._connecting.deadline = anyio.current_time() + CONNECT_LIMIT
                    await self._client.connect()
            if self._connecting.cancelled_caught:
                words = f"the CLI was started and said nothing for {CONNECT_LIMIT:g} s"
                return Outcome(is_error=True, exited=True, silent=True, text=words, stderr="\n".join(self._stderr))
            info = await self._client.get_server_info() or {}
        except ProcessError as error:
            return self._exit(error.exit_code, str(error))
        except (ClaudeSDKError, OSError) as error:
            return self._exit(None, str(error))
        except Exception as error:  # noqa: BLE001  # the SDK raises bare Exception when a control call fails
            return self._exit(None, str(error))
        self.account = dict(info.get("account") or {})
        self.alive = self._was_there = True
        return None

    async def _watch(self) -> None:
        """End the process of a CLI that is silent and answers no interrupt. It is resumed in another one."""
        if self._watchdog is None:
            return
        outcome = await self._watchdog.run(self.interrupt)
        if not self._closing.is_set():
            self.alive, self._given_up = False, outcome
            self.keeper.retire()
            self._closing.set()

    async def _pump(self) -> None:
        try:
            async for message in self._messages():
                for signal in self.reader.take(message):
                    self._send(self, signal)
            gone = self._exit(None, "")
        except ResultError as error:
            gone = self._exit(error.exit_code, error.result or "; ".join(error.errors) or str(error))
        except ProcessError as error:
            gone = self._exit(error.exit_code, "")
        except ClaudeSDKError as error:
            gone = self._exit(None, str(error))
        self.alive = False
        if not self._closing.is_set():
            self._send(self, Gone(gone))

    async def _messages(self) -> AsyncIterator[Message]:
        """What the CLI sends. Raises ClaudeSDKError alone: the SDK passes on whatever its own reader died of."""
        try:
            async for message in self._client.receive_messages():
                yield message
        except ClaudeSDKError:
            raise
        except Exception as error:  # bytes that are no text, for one
            raise ClaudeSDKError(f"its output could not be read: {error}") from error

    def _exit(self, code: int | None, words: str) -> Outcome:
        self._exit_code = code
        return Outcome(is_error=True, exited=True, exit_code=code, text=words, stderr="\n".join(self._stderr))

    def _take_stderr(self, line: str) -> None:
        self._stderr.append(line)
        self.model_is_unknown = self.model_is_unknown or UNKNOWN_MODEL in line

    async def _control(self, call: Callable[[], Any]) -> None:
        """A control call that may fail: the process may just have ended, which the pump will tell."""
        with anyio.move_on_after(CONTROL_TIMEOUT):
            with suppress(Exception):  # the SDK raises bare Exception when a control call fails
                await call()

    async def _disconnect(self) -> None:
        try:
            await self._client.disconnect()
        except (ClaudeSDKError, OSError):
            return
