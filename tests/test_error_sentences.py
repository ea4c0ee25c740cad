"""Each error says what happened, what was kept, and what to do next; and each command that one names can be typed.

Classes are walked as they are, raise sites and the texts in them as the source has them.
"""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import flower_mcp
from flower_mcp.cli.commands import flower
from flower_mcp.cli.words_doctor import TEXTS
from flower_mcp.core import errors
from flower_mcp.core.errors import CallersError, FilesError, FlowerError, OurError, WorldsError
from flower_mcp.core.failures import RULES, Failure

ROOT = Path(flower_mcp.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
ROOTS = (FlowerError, CallersError, FilesError, WorldsError, OurError)


def _classes() -> Iterator[type[FlowerError]]:
    """The whole tree, with the classes that other modules put into it."""
    for path in SOURCES:
        if re.search(rf"^class \w+\((?:{'|'.join(each.__name__ for each in ROOTS)})\b", path.read_text("utf-8"), re.M):
            importlib.import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts))
    left: list[type[FlowerError]] = [FlowerError]
    while left:
        kind = left.pop()
        if kind.__module__.startswith("flower_mcp"):
            yield kind
        left += kind.__subclasses__()


CLASSES = sorted(set(_classes()), key=lambda kind: kind.__qualname__)
NAMES = {kind.__name__ for kind in CLASSES}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_class_says_what_was_kept_and_what_to_do(kind: type[FlowerError]) -> None:
    assert kind.KEPT.endswith(".")
    assert kind.NEXT.endswith(".")
    if "__init__" in vars(kind):
        return  # its own words are looked at below
    error = kind("It broke.")
    assert error.told == f"It broke. {kind.KEPT} {kind.NEXT}"
    assert str(error) == "It broke."


def test_the_classes_of_other_modules_are_among_them() -> None:
    assert {"IllegalMove", "PromptMissing", "GitFailed"} <= NAMES
    assert len(CLASSES) > 15


def _text(node: ast.expr | None) -> str:
    """The text of an argument, what is filled in as X; a name stands for some text."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value) if isinstance(value, ast.Constant) else "X" for value in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.IfExp):
        return f"{_text(node.body)} {_text(node.orelse)}"
    return "" if node is None else "X"


def _raised() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Every place that makes an error: where, the class, and the three texts."""
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flower_mcp")
            for alias in node.names
        } | {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        own = path == Path(errors.__file__)
        for node in ast.walk(tree):
            is_super = isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__" and bool(own)
            if isinstance(node, ast.Call) and (is_super or (isinstance(node.func, ast.Name) and node.func.id in NAMES)):
                name = "super" if is_super else ast.unparse(node.func)
                if is_super or name in named - (
                    {"Usage"} if path.name in ("meter.py", "reply.py", "cache.py") else set()
                ):
                    texts = {keyword.arg or "": _text(keyword.value) for keyword in node.keywords}
                    texts["what"] = _text(node.args[0]) if node.args else ""
                    yield f"{path.relative_to(ROOT.parent)}:{node.lineno}", name, texts


RAISED = list(_raised())


def test_every_raise_site_says_what_to_do_next() -> None:
    classes = {kind.__name__: kind for kind in CLASSES}
    without = [
        (where, name)
        for where, name, texts in RAISED
        if name in classes
        and "__init__" not in vars(classes[name])
        and not issubclass(classes[name], OurError)
        and not (texts["what"] and texts.get("next"))
    ]
    assert without == []
    assert len(RAISED) > 80


@pytest.mark.parametrize("failure", list(Failure), ids=lambda failure: failure.name)
def test_every_rule_of_the_failures_says_what_to_do_next(failure: Failure) -> None:
    assert RULES[failure].next.strip()


_COMMAND = re.compile(r"`(flower(?: [^`]*)?)`|(?P<sure>(?:: |^))?(?<![\w/.-])flower (?P<rest>[^;,.)`\n]+)")
_NO_COMMANDS = ("again", "goes", "or", "and", "is", "keeps", "to", "hands", "looks", "process")


def _commands_in(text: str) -> Iterator[list[str]]:
    """The command lines that a text names: those in backticks, and those after `flower` that begin like one."""
    for found in _COMMAND.finditer(text):
        rest = found[1][len("flower") :] if found[1] else found["rest"]
        try:
            words = shlex.split(rest)
        except ValueError:  # a sentence with an apostrophe
            words = rest.split()
        if words and (found[1] or words[0] in flower.commands or words[0].startswith("-") or found["sure"]):
            yield words


def _fault(words: list[str]) -> str:
    """What cannot be typed of these words after `flower`; "" when all can."""
    name = words[0] if words[0] in flower.commands else "run"
    if words[0] not in flower.commands and re.fullmatch(r"[a-z]+", words[0]) and words[0] not in _NO_COMMANDS:
        return f"no command {words[0]}"
    known = {opt for each in flower.commands[name].params if isinstance(each, click.Option) for opt in each.opts}
    known |= {"--help", "-h", "--version"}
    given = [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return ", ".join(word for word in given if word not in known)


def _all_texts() -> Iterator[tuple[str, str]]:
    for where, _, texts in RAISED:
        yield from ((where, text) for text in texts.values())
    for kind in CLASSES:
        yield from ((kind.__name__, text) for text in (kind.KEPT, kind.NEXT))
    yield "WAYS", errors.NoCredentials.WAYS
    yield from ((failure.name, rule.next) for failure, rule in RULES.items())
    yield from ((name, text) for name, both in TEXTS.items() for text in both)


def test_every_command_that_an_error_names_can_be_typed() -> None:
    named = [(where, words) for where, text in _all_texts() for words in _commands_in(text)]
    wrong = [(where, words, fault) for where, words in named if (fault := _fault(words))]

    assert wrong == []
    assert len(named) > 30
    assert {"doctor", "list", "trust", "say"} <= {words[0] for _, words in named}


def test_every_command_that_is_put_together_with_its_step_and_folder_is_one() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    built = set(re.findall(r"(?:typed\(workbench, |command_line\(|examined\.command\()['\"](\w+)['\"]", code))

    assert {"show", "trust", "release", "edit"} <= built
    assert built <= set(flower.commands)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Type `flower stauts`.", "no command stauts"),
        ("Look: flower show X --generations 2", "--generations"),
        ("Go on: flower --budgt 3", "--budgt"),
        ("Run flower again.", ""),
        ("Put it in quotes: flower 'fix it'", ""),
    ],
)
def test_a_command_that_cannot_be_typed_would_be_found(text: str, fault: str) -> None:
    assert "".join(_fault(words) for words in _commands_in(text)) == fault
