"""What holds for every test: a user's state folder of its own, and signals as a program finds them at a terminal.

Nothing is known from one test to the next. What can hurt: `nohup` and a shell's `&` have signals ignored, and a process
that is started here would inherit that; a handler is not inherited, so an ignored signal gets one that does nothing.
"""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

# How fast examples are made tells of the machine's load, not of the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def _go_on(_number: int, _frame: FrameType | None) -> None:
    """What is ignored in this process stays without effect in it."""


if threading.current_thread() is threading.main_thread():
    for each in ENDING:
        if signal.getsignal(each) is signal.SIG_IGN:
            signal.signal(each, _go_on)


@pytest.fixture(autouse=True)
def state_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state folder; the tests' own processes inherit it."""
    folder = tmp_path / "state"
    monkeypatch.setenv("FLOWER_STATE_DIR", str(folder))
    return folder


WITH_PROGRAMS = ("cli", "demo", "e2e", "runtime", "server", "workbench")
LONGEST_FIRST = ("test_kill_matrix", "test_rewind", "test_edit_moments", "test_many_handoffs", "test_live_terminal")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests: begun last, one of them keeps a single worker busy after all others have ended.

    A test that waits for real programs gets a second try, which the closing line counts as a rerun: on two loaded
    processors one of some hundred may find a program slower than it can wait. What fails twice fails.
    """
    for item in items:
        if item.path.parent.name in WITH_PROGRAMS:
            item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=lambda item: not item.path.name.startswith(LONGEST_FIRST))
