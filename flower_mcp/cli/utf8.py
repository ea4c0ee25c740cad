"""File names in UTF-8 whatever the locale: a process that began in another locale starts anew in UTF-8 mode.

Documents are called 交接-<step>.md. Where the locale is not UTF-8 and Python does not mend that itself (PYTHONUTF8=0,
or a locale like de_DE.ISO-8859-1), such a name cannot even be opened. What is printed keeps the locale's own encoding,
so a terminal gets nothing that it cannot show. What can hurt: the variables that carry this over are for our start
alone, and what the sessions run must not inherit them.
"""

from __future__ import annotations

import os
import sys

_CARRIED = "FLOWER_UTF8"  # the locale's encoding; then what the next variable was
_PRINTED = "PYTHONIOENCODING"


def go_on_in_utf8() -> None:
    """Start anew if this process cannot name our files. To be called first of all.

    Afterwards the arguments are text, also those that were typed in the locale's encoding.
    """
    carried = os.environ.pop(_CARRIED, None)
    if carried is not None:
        _arrive(carried)
    elif sys.platform != "win32" and sys.getfilesystemencoding() != "utf-8":
        encoding = sys.getfilesystemencoding()
        given = os.environ.get(_PRINTED, "")
        printed = given or getattr(sys.stdout, "encoding", None) or encoding
        environment = {**os.environ, _CARRIED: f"{encoding} {given}", _PRINTED: printed}
        os.execve(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]], environment)


def _arrive(carried: str) -> None:
    encoding, _, given = carried.partition(" ")
    os.environ.pop(_PRINTED, None)
    if given:
        os.environ[_PRINTED] = given
    sys.argv[1:] = [_text(argument, encoding) for argument in sys.argv[1:]]


def _text(argument: str, encoding: str) -> str:
    """What is not UTF-8 was typed in the locale's encoding."""
    data = os.fsencode(argument)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode(encoding, "replace")
