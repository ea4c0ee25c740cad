"""The moves of the main table, each with the function that does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from flower_mcp.core.decide import Move
from flower_mcp.runtime.edits import open_window
from flower_mcp.runtime.ending import fail, finish, stop
from flower_mcp.runtime.freezing import degrade, freeze
from flower_mcp.runtime.handoff_turn import ask, ask_again
from flower_mcp.runtime.opening import begin, launch, pause, resume
from flower_mcp.runtime.rewind import rewind
from flower_mcp.runtime.step import MoveEnd, StepRun
from flower_mcp.runtime.waiting import wait
from flower_mcp.runtime.working import drain, work

MOVES: dict[Move, Callable[[StepRun], Awaitable[MoveEnd]]] = {
    Move.BEGIN: begin,
    Move.RESUME: resume,
    Move.LAUNCH: launch,
    Move.WORK: work,
    Move.DRAIN: drain,
    Move.ASK: ask,
    Move.ASK_AGAIN: ask_again,
    Move.REWIND: rewind,
    Move.FREEZE: freeze,
    Move.DEGRADE: degrade,
    Move.OPEN_WINDOW: open_window,
    Move.PAUSE: pause,
    Move.WAIT: wait,
    Move.FINISH: finish,
    Move.FAIL: fail,
    Move.STOP: stop,
}
