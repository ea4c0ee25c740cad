"""Nothing listens during a run: neither the supervisor, nor the keeper, the CLI or what they started.

The CLI opens one socket of its own (seen with 2.1.332), by a name in a folder that is this user's alone; so a socket
with a name may listen where nobody else can get at it, and none on the network may.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from flower_mcp import Event, Runtime
from flower_mcp.demo.model import ScriptedModel, Story, text
from tests.e2e.harness import marked
from tests.e2e.steps import bash, run_step

pytestmark = pytest.mark.e2e

LISTENS, UNIX_LISTENS = "0A", 0x10000  # include/net/tcp_states.h; __SO_ACCEPTCON in include/linux/net.h


def listening(pid: int) -> set[str]:
    """The inodes of a process's listening sockets, and of its open datagram ports."""
    return set(_inodes()) & set(_sockets(pid))


def _sockets(pid: int) -> Iterator[str]:
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            name = str(entry.readlink())
            if name.startswith("socket:["):
                yield name[8:-1]


def _inodes() -> Iterator[str]:
    for name in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(FileNotFoundError):
            for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENS or (name.startswith("udp") and fields[2].endswith(":0000")):
                    yield fields[9]
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if int(fields[3], 16) & UNIX_LISTENS and not _is_private(Path(fields[7] if len(fields) > 7 else "@")):
            yield fields[6]


def _is_private(path: Path) -> bool:
    """Whether only this user gets at a named socket."""
    with suppress(OSError):
        return path.is_absolute() and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    return False


@pytest.mark.skipif(not Path("/proc/net/unix").exists(), reason="there is no /proc here")
def test_a_listening_socket_is_seen_unless_it_is_this_users_alone(tmp_path: Path) -> None:
    before = listening(os.getpid())
    with socket.create_server(("127.0.0.1", 0)):
        assert len(listening(os.getpid()) - before) == 1
    assert listening(os.getpid()) == before
    for mode, seen in ((0o700, 0), (0o755, 1)):
        folder = tmp_path / oct(mode)
        folder.mkdir(mode)
        with socket.socket(socket.AF_UNIX) as named:
            named.bind(str(folder / "s"))
            named.listen()
            assert len(listening(os.getpid()) - before) == seen


@pytest.mark.anyio
@pytest.mark.skipif(not Path("/proc/net/unix").exists(), reason="there is no /proc here")
async def test_nothing_listens_while_a_step_runs(model: ScriptedModel, workspace: Path) -> None:
    model.script = Story([bash("sleep 0.3; echo a").at(20_000), text("Done.").at(21_000)])
    before = listening(os.getpid())  # the scripted model's
    seen: list[tuple[str, set[str]]] = []

    def look(runtime: Runtime, event: Event) -> None:
        place = runtime.place("work")
        if event.kind == "tool" and place is not None:
            seen.append(("supervisor", listening(os.getpid()) - before))
            for pid in marked(f"FLOWER_RUN={place.run}"):
                with suppress(OSError):
                    seen.append((str(pid), listening(pid)))

    run = await run_step(workspace, during=look)
    assert run.result.ok, run.result.error
    assert len(seen) >= 2
    assert [(who, sockets) for who, sockets in seen if sockets] == []
