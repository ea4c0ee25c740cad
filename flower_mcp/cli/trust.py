"""`flower trust`, and the question before a run: is what came with this folder to be used?

It shows the document and what the folder's settings would run, as text that has been cleaned; whoever says yes has seen
it. What is believed without an answer is decided in runtime/trust.py. What can hurt: an answer that was typed before
the question, so what was typed before is dropped.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from flower_mcp.cli.output import Output, shorten
from flower_mcp.cli.words import Words, language
from flower_mcp.core.errors import NothingThere, Usage

if TYPE_CHECKING:
    from flower_mcp.cli.options import RunOptions
    from flower_mcp.runtime.trust import Belief, Brought
    from flower_mcp.workbench.workbench import Workbench

_SHOWN = 40  # lines of a document that a question shows; the rest is a command away
_REPLIES = {"y": True, "yes": True, "n": False, "no": False}


def trust_command(step: str | None, workspace: str) -> int:
    """Trust what came with the folder; the exit code. Raises Usage, NothingThere, FilesError.

    Settings are the folder's, a document is a step's. So where no step is named and there is not exactly one, settings
    that were brought along are trusted alone.
    """
    from flower_mcp.cli.choosing import chosen_step, open_workbench

    output, words = Output(), Words(language(os.environ))
    workbench = open_workbench(workspace)
    out = _untrusted_settings(workbench)
    try:
        name = chosen_step(workbench, step, "trust")
    except (NothingThere, Usage):
        if step or not out:
            raise
        name = ""
    belief = _belief(workbench, name) if name else None
    _show((output, words), workbench, name, belief, out, whole=True)
    if belief is not None and not belief.known:
        workbench.known.remember(workbench.workspace, name)
        output.line(words("trusted document", step=name))
    if out:
        workbench.known.trust(workbench.workspace)
        output.line(words("trusted settings"))
    elif belief is None or belief.known:
        output.line(words("nothing to trust"))
    return 0


def ask_trust(options: RunOptions, task: str | None, output: Output, words: Words) -> bool:
    """Ask the person at the terminal whether what came with the folder is to be used. Nothing came: no question.

    Without a task and without trust there is nothing to go on from, which the run says then. Raises FilesError.
    """
    from flower_mcp.cli.choosing import open_workbench
    from flower_mcp.cli.keys import drop_typed, is_in_front

    workbench = open_workbench(options.workspace)
    belief, out = _belief(workbench, options.step), _untrusted_settings(workbench)
    if options.new and not out:
        return False
    if (belief.known and not out) or not is_in_front(sys.stdin.fileno()):
        return False
    _show((output, words), workbench, options.step, belief, out, whole=False)
    drop_typed(sys.stdin.fileno())
    while True:
        output.line(words("trust how"), end="")
        line = sys.stdin.readline()
        reply = _REPLIES.get(line.strip().lower())
        if reply is not None or not line:
            return bool(reply)


def _untrusted_settings(workbench: Workbench) -> tuple[Brought, ...]:
    from flower_mcp.runtime.trust import brought, is_trusted

    if is_trusted(workbench.workspace, os.environ, workbench.known):
        return ()
    return brought(workbench.workspace, os.environ)


def _belief(workbench: Workbench, step: str) -> Belief:
    from flower_mcp.runtime.trust import look

    return look(workbench, step)


def _show(
    say: tuple[Output, Words],
    workbench: Workbench,
    step: str,
    belief: Belief | None,
    out: tuple[Brought, ...],
    *,
    whole: bool,
) -> None:
    """Show what came with the folder."""
    from flower_mcp.cli.choosing import typed

    output, words = say
    if belief is not None and belief.document is not None:
        output.line(words("unknown document", step=step, path=belief.document))
        document = workbench.read(step)
        lines = document.text.splitlines() if document is not None else []
        shown = lines if whole else lines[:_SHOWN]
        output.lines([f"  | {line}" for line in shown])
        if len(lines) > len(shown):
            output.line(words("lines left", count=len(lines) - len(shown), command=typed(workbench, "show", step)))
    elif belief is not None and not belief.known:
        output.line(words("unknown state", step=step, path=workbench.lives.folder))
    if out:
        output.line(words("brings"))
        output.lines([f"  - {shorten(str(each), 1000)}" for each in out])
