"""`flower doctor`: looks at what a run here would meet, and says of each thing that it is well, or what to do.

Each group of checks is a file of its own, cli/doctor_*.py, and a row of CHECKS. The groups are looked at side by side
and told in their order. It must not start a session, nor change anything but what `--forget` names; what is tried is
tried in a temporary folder. What can hurt: a check that raises or hangs would hide the others, so both are findings.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from flower_mcp.cli.doctor_books import books_check, config_check, state_check
from flower_mcp.cli.doctor_claude import cli_check, credentials_check, endpoint_check
from flower_mcp.cli.doctor_clients import clients_check
from flower_mcp.cli.doctor_finding import Check, Examined, Finding
from flower_mcp.cli.doctor_folder import locks_check, watcher_check, workspace_check
from flower_mcp.cli.doctor_system import parts_check, python_check
from flower_mcp.cli.doctor_window import forgotten, learned_check, window_check
from flower_mcp.cli.doctor_workbench import workbench_check
from flower_mcp.cli.options import RunOptions
from flower_mcp.cli.output import Output, shorten
from flower_mcp.cli.words import Language, Words, language
from flower_mcp.core.errors import FlowerError, Usage
from flower_mcp.core.policy import HandoffPolicy
from flower_mcp.workbench.learned import LearnedWindows
from flower_mcp.workbench.windows import state_folder

CHECKS: tuple[Check, ...] = (
    Check("python", python_check),
    Check("parts", parts_check),
    Check("cli", cli_check),
    Check("credentials", credentials_check),
    Check("endpoint", endpoint_check),
    Check("learned", learned_check),
    Check("window", window_check),
    Check("workspace", workspace_check),
    Check("watcher", watcher_check),
    Check("locks", locks_check),
    Check("workbench", workbench_check),
    Check("books", books_check),
    Check("config", config_check),
    Check("state", state_check),
    Check("clients", clients_check, limit=60.0),
)
_LONGEST = 1_000  # characters of a line


def doctor_command(
    options: RunOptions,
    forget: str | None,
    commands: Mapping[str, click.Command],
    policy: Callable[[], HandoffPolicy],
) -> int:
    """Check everything, or forget learned windows ("" for all of them); the exit code. Raises Usage, NothingThere.

    `policy` is that of a run with these options; a Usage of its is a finding.
    """
    output = Output(as_json=options.as_json)
    words = Words(language(os.environ))
    if not output.takes(words("doctor well")):
        words = Words(Language.ENGLISH)
    if forget is not None:
        for text in forgotten(words, LearnedWindows(state_folder(os.environ)), forget):
            output.json({"kind": "finding", "check": "learned", "ok": True, "text": text, "do": []})
            if not output.as_json:
                output.line(text)
        output.json({"kind": "result", "ok": True, "wrong": 0})
        return 0
    at_first, line = _policy(policy)
    wrong = len(at_first)
    for finding in at_first:
        _tell(output, words, "options", finding)
    with tempfile.TemporaryDirectory(prefix="flower-doctor-", ignore_cleanup_errors=True) as scratch:
        examined = Examined(words, dict(os.environ), options, line, commands, Path(scratch).resolve())
        for looking in _started(examined, CHECKS):
            for finding in looking.findings(words):
                wrong += not finding.ok
                _tell(output, words, looking.check.name, finding)
    output.json({"kind": "result", "ok": not wrong, "wrong": wrong})
    if not options.as_json:
        output.line(words("doctor ill", count=wrong) if wrong else words("doctor well"))
    return 1 if wrong else 0


def _policy(policy: Callable[[], HandoffPolicy]) -> tuple[list[Finding], HandoffPolicy]:
    """What is wrong with the options of a run, and the policy to look on with."""
    try:
        return [], policy()
    except Usage as error:
        return [Finding(error.what, ok=False, do=(error.next,))], HandoffPolicy()


def _tell(output: Output, words: Words, name: str, finding: Finding) -> None:
    """Say a finding, to people or to a program."""
    output.json({"kind": "finding", "check": name, "ok": finding.ok, "text": finding.text, "do": list(finding.do)})
    if not output.as_json:
        mark = "doctor ok" if finding.ok else "doctor wrong"
        output.line(words(mark, text=shorten(finding.text, _LONGEST)))
        output.lines([words("doctor do", text=shorten(text, _LONGEST)) for text in finding.do])


@dataclass(slots=True)
class Looking:
    """A group that is being looked at, in a thread of its own."""

    check: Check
    examined: Examined
    found: list[Finding] = field(default_factory=list)
    thread: threading.Thread | None = None
    end: float = 0.0  # on the monotonic clock

    def start(self) -> None:
        """Begin. The thread does not keep the process from ending."""
        self.end = time.monotonic() + self.check.limit
        self.thread = threading.Thread(target=self._look, name=f"doctor {self.check.name}", daemon=True)
        self.thread.start()

    def findings(self, words: Words) -> list[Finding]:
        """Wait, at most to the limit; what was found."""
        if self.thread is not None:
            self.thread.join(max(0.0, self.end - time.monotonic()))
            if self.thread.is_alive():
                text = words("doctor slow", name=self.check.name, seconds=f"{self.check.limit:g}")
                return [*self.found, Finding(text, ok=False, do=(words("doctor slow do"),))]
        return self.found

    def _look(self) -> None:
        words = self.examined.words
        try:
            for finding in self.check.find(self.examined):
                self.found.append(finding)
        except FlowerError as error:
            self.found.append(Finding(error.what, ok=False, do=(error.next,)))
        except Exception as error:  # noqa: BLE001  # one check must not hide the others
            why = f"{type(error).__name__}: {error}"
            text = words("doctor broke", name=self.check.name, why=why)
            self.found.append(Finding(text, ok=False, do=(words("doctor broke do"),)))


def _started(examined: Examined, checks: Sequence[Check]) -> list[Looking]:
    """All groups, under way."""
    looking = [Looking(check, examined) for check in checks]
    for each in looking:
        each.start()
    return looking
