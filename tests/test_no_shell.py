"""No text becomes a command or code: the package has no shell, no eval and no pickle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "flower_mcp"
BARE = {"eval", "exec", "compile", "__import__"}
DOTTED = {"system", "popen", "create_subprocess_shell", "getoutput", "getstatusoutput", "spawnl", "spawnlp"}
MODULES = {"pickle", "marshal", "shelve", "code", "codeop"}


def dangers(source: str) -> Iterator[str]:
    """What in a module's source would run a text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in BARE:
                yield node.func.id
            if isinstance(node.func, ast.Attribute) and node.func.attr in DOTTED:
                yield node.func.attr
            if isinstance(node.func, ast.Attribute) and node.func.attr in {"run_process", "open_process"}:
                given = node.args[0] if node.args else None
                if isinstance(given, ast.Constant | ast.JoinedStr):  # anyio gives a text to a shell
                    yield node.func.attr
            yield from ("shell" for each in node.keywords if each.arg == "shell")
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            yield node.module


def test_no_module_of_the_package_runs_a_text() -> None:
    found = {str(path.relative_to(PACKAGE)): list(dangers(path.read_text())) for path in PACKAGE.rglob("*.py")}
    assert len(found) > 100
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    "source",
    [
        "eval(x)", "exec(x)", "os.system(x)", "os.popen(x)", "import pickle", "from pickle import loads",
        "subprocess.run(x, shell=True)", "subprocess.run(x, shell=flag)", "anyio.run_process('ls')",
        "anyio.open_process(f'ls {x}')", "asyncio.create_subprocess_shell(x)", "__import__(x)",
    ],
)  # fmt: skip
def test_each_of_them_would_be_found(source: str) -> None:
    assert list(dangers(source))
