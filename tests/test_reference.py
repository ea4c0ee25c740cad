"""docs/cli.md and docs/configuration.md are what the command line is, and their snippets hold."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from flower_mcp.cli import settings
from flower_mcp.cli.commands import flower

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    """What docs/reference.py defines."""
    return runpy.run_path(str(DOCS / "reference.py"))


def test_the_page_of_the_command_line_is_fresh(reference: dict[str, Any]) -> None:
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == reference["cli_page"](), "run: python docs/reference.py"


def test_the_page_has_every_command_the_hook_too_and_no_default_in_brackets_twice() -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    for name in (*flower.commands, "hook"):
        assert f"\n## flower {name}\n" in page
    assert "post-tool-batch" in page
    assert "[default: (" not in page


def test_the_table_of_options_is_fresh(reference: dict[str, Any]) -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    assert page == reference["with_options"](page), "run: python docs/reference.py"


def test_a_page_without_a_place_for_the_options_is_an_error(reference: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no place for the options"):
        reference["with_options"]("# Configuration\n")


def test_the_example_of_a_config_file_is_one(tmp_path: Path) -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    example = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert example is not None
    file = tmp_path / "config.toml"
    file.write_text(example[1], encoding="utf-8")
    defaults = settings.defaults_of(file, flower.commands)
    assert defaults["run"]["at"] == "200K"
    assert defaults["clean"] == {"days": 90}


def test_the_page_names_what_a_workspace_may_set() -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    assert [name for name in settings.IN_WORKSPACE if f"`{name}`" not in page.partition("## Options")[0]] == []


def test_every_variable_of_ours_is_on_a_page() -> None:
    inside = {"FLOWER_COMPLETE", "FLOWER_KEEPER", "FLOWER_KEEPER_FOLDER", "FLOWER_RUN"}  # between our own processes
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "flower_mcp").rglob("*.py"))
    pages = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    used = set(re.findall(r"\bFLOWER_[A-Z_]+[A-Z]\b", code)) - inside
    assert len(used) > 20
    assert sorted(name for name in used if name not in pages) == []
