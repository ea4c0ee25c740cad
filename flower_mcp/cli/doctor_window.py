"""`flower doctor`: the windows that overflows taught, and where a run here would hand off. It asks no CLI."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from flower_mcp.cli.choosing import local_time
from flower_mcp.cli.doctor_finding import Examined, Finding
from flower_mcp.cli.words import Words
from flower_mcp.core.errors import FlowerError, NothingThere
from flower_mcp.core.policy import WindowSource
from flower_mcp.core.texts import used_text, window_text
from flower_mcp.core.windows import DEAR, EARLIER, Learned, key
from flower_mcp.workbench.files import read_whole
from flower_mcp.workbench.learned import LearnedWindows
from flower_mcp.workbench.windows import default_window, endpoint_of
from flower_mcp.workbench.workbench import Workbench


def window_check(examined: Examined) -> Iterator[Finding]:
    """The window that a run here would start with, as far as is known without asking the CLI."""
    words, environ, policy = examined.words, examined.environ, examined.policy
    model = examined.options.model or environ.get("ANTHROPIC_MODEL")
    source = words(f"source {WindowSource.SET}")
    if not policy.window_given:
        named = {**environ, **({"ANTHROPIC_MODEL": model} if model else {})}
        kept = LearnedWindows(examined.state).look().entries if model else {}
        learned = kept.get(key(endpoint_of(environ), model or ""))
        policy = policy.with_window(learned.window if learned else default_window(named))
        source = words(f"source {WindowSource.LEARNED}")
        if learned is None:
            source = _asked(examined, words("ask cli", source=words(f"source {WindowSource.GUESSED}")))
    line = words("hands off", at=used_text(policy.at)) if policy.enabled else words("no handoff")
    text = words("doctor window", window=window_text(policy.window), source=source, line=line)
    advice = policy.advice()
    do = [advice] if advice else []
    if policy.enabled and policy.at > DEAR:
        do.append(words("doctor earlier", at=EARLIER))
    yield Finding(text, do=tuple(do))


def _asked(examined: Examined, source: str) -> str:
    """That the CLI is asked, and what it said in the last run of the step; for which model, the books do not know."""
    row: Any = None
    with suppress(FlowerError, ValueError, RecursionError, AttributeError):
        path = Workbench(examined.workspace).lives.path(examined.options.step)
        row = json.loads(read_whole(path) or b"{}").get("row")
    if not isinstance(row, dict) or row.get("window_source") != WindowSource.REPORTED:
        return source
    window = row.get("window")
    if not isinstance(window, int):
        return source
    return examined.words("doctor reported", source=source, step=examined.options.step, window=window_text(window))


def learned_check(examined: Examined) -> Iterator[Finding]:
    """The windows that overflows taught."""
    words = examined.words
    kept = LearnedWindows(examined.state).look()
    for note in kept.notes:
        yield Finding(note, ok=False, do=(words("doctor forget all"),))
    for name, learned in sorted(kept.entries.items()):
        command = shlex.join(["flower", "doctor", "--forget", name])
        yield Finding(
            words("doctor learned", **_named(name, learned), when=local_time(learned.at), text=learned.said),
            do=(words("doctor forget", command=command),),
        )
    if not kept.entries and not kept.notes:
        yield Finding(words("doctor learned none"))


def forgotten(words: Words, learned: LearnedWindows, wanted: str) -> list[str]:
    """Remove the learned windows of a key, an endpoint or a model ("": all); the lines that say so.

    Raises NothingThere, FilesError.
    """

    def is_wanted(name: str) -> bool:
        return wanted in ("", name, *name.split(" ", 1))

    removed = learned.forget_all(is_wanted)
    if wanted and not removed.entries:
        raise NothingThere(f"No window was learned for {wanted!r}.", next="`flower doctor` lists what was.")
    lines = [words("doctor forgotten", **_named(name, one)) for name, one in sorted(removed.entries.items())]
    return [*(f"! {note}" for note in removed.notes), *(lines or [words("doctor forgotten none")])]


def _named(name: str, learned: Learned) -> dict[str, str]:
    """The parts of a key, and its window, for the texts."""
    endpoint, _, model = name.partition(" ")
    return {"endpoint": endpoint, "model": model, "window": window_text(learned.window)}
