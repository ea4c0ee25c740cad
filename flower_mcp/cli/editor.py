"""The person's editor: which one it is, opening a document in it, and what is wrong with the document afterwards.

Which one: VISUAL, EDITOR, then vi and nano, as git does it. Either variable may hold arguments; no shell reads it. It
must not know runs. What can hurt: an editor that writes over the file destroys the version before, so that is put into
the archive first; and Ctrl-C and Ctrl-Z belong to the editor as long as it is open.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from flower_mcp.core.errors import Usage

if TYPE_CHECKING:
    from flower_mcp.core.faults import Fault
    from flower_mcp.workbench.documents import Document
    from flower_mcp.workbench.workbench import Workbench

_USUAL = ("vi", "nano")
_NEXT = "Set EDITOR to the command that opens yours."


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """The editor's argument list, its program found. Raises Usage when there is none."""
    is_dumb = environ.get("TERM", "dumb") == "dumb"
    names = ("EDITOR", "VISUAL") if is_dumb else ("VISUAL", "EDITOR")  # VISUAL is for screens
    for name in names:
        if environ.get(name, "").strip():
            return _parsed(name, environ[name])
    found = None if is_dumb else next((path for each in _USUAL if (path := shutil.which(each))), None)
    if found is None or sys.stdin is None or not sys.stdin.isatty():
        raise Usage("There is no editor to open.", next=_NEXT)
    return [found]


def _parsed(name: str, value: str) -> list[str]:
    """The variable's words, the first one a program that is there. Raises Usage."""
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise Usage(f"{name} cannot be read ({error}): {value}", next=_NEXT) from error
    program = shutil.which(os.path.expanduser(words[0])) if words else None  # noqa: PTH111  # a name, not a path
    if program is None:
        raise Usage(f"{name} names an editor that is not there: {value}", next=_NEXT)
    return [program, *words[1:]]


def keep_before(workbench: Workbench, document: Document) -> None:
    """Put the document into the archive, before an editor writes over it. Raises FilesError."""
    workbench.documents.keep(document.step, document.data)


def faults_now(workbench: Workbench, step: str) -> tuple[Fault, ...]:
    """What is wrong with the step's document as it lies there now, the worst first."""
    from flower_mcp.core.errors import FilesError
    from flower_mcp.core.faults import Fault, FaultKind, faults_of

    try:
        document = workbench.read(step)
    except FilesError as error:
        return (Fault(FaultKind.UNREADABLE, str(error)),)
    if document is None:
        return (Fault(FaultKind.DELETED, FaultKind.DELETED.value),)
    return faults_of(document.text)
