"""The keeper: a small process between supervisor and Claude Code CLI that lets nothing outlive them.

The SDK gets a launcher as its `cli_path`, which starts `main` here with `python -I -S`. The keeper starts the CLI on
the SDK's own pipes, waits, cleans up, and ends with the CLI's exit code (128 + n after signal n).

| what happened                                     | the CLI           | what else is ended                          |
|---------------------------------------------------|-------------------|---------------------------------------------|
| the word `retired` lies there: handed over        | its own end, TERM | nothing: what was detached lives on         |
| no word: the CLI was closed, died, thrown away    | its own end, TERM | all that lives below this keeper            |
| the word `over` lies there: the step's last CLI   | its own end, TERM | that, and all that carries the run's marker |
| the supervisor is gone, whatever the word         | TERM              | that, and all that carries the run's marker |
| the keeper itself was killed                      | TERM, by kernel   | nothing: keeping.py's part                  |

Several CLIs of a run live side by side (one that retires, a successor started early, one thrown away unused), so an end
without a word stays below its own keeper. That finds even what wiped its environment, since a keeper adopts all orphans
below it. Run-wide ends take the supervisor's word or its death.

It must not import flower_mcp, and little else: imports are paid at each session's start. What can hurt: ending one of
its own ancestors; taking longer than 5 s from TERM, when the SDK kills it. Without /proc (macOS, untested) only the
CLI's process group is ended.
"""

# ruff: noqa: PTH108, PTH112, PTH106, PTH123, PTH208
# pathlib would cost a third of the start.

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from contextlib import suppress
from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FOLDER_VARIABLE, KEEPER_VARIABLE, RUN_VARIABLE = "FLOWER_KEEPER_FOLDER", "FLOWER_KEEPER", "FLOWER_RUN"
FILES = ("launcher", "settings", "host", "cli", "word", "word.new", "report")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
KERNEL_THREAD = 0x00200000  # among the flags of /proc/PID/stat

POLL = 0.2  # seconds between two looks at the supervisor
CLI_PATIENCE = 2.0  # seconds from TERM to KILL (the CLI takes 0.2 to 1.5); with PATIENCE below the SDK's 5 s
PATIENCE = 2.0  # seconds that all others have, from the CLI's end to KILL
SETTLE = 0.3  # seconds of these without TERM: a server whose input has closed ends by itself
LAST_PATIENCE = 1.0  # seconds to be gone after KILL; only an uninterruptible wait takes longer
COMMAND_LENGTH = 200  # characters of a command line

CLEARED = ("CLAUDE", "FLOWER", "ANTHROPIC_", "DISABLE_")
PASSED_PREFIXES = ("ANTHROPIC_", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_", "CLAUDE_CODE_CLIENT_")
PASSED_NAMES = frozenset(
    (
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
        "CLAUDE_CODE_EXTRA_BODY",
        "CLAUDE_CODE_SUBAGENT_MODEL",
        # The SDK's own. It sets or removes the first three at each start, so an outer session's never come through; the
        # fourth asks for frames that the SDK reads. Its CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING and
        # CLAUDE_AGENT_SDK_CLIENT_APP are not here: unused by us, and an outer session's would come through.
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_AGENT_SDK_VERSION",
        "CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP",
        "CLAUDE_CODE_SDK_READS_SESSION_STATE",
    )
)


class Ending(StrEnum):
    """What this CLI's end means for other processes, and the words of the control file: the table above."""

    RETIRED = "retired"
    CLOSED = "closed"
    OVER = "over"


def ending(word: str, supervisor_gone: bool) -> Ending:
    """Reads the table; a word that is not in it is none."""
    if supervisor_gone:
        return Ending.OVER
    return Ending(word) if word in tuple(Ending) else Ending.CLOSED


def child_environment(inherited: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """The CLI's variables: a list, so that no outer Claude session steers this one. `ours` always wins."""
    return {name: value for name, value in inherited.items() if _passes(name)} | dict(ours)


def _passes(name: str) -> bool:
    if not name.startswith(CLEARED):
        return True
    skips_login = name.startswith("CLAUDE_CODE_SKIP_") and name.endswith("_AUTH")
    return skips_login or name in PASSED_NAMES or name.startswith(PASSED_PREFIXES)


def processes() -> dict[int, tuple[int, bytes]]:
    """Process id -> (parent's id, variables at its start, each between NULs) of all programs; {} without /proc."""
    found = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdecimal() and (fields := _read(f"/proc/{name}/stat").rpartition(b")")[2].split()):
            state, parent = fields[:2]
            if state not in b"ZX" and not int(fields[6]) & KERNEL_THREAD:  # they are half of all, and have no variables
                found[int(name)] = (int(parent), b"\0" + _read(f"/proc/{name}/environ") + b"\0")
    return found


def marked(found: Mapping[int, tuple[int, bytes]], variable: str, value: str) -> set[int]:
    """The processes that were started with this variable."""
    marker = os.fsencode(f"\0{variable}={value}\0")
    return {pid for pid, (_, variables) in found.items() if marker in variables}


def family(found: Mapping[int, tuple[int, bytes]], roots: Iterable[int]) -> set[int]:
    """The roots and all below them, but never this process, its ancestors, or what hangs from these alone."""
    below: dict[int, list[int]] = {}
    for pid, (parent, _) in found.items():
        below.setdefault(parent, []).append(pid)
    spared, above = set(), os.getpid()
    while above and above not in spared:
        spared.add(above)
        above = found[above][0] if above in found else 0
    members: set[int] = set()
    waiting = [pid for pid in roots if pid in found]
    while waiting:
        pid = waiting.pop()
        if pid not in members and pid not in spared:
            members.add(pid)
            waiting += below.get(pid, ())
    return members


def command_line(pid: int) -> str:
    """What the process runs, on one line and shortened; "" once it is gone."""
    return shortened(_read(f"/proc/{pid}/cmdline").decode(errors="replace").replace("\0", " "))


def shortened(command: str) -> str:
    """One line of at most 200 characters; of a shell that the CLI started, what it was asked to run."""
    line = " ".join(command.split())
    if "/shell-snapshots/" in line:  # the CLI wraps a command in 400 characters of its own
        line = line.partition(" && eval ")[2].rpartition(" < /dev/null && pwd -P")[0] or line
    return line[:COMMAND_LENGTH]


def sweep(targets: Callable[[], set[int]], patience: float = PATIENCE) -> dict[int, str]:
    """Ends all that `targets` finds, looking again until nothing is left: TERM, after `patience` seconds KILL.

    Returns process id -> command line of what this ended, without what would not go. Takes at most patience + 1 s.
    """
    told: dict[int, str] = {}
    left: set[int] = set()
    begun = time.monotonic()
    empty = 0  # looks in a row that found nothing; one alone may have met a process amid its exec, without variables
    while empty < 2 and (elapsed := time.monotonic() - begun) < patience + LAST_PATIENCE:
        left = targets()
        empty = 0 if left else empty + 1
        for pid in left if elapsed >= min(SETTLE, patience) else ():
            if pid not in told or elapsed >= patience:
                told.setdefault(pid, command_line(pid))
                _send(pid, signal.SIGKILL if elapsed >= patience else signal.SIGTERM)
        time.sleep(0.01 if empty else 0.05)
    return {pid: command for pid, command in told.items() if pid not in left}


def _send(pid: int, number: int) -> None:
    with suppress(OSError):
        os.kill(pid, number)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _write(path: str, text: str) -> None:
    with suppress(OSError), open(path, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)


def _control(option: int, value: int) -> None:
    """prctl(2), where there is one; a failure takes away a safety net and nothing else."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _start(command: list[str], environment: Mapping[str, str]) -> int:
    """Starts the CLI in a session of its own, on this process's pipes; its id. One that cannot run ends with 127."""
    keeper = os.getpid()
    if pid := os.fork():
        return pid
    try:
        os.setsid()
        # What Python and the keeper ignore would be ignored by the CLI and by all its shells as well.
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        _control(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == keeper:  # else it was killed before the line above
            os.execve(command[0], command, environment)
    except (OSError, ValueError) as error:
        os.write(2, os.fsencode(f"flower keeper: cannot start {command[0]}: {error}\n"))
    finally:
        os._exit(127)


def _reap(cli: int) -> int | None:
    """Takes in all that has ended below; the CLI's exit code if it is among that."""
    code = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == cli:
                code = os.waitstatus_to_exitcode(ended[1])
    return code if code is None or code >= 0 else 128 - code


def _watch(cli: int, supervisor: int, bell: int, asked: list[int]) -> int:
    """Waits for the CLI's end, and brings it about when the supervisor is gone or a signal asks; its exit code."""
    kill_at = 0.0
    while (code := _reap(cli)) is None:
        if kill_at and time.monotonic() >= kill_at:
            _send(cli, signal.SIGKILL)
        elif not kill_at and (asked or os.getppid() != supervisor):
            kill_at = time.monotonic() + CLI_PATIENCE
            _send(cli, signal.SIGTERM)
        if select.select([bell], [], [], POLL)[0]:
            os.read(bell, 4096)
    return code


def _clean_up(how: Callable[[], Ending], cli: int, run: str) -> dict[int, str]:
    """Ends what the table says, asking at each look how this ends: the supervisor can die meanwhile. What that was."""

    def targets() -> set[int]:
        found = processes()
        roots = {pid for pid, (parent, _) in found.items() if parent == os.getpid()}
        return family(found, roots | marked(found, RUN_VARIABLE, run) if how() is Ending.OVER else roots)

    if how() is Ending.RETIRED:
        return {}
    if not os.path.isdir("/proc/self"):
        with suppress(OSError):
            os.killpg(cli, signal.SIGKILL)
    return sweep(targets)


def main(arguments: list[str]) -> int:
    """Keeps one CLI, from start to end."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):
        os.setsid()  # out of the terminal's reach: ending is the supervisor's decision
    folder = os.environ.get(FOLDER_VARIABLE, "")
    supervisor, cli_path, *pairs = [*os.fsdecode(_read(f"{folder}/settings")).split("\0"), ""]
    if not cli_path:
        os.write(2, os.fsencode(f"flower keeper: {FOLDER_VARIABLE}={folder!r} holds no settings\n"))
        return 2
    ours = dict(pair.split("=", 1) for pair in pairs if pair)
    _control(PR_SET_CHILD_SUBREAPER, 1)
    cli = _start([cli_path, *arguments], child_environment(os.environ, ours))

    asked: list[int] = []
    bell, ringer = os.pipe()
    os.set_blocking(ringer, False)
    signal.set_wakeup_fd(ringer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: asked.append(received))
    signal.signal(signal.SIGCHLD, lambda *_: None)  # only rings the bell
    _write(f"{folder}/cli", str(cli))
    for pipe in (0, 1):  # the CLI's end must be the end of both, for the SDK's reader and for its writer
        os.dup2(os.open(os.devnull, os.O_RDWR), pipe)

    code = _watch(cli, int(supervisor), bell, asked)
    if code == 128 + signal.SIGKILL and not asked:
        time.sleep(SETTLE)  # whoever killed it (a person, the out-of-memory killer) may be killing the supervisor too
    word = os.fsdecode(_read(f"{folder}/word"))
    ended = _clean_up(lambda: ending(word, os.getppid() != int(supervisor)), cli, ours[RUN_VARIABLE])
    _write(f"{folder}/report", "".join(f"{pid} {command}\n" for pid, command in ended.items()))
    if os.getppid() != int(supervisor):  # nobody is left to read them
        for name in FILES:
            with suppress(OSError):
                os.unlink(f"{folder}/{name}")
        with suppress(OSError):
            os.rmdir(folder)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
