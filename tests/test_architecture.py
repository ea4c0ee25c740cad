"""docs/architecture.md shows the table that runs, and names nothing that is not there."""

from __future__ import annotations

import dataclasses
import importlib
import re
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from flower_mcp.core.decide import TABLE

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
SCRIPT = ROOT / "docs" / "diagram.py"
PACKAGES = ["core", "workbench", "runtime", "server", "demo", "cli"]


@pytest.fixture
def refreshed() -> Callable[[str], str]:
    """What the script makes of a page."""
    return cast(Callable[[str], str], runpy.run_path(str(SCRIPT))["refreshed"])


def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def named_files() -> list[str]:
    """The modules that the page names, as `folder/file.py`."""
    return sorted(set(re.findall(r"`(?:flower_mcp/)?((?:core|workbench|runtime|server|demo|cli)/\w+\.py)`", page())))


def test_the_diagram_on_the_page_is_fresh(refreshed: Callable[[str], str]) -> None:
    assert page() == refreshed(page()), "run: python docs/diagram.py"


def test_a_stale_diagram_is_made_fresh_and_the_rest_of_the_page_is_left_alone(refreshed: Callable[[str], str]) -> None:
    stale = page().replace("idle --> launching: a new task / begin", "idle --> done: nothing / rest")
    assert stale != page()
    assert refreshed(stale) == page()
    assert refreshed(refreshed(stale)) == page()


def test_a_change_of_the_table_makes_the_page_stale(
    refreshed: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flower_mcp.core.decide.TABLE", dict(list(TABLE.items())[1:]))
    assert refreshed(page()) != page()


@pytest.mark.parametrize("lost", ["<!-- diagram: ", "<!-- end of the diagram -->"])
def test_a_page_without_a_place_for_the_diagram_is_an_error(refreshed: Callable[[str], str], lost: str) -> None:
    with pytest.raises(ValueError, match="no place for the diagram"):
        refreshed(page().replace(lost, ""))


def test_the_script_rewrites_the_page_beside_it(tmp_path: Path) -> None:
    for file in (SCRIPT, PAGE):
        shutil.copy(file, tmp_path)
    copy = tmp_path / PAGE.name
    copy.write_text(page().replace("stateDiagram-v2", "stateDiagram-v1"), encoding="utf-8")
    runpy.run_path(str(tmp_path / SCRIPT.name), run_name="__main__")
    assert copy.read_text(encoding="utf-8") == page()


def test_every_row_of_the_table_is_an_arrow_on_the_page() -> None:
    arrows = re.findall(r"^    \w+ --> \w+: .+ / .+$", page(), flags=re.MULTILINE)
    assert len(arrows) == len(TABLE)


@pytest.mark.parametrize("name", named_files())
def test_a_module_that_the_page_names_is_there(name: str) -> None:
    assert (ROOT / "flower_mcp" / name).is_file()


def test_the_page_names_the_four_tables_and_the_files_of_the_main_path() -> None:
    core = {"core/decide.py", "core/failures.py", "core/writing.py", "core/review.py"}
    path = {f"runtime/{name}.py" for name in ("step", "moves", "session", "reader", "gate", "handoff_turn", "keeper")}
    assert core | path <= set(named_files())


def test_the_page_names_every_folder_of_the_package() -> None:
    folders = sorted(path.name for path in (ROOT / "flower_mcp").iterdir() if (path / "__init__.py").is_file())
    assert folders == sorted(PACKAGES)
    assert [folder for folder in folders if f"`flower_mcp/{folder}/`" not in page()] == []


@pytest.mark.parametrize(
    "name",
    [
        *("books", "decide", "events", "facts", "failures", "handoff", "happened", "meter", "policy", "review"),
        *("undone", "writing"),
    ],
)
def test_the_values_that_travel_are_frozen_and_slotted(name: str) -> None:
    module = importlib.import_module(f"flower_mcp.core.{name}")
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    values = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
    loose = []
    for kind in values:
        frozen = kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
        loose += [] if frozen and "__slots__" in vars(kind) else [kind]
    assert values
    assert loose == []


def test_links_to_other_pages_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page())
    assert links
    assert [link for link in links if not (PAGE.parent / link).is_file()] == []
