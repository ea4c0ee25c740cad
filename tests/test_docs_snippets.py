"""What README and docs show is so: commands are run or would be taken, data is read, links lead somewhere.

No link is fetched: one to another place must be well-formed, and of a site that was looked at by a person.
"""

from __future__ import annotations

import ast
import copy
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from flower_mcp import Handoff
from flower_mcp.cli.commands import flower as commands
from flower_mcp.cli.task import task_from
from flower_mcp.core.errors import Usage
from flower_mcp.demo.model import ScriptedModel, Story, each_session, failure, text
from flower_mcp.server.main import _parser
from tests.cli.processes import flower
from tests.e2e.conftest import anyio_backend, environment, model, workspace
from tests.e2e.harness import MODEL
from tests.e2e.steps import bash, handing_over
from tests.e2e.test_snippet import SNIPPET

__all__ = ["anyio_backend", "environment", "model", "workspace"]

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("packaging/*/*.md"))
)
FOR_PEOPLE = ["README.md", "docs/format.md", "docs/symptoms.md", "AGENTS.md"]
SITES = {"semver.org"}
SHELL = ("bash", "sh")
TAKEN_CARE_OF = {*SHELL, "python", "json", "toml", "markdown", "mermaid", "text", ""}  # "", text: pictures and help
PROGRAMS = ("flower", "flower-mcp", "pip", "make", "claude")
OTHERS_OPTIONS = {"--plugin-dir", "--help"}
NO_CREDIT = failure(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    page: str
    language: str
    text: str


@cache
def tokens(page: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text(encoding="utf-8"))


def inline(page: str) -> Iterator[Token]:
    return (child for token in tokens(page) for child in token.children or ())


def blocks(language: str | tuple[str, ...], pages: list[str] = PAGES) -> list[Block]:
    """The blocks of a language, or of several."""
    languages = (language,) if isinstance(language, str) else language
    return [
        Block(page, token.info.strip(), token.content)
        for page in pages
        for token in tokens(page)
        if token.type == "fence" and token.info.strip() in languages
    ]


def codes(page: str) -> list[str]:
    return [token.content for token in inline(page) if token.type == "code_inline"]


def emphasised(page: str) -> list[str]:
    """What stands in italics."""
    found: list[str] = []
    inside = False
    for token in inline(page):
        inside = token.type == "em_open" or (inside and token.type != "em_close")
        if token.type == "em_open":
            found.append("")
        elif inside:
            found[-1] += token.content
    return found


def lines_of(block: Block) -> list[list[str]]:
    """The commands of a bash block, in words."""
    return [words for line in block.text.splitlines() if (words := shlex.split(line, comments=True))]


def links(page: str) -> list[str]:
    wanted = {"link_open": "href", "image": "src"}
    return [str(token.attrs[wanted[token.type]]) for token in inline(page) if token.type in wanted]


@cache
def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = [following.content for token, following in zip(tokens(page), tokens(page)[1:], strict=False)
              if token.type == "heading_open"]  # fmt: skip
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@cache
def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]  # type: ignore[no-any-return]


def problem_of(words: list[str]) -> str:
    """What is wrong with a command line; "" if it would be taken. Nothing is run."""
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    words = words[: next((n for n, word in enumerate(words) if word in ("|", "<", ">", ">>", "|&")), len(words))]
    program, *rest = words
    if program == "flower":
        return flower_problem(rest)
    if program == "flower-mcp":
        known = {option for action in _parser()._actions for option in action.option_strings}
        unknown = [word for word in rest if word.startswith("--") and word not in known]
        return f"no options {unknown}" if unknown else ""
    if program == "make":
        named = [word for word in rest if "=" not in word]
        return "" if set(named) <= targets() else f"no targets {set(named) - targets()}"
    if program == "pip":
        return pip_problem(rest)
    return ""


def flower_problem(words: list[str]) -> str:
    if words[:1] == ["hook"]:
        return ""  # it is branched off before click
    name = words[0] if words and words[0] in commands.commands else "run"
    rest = words[1:] if words and words[0] == name else words
    if len(words) == 1 and name != "run":
        return ""  # a command by its name
    try:
        command = copy.copy(commands.commands[name])  # a command keeps its help option as it was first asked for it
        taken = command.make_context(name, list(rest), parent=click.Context(commands, info_name="flower"))
        if name == "run" and "-" not in rest and not any(re.fullmatch(r"\[?[A-Z]+\]?", word) for word in rest):
            task_from(taken.params["task"], short=words[:1] != ["run"], commands=commands.commands)
    except click.exceptions.Exit:
        return ""
    except click.ClickException as error:
        return error.format_message()
    except Usage as error:
        return str(error)
    return ""


def pip_problem(words: list[str]) -> str:
    """Whether `pip install` names this project and extras that it has."""
    (wanted,) = [word for word in words if word not in ("install", "-e")]
    found = re.fullmatch(r"(flower-mcp|\.)(?:\[(\w+)\])?", wanted)
    if found is None:
        return f"{wanted} is not this project"
    extras = project()["optional-dependencies"]
    return "" if found[2] is None or found[2] in extras else f"no extra {found[2]}"


def test_each_block_has_a_language_that_somebody_looks_after() -> None:
    fences = [(page, token) for page in PAGES for token in tokens(page) if token.type == "fence"]
    assert len(fences) > 20
    assert [(page, token.info) for page, token in fences if token.info.strip() not in TAKEN_CARE_OF] == []
    hidden = [
        line
        for page, token in fences
        for line in token.content.splitlines()
        if token.info.strip() in ("", "text") and page != "docs/cli.md" and line.lstrip("$ ").split(" ")[0] in PROGRAMS
        and line == line.lstrip() and line.strip() not in PROGRAMS and line.isascii()
    ]  # fmt: skip
    assert hidden == [], "commands belong into bash blocks"


@pytest.mark.e2e
def test_the_commands_of_the_readme_work_in_their_order(
    model: ScriptedModel, workspace: Path, environment: dict[str, str]
) -> None:
    first = handing_over(bash("echo a").at(40_000), bash("echo b").at(155_000))
    second = Story([NO_CREDIT, text("All ported.").at(20_000)])
    model.script = each_session(first, second)
    usual = {"FLOWER_MODEL": MODEL, "FLOWER_PERMISSION_MODE": "bypassPermissions", "FLOWER_EDIT_WINDOW": "0"}

    ran = []
    for words in (words for block in blocks(SHELL, ["README.md"]) for words in lines_of(block)):
        assert problem_of(words) == "", words
        if words[0] == "flower":
            done = flower(*words[1:], cwd=workspace, environment={**environment, **usual})
            assert "Traceback" not in done.err
            ran.append((words, done))

    codes = [(shlex.join(words), done.code) for words, done in ran]
    assert codes[:2] == [("flower 'Port the test suite to pytest.'", 1), ("flower", 0)]
    assert [each for each in codes[1:] if each[1] != 0] == []
    stopped, resumed, shown, status, *_ = [done.out for _, done in ran]
    assert "a new session takes over" in stopped
    assert "Add credit to the account, then run flower again" in stopped
    assert "resumed, session 2" in resumed
    assert "All ported." in resumed
    assert "Porting tests/test_export.py" in shown
    assert "done" in status.splitlines()[0]
    assert any("claude mcp add" in done.out for _, done in ran)


@pytest.mark.parametrize("page", PAGES)
def test_each_command_that_a_page_names_is_taken_by_the_command_line(page: str) -> None:
    named = [code for code in codes(page) if code.split(" ")[0] in PROGRAMS and "|" not in code]
    named = [code for code in named if not re.match(r"flower (?:is|gives|says:) ", code)]  # beginnings of prompts
    named += [shlex.join(words) for block in blocks(SHELL, [page]) for words in lines_of(block)]
    wrong = [(code, problem) for code in named if (problem := problem_of(shlex.split(code)))]
    assert named or page not in FOR_PEOPLE
    assert wrong == []


@pytest.mark.parametrize("page", FOR_PEOPLE)
def test_each_option_that_a_page_names_exists(page: str) -> None:
    known = {opt for command in commands.commands.values() for param in command.params for opt in param.opts}
    known |= {option for action in _parser()._actions for option in action.option_strings} | OTHERS_OPTIONS
    named = {word for code in codes(page) for word in re.findall(r"(?<!\S)--[a-z][a-z-]+", code)}
    assert sorted(named - known) == []


def test_what_is_quoted_of_the_program_is_said_by_it() -> None:
    said = []
    for path in (ROOT / "flower_mcp").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said += [node.value.lower() for node in ast.walk(tree) if isinstance(node, ast.Constant)
                 and isinstance(node.value, str)]  # fmt: skip
    everything = "\n".join(said)
    quoted = [words.strip(" …") for words in emphasised("docs/symptoms.md")]
    assert len(quoted) > 25
    assert [words for words in quoted if words.lower() not in everything] == []


def test_python_blocks_run() -> None:
    found = blocks("python")
    assert {block.page for block in found} == {"README.md", "docs/format.md"}
    for block in found:
        if block.page == "README.md":
            assert block.text.strip() == SNIPPET.strip(), "tests/e2e/test_snippet.py runs that one"
        else:
            exec(compile(block.text, block.page, "exec"), {})


def test_json_and_toml_blocks_can_be_read() -> None:
    for block in blocks("json"):
        by_line = block.text.startswith('{"')
        assert [json.loads(each) for each in (block.text.splitlines() if by_line else [block.text])]
    assert [tomllib.loads(block.text) for block in blocks("toml")]


def test_the_examples_of_documents_are_read_as_the_page_says() -> None:
    written, *read = [block.text for block in blocks("markdown", ["docs/format.md"])]
    assert Handoff.from_markdown(written, "work").to_markdown() == written
    expected = [json.loads(block.text) for block in blocks("json", ["docs/format.md"])]
    assert len(read) == len(expected) == 2
    for example, values in zip(read, expected, strict=True):
        handoff = Handoff.from_markdown(example)
        extra = {each.heading: each.text for each in handoff.extra}
        fields = {name: getattr(handoff, name) for name in ("doing", "decided", "deadends", "next", "scene")}
        assert {**fields, "extra": extra, "missing": list(handoff.missing())} == values


@pytest.mark.parametrize("page", PAGES)
def test_each_link_leads_somewhere(page: str) -> None:
    for link in links(page):
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme == "https", link
            assert parts.hostname in SITES, f"{link}: look at it, then add its site to SITES"
            continue
        target = (ROOT / page).parent / unquote(parts.path) if parts.path else ROOT / page
        assert target.exists(), link
        if parts.fragment:
            assert parts.fragment in anchors(str(target.resolve().relative_to(ROOT))), link


def test_every_page_is_in_the_readme_s_index() -> None:
    linked = {link.partition("#")[0] for link in links("README.md")}
    assert [page for page in PAGES if "/" in page and page.startswith("docs/") and page not in linked] == []


def test_each_make_target_is_in_agents_md_or_in_the_makefile_s_help() -> None:
    told = (ROOT / "AGENTS.md").read_text(encoding="utf-8") + (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [name for name in targets() - {"help", "again"} if f"make {name}" not in told] == []


@pytest.mark.skipif(not (ROOT / "packaging").is_dir(), reason="the plugin is not in this tree")
def test_the_plugin_that_the_readme_names_is_there() -> None:
    (folder,) = {
        words[2] for block in blocks(SHELL, ["README.md"]) for words in lines_of(block) if words[0] == "claude"
    }
    plugin = json.loads((ROOT / folder / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    named = [code for code in codes("README.md") if code.startswith("/flower:")]
    assert plugin["name"] == "flower"
    assert named
    assert [name for name in named if not (ROOT / folder / "commands" / f"{name[8:]}.md").is_file()] == []
    assert (ROOT / "flower_mcp" / "cli" / "hook.py").is_file()
