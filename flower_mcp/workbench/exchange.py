"""Two moves that Python's os module does not offer: exchange two files in one act, and rename without overwriting.

On Linux both are `renameat2`, on macOS `renamex_np` (written after its manual page, not tried: no such machine was at
hand). This module must not know what the files are. A file system or a kernel without them (some FUSE and network
mounts, Windows) answers `False` or falls back, never half a move.
"""

from __future__ import annotations

import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

_NOREPLACE, _EXCHANGE = 1, 2  # linux/fs.h
_MAC_SWAP, _MAC_EXCLUSIVE = 2, 4  # sys/stdio.h: RENAME_SWAP, RENAME_EXCL
_AT_FDCWD = -100
_UNSUPPORTED = frozenset((errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP))
_NO_HARD_LINKS = _UNSUPPORTED | {errno.EPERM, errno.EMLINK}


def exchange(one: Path, other: Path) -> bool:
    """Let two existing files change places in one act. False when the system cannot; then nothing was moved.

    Raises FileNotFoundError when one of them does not exist, and other kinds of OSError.
    """
    return _rename(one, other, _EXCHANGE, _MAC_SWAP)


def move_new(source: Path, target: Path) -> bool:
    """Rename `source` to `target` unless there is something at `target`: then False, and nothing was moved.

    Where the system has no such rename, a second name is made and the first one removed; on a file system without
    hard links the look and the rename are two acts.
    """
    try:
        if _rename(source, target, _NOREPLACE, _MAC_EXCLUSIVE):
            return True
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        return False
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_HARD_LINKS:
            raise
        if os.path.lexists(target):
            return False
        source.rename(target)
        return True
    source.unlink()
    return True


def _rename(source: Path, target: Path, linux: int, mac: int) -> bool:
    """Call the system's rename with flags. False: it has none, or the file system does not know the flag."""
    function = _system_call()
    if function is None:
        return False
    one, other = os.fsencode(source), os.fsencode(target)
    code = function(one, other, mac) if sys.platform == "darwin" else function(_AT_FDCWD, one, _AT_FDCWD, other, linux)
    if code == 0:
        return True
    number = _errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


@cache
def _system_call() -> Any:
    """`renameat2` or `renamex_np` of the C library, None where it has neither."""
    name = {"linux": "renameat2", "darwin": "renamex_np"}.get(sys.platform)
    if name is None:
        return None
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return None
    path, number = ctypes.c_char_p, ctypes.c_int
    flags = ctypes.c_uint
    function.argtypes = (path, path, flags) if sys.platform == "darwin" else (number, path, number, path, flags)
    function.restype = number
    return function


def _errno() -> int:
    import ctypes

    return ctypes.get_errno()
