"""`flower doctor`: looks at what a run here would meet, and says of each thing that it is well, or what to do.

Each check is a function that answers findings; a new one is a function more in CHECKS. It must not start a session, nor
change anything but what `--forget` names. What can hurt: a check that raises would hide the others, so what cannot be
read is a finding, too.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from flower_mcp.cli.choosing import local_time
from flower_mcp.cli.options import RunOptions
from flower_mcp.cli.output import Output
from flower_mcp.cli.words import Words, language
from flower_mcp.core.errors import FlowerError, NothingThere
from flower_mcp.core.policy import HandoffPolicy, WindowSource
from flower_mcp.core.texts import used_text, window_text
from flower_mcp.core.windows import DEAR, EARLIER, Learned, key
from flower_mcp.workbench.learned import LearnedWindows
from flower_mcp.workbench.windows import default_window, endpoint_of, state_folder


@dataclass(frozen=True, slots=True)
class Examined:
    """What the checks look at: the words to answer in, the variables, the user's state, the policy and the model."""

    words: Words
    environ: Mapping[str, str]
    state: Path
    policy: HandoffPolicy
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `ok` False: something is wrong. `do`: what to do about it, or what is better."""

    text: str
    ok: bool = True
    do: tuple[str, ...] = ()


Check = Callable[[Examined], Iterator[Finding]]


def doctor_command(options: RunOptions, forget: str | None) -> int:
    """Check everything, or forget learned windows ("" for all of them); the exit code. Raises Usage, NothingThere."""
    output, words = Output(), Words(language(os.environ))
    examined = Examined(words, os.environ, state_folder(os.environ), options.policy(), options.model)
    if forget is not None:
        output.lines(_forgotten(examined, forget))
        return 0
    is_well = True
    for check in CHECKS:
        for finding in _found(check, examined):
            output.line(words("doctor ok" if finding.ok else "doctor wrong", text=finding.text))
            output.lines([words("doctor do", text=text) for text in finding.do])
            is_well = is_well and finding.ok
    return 0 if is_well else 1


def _found(check: Check, examined: Examined) -> Iterator[Finding]:
    """What a check finds; an error of the disk's is a finding."""
    try:
        yield from check(examined)
    except FlowerError as error:
        yield Finding(str(error), ok=False)


def window_check(examined: Examined) -> Iterator[Finding]:
    """The window that a run here would start with, as far as is known without asking the CLI."""
    words, environ, policy = examined.words, examined.environ, examined.policy
    model = examined.model or environ.get("ANTHROPIC_MODEL")
    source = words(f"source {WindowSource.SET}")
    if not policy.window_given:
        named = {**environ, **({"ANTHROPIC_MODEL": model} if model else {})}
        kept = LearnedWindows(examined.state).read().entries if model else {}
        learned = kept.get(key(endpoint_of(environ), model or ""))
        policy = policy.with_window(learned.window if learned else default_window(named))
        source = words(f"source {WindowSource.LEARNED}")
        if learned is None:
            source = words("ask cli", source=words(f"source {WindowSource.GUESSED}"))
    line = words("hands off", at=used_text(policy.at)) if policy.enabled else words("no handoff")
    text = words("doctor window", window=window_text(policy.window), source=source, line=line)
    advice = policy.advice()
    do = [advice] if advice else []
    if policy.enabled and policy.at > DEAR:
        do.append(words("doctor earlier", at=EARLIER))
    yield Finding(text, do=tuple(do))


def learned_check(examined: Examined) -> Iterator[Finding]:
    """The windows that overflows taught."""
    words = examined.words
    kept = LearnedWindows(examined.state).read()
    for note in kept.notes:
        yield Finding(note, ok=False)
    for name, learned in sorted(kept.entries.items()):
        command = shlex.join(["flower", "doctor", "--forget", name])
        yield Finding(
            words("doctor learned", **_named(name, learned), when=local_time(learned.at), text=learned.said),
            do=(words("doctor forget", command=command),),
        )
    if not kept.entries:
        yield Finding(words("doctor learned none"))


CHECKS: tuple[Check, ...] = (learned_check, window_check)  # the first reads windows.json, and says if it is broken


def _forgotten(examined: Examined, wanted: str) -> list[str]:
    """Remove the learned windows of a key, an endpoint or a model ("": all); the lines that say so."""
    words = examined.words

    def is_wanted(name: str) -> bool:
        return wanted in ("", name, *name.split(" ", 1))

    removed = LearnedWindows(examined.state).forget_all(is_wanted)
    if wanted and not removed.entries:
        raise NothingThere(f"No window was learned for {wanted!r}.", next="flower doctor lists what was.")
    lines = [words("doctor forgotten", **_named(name, one)) for name, one in sorted(removed.entries.items())]
    return [*(f"! {note}" for note in removed.notes), *(lines or [words("doctor forgotten none")])]


def _named(name: str, learned: Learned) -> dict[str, str]:
    """The parts of a key, and its window, for the texts."""
    endpoint, _, model = name.partition(" ")
    return {"endpoint": endpoint, "model": model, "window": window_text(learned.window)}
