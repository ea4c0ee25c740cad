"""Whether an editor has a document open with changes that are not saved yet.

What vim and emacs leave beside the file while somebody types; it must not know what a document is. An editor that
leaves nothing there (VS Code, nano as it comes) is not seen before it saves. What can hurt: a vim that was killed
leaves its swap file behind, one that only shows the file has one too, and one on another machine has a process id that
means nothing here. So what counts is the byte that says "modified" together with a process that lives on this machine.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flower_mcp.workbench.files import SAFE

# vim's block 0 (memline.c, struct block0): two bytes "b0", the process id at 24 in the machine's least significant byte
# first, the host's name at 68, and the last byte of the file's name, at 1007, 0x55 while the text is modified. nano
# with `set locking` writes the same.
_BLOCK, _PID, _HOST, _DIRTY = 1008, 24, 68, 1007
_MODIFIED = 0x55
_SWAP = re.compile(r"\.s[a-z]{2}$")
_EMACS = re.compile(r"[^\n]*@(?P<host>[^\n@]*)\.(?P<pid>\d+)(?::\d+)?$")
_LONGEST = 1_024  # bytes of an emacs lock that is a file


def unsaved(path: Path) -> bool:
    """Whether an editor on this machine has unsaved changes of the file. Never raises; a few system calls."""
    return any(_vim_is_modified(swap) for swap in _swaps(path)) or _emacs_is_modified(path.with_name(f".#{path.name}"))


def _swaps(path: Path) -> Iterator[Path]:
    """The swap files that vim and neovim can have for a file: beside it, or in the folders that people use for them."""
    start = f".{path.name}.s"
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if entry.name.startswith(start) and _SWAP.search(entry.name):
                yield Path(entry.path)
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    whole = str(path).replace(os.sep, "%")
    for folder in (f"{state}/nvim/swap", "~/.vim/swap", "~/.vim/tmp", "~/.cache/vim/swap"):
        with suppress(RuntimeError):  # nobody's home folder is known
            yield Path(folder).expanduser() / f"{whole}.swp"


def _vim_is_modified(swap: Path) -> bool:
    try:
        descriptor = os.open(swap, os.O_RDONLY | SAFE | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        block = os.read(descriptor, _BLOCK)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    if len(block) < _BLOCK or block[:2] != b"b0" or block[_DIRTY] != _MODIFIED:
        return False
    host = block[_HOST : _HOST + 40].split(b"\0")[0].decode("utf-8", "replace")
    return _is_here(host) and _is_alive(int.from_bytes(block[_PID : _PID + 4], "little"))


def _emacs_is_modified(lock: Path) -> bool:
    """emacs makes its lock with the first change and removes it when it saves: a link that leads nowhere, or a file."""
    try:
        owner = str(lock.readlink())
    except OSError:
        try:
            with lock.open("rb") as file:
                owner = file.read(_LONGEST).decode("utf-8", "replace").strip()
        except OSError:
            return False
    found = _EMACS.match(owner)
    return found is not None and _is_here(found["host"]) and _is_alive(int(found["pid"]))


def _is_here(host: str) -> bool:
    """Whether a host's name, which vim cuts at 39 bytes, is this machine's."""
    here = socket.gethostname()
    return host == here or (len(host) >= 39 and here.startswith(host))


def _is_alive(pid: int) -> bool:
    if pid <= 0 or pid >= 2**31 or sys.platform == "win32":  # there, os.kill with 0 is no question
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
