"""The prompts are found wherever the package is installed from: a wheel, an sdist, a checkout.

Everything here is real and offline: distributions are built with the hatchling of this environment and installed into
virtual environments that hold nothing else. What pip is told on this machine (files, variables) is switched off.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMES = sorted(path.stem for path in (ROOT / "prompts").glob("*.md"))
LOAD_ALL = """
import json
from importlib.resources import files
from flower_mcp.core import texts
print(json.dumps({"home": str(files("flower_mcp")), "texts": {name: texts.load(name) for name in texts.NAMES}}))
"""
# What `pip install -e` has the build backend do; pip itself would fetch the backend for it.
BUILD_EDITABLE = "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])"


@dataclass(frozen=True, slots=True)
class Built:
    """A wheel built straight from the tree, an sdist, and the wheel built from that."""

    wheel: Path
    sdist: Path
    wheel_from_sdist: Path


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command in an environment without anything that steers Python or pip; return what it printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "PYTHON"))}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build all three, once for the tests of this file."""
    straight, through = tmp_path_factory.mktemp("straight"), tmp_path_factory.mktemp("through")
    build = (sys.executable, "-m", "build", "--no-isolation")
    run(*build, "--wheel", "--outdir", straight, ROOT, cwd=straight)
    run(*build, "--outdir", through, ROOT, cwd=through)
    return Built(only(straight, "*.whl"), only(through, "*.tar.gz"), only(through, "*.whl"))


def prompts_as_installed(distribution: Path, folder: Path) -> tuple[Path, dict[str, str]]:
    """Install into a fresh environment; return where the package then lies and the prompts that it loads."""
    environment = folder / "environment"
    venv.create(environment, with_pip=False)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check")
    run(*pip, "install", "--no-deps", "--no-index", "--no-compile", distribution, cwd=folder)
    answer = json.loads(run(python, "-I", "-X", "utf8", "-c", LOAD_ALL, cwd=folder))
    return Path(answer["home"]), answer["texts"]


def prompts_of_the_tree() -> dict[str, str]:
    return {name: (ROOT / "prompts" / f"{name}.md").read_text(encoding="utf-8").rstrip("\n") for name in NAMES}


@pytest.mark.parametrize("kind", ["wheel", "wheel_from_sdist"])
def test_an_installed_wheel_loads_the_prompts_that_it_carries(built: Built, tmp_path: Path, kind: str) -> None:
    home, loaded = prompts_as_installed(getattr(built, kind), tmp_path)
    assert home.is_relative_to(tmp_path)
    assert loaded == prompts_of_the_tree()


def test_an_editable_install_loads_the_prompts_of_the_tree(tmp_path: Path) -> None:
    run(sys.executable, "-c", BUILD_EDITABLE, tmp_path, cwd=ROOT)
    home, loaded = prompts_as_installed(only(tmp_path, "*.whl"), tmp_path)
    assert home == ROOT / "flower_mcp"
    assert loaded == prompts_of_the_tree()


@pytest.mark.parametrize("kind", ["wheel", "wheel_from_sdist"])
def test_a_wheel_holds_the_package_with_its_prompts_and_nothing_beside_it(built: Built, kind: str) -> None:
    with zipfile.ZipFile(getattr(built, kind)) as archive:
        names = archive.namelist()
    assert {name for name in names if name.endswith(".md")} == {f"flower_mcp/prompts/{name}.md" for name in NAMES}
    assert "flower_mcp/py.typed" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"flower_mcp"}


def test_the_sdist_holds_what_building_and_testing_need(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {f"prompts/{name}.md" for name in NAMES} <= names
    assert {"pyproject.toml", "Makefile", "LICENSE", "README.md", "CHANGELOG.md", "AGENTS.md"} <= names
    assert {"docs/decisions.md", "tests/core/test_texts.py"} <= names
