"""What the commands advise can be typed as it stands: from another folder, with an awkward step among several."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.cli.commands import answer
from tests.cli.steps import DOCUMENT, begun

STEP = "two words"


@pytest.fixture
def site(tmp_path: Path, environment: dict[str, str]) -> Path:
    """A folder with two steps, which is not the one that we are in."""
    folder = tmp_path / "the site"
    folder.mkdir()
    begun(folder, "other").freeze("other", DOCUMENT)
    begun(folder, STEP).freeze(STEP, DOCUMENT)
    return folder


@pytest.mark.parametrize(
    ("given", "advised"),
    [
        (["show"], ["flower", "show", "STEP"]),
        (["show", STEP, "--generation", "7"], ["flower", "history", STEP]),
        (["diff", STEP, "123456"], ["flower", "history", STEP]),
        (["diff", STEP], ["flower", "show", STEP]),
        (["release", STEP], ["flower", "status", STEP]),
        (["hold", STEP], ["flower", "release", STEP]),
        (["status", STEP], ["flower", "release", STEP]),
        (["edit", STEP], ["flower", "edit", STEP]),
        (["stop", STEP], ["flower", "status", STEP]),
        (["handoff", STEP], ["flower", "status", STEP]),
        (["say", STEP, "Do it."], ["flower", "run", "--step", STEP]),
        (["stop"], ["flower", "stop", "STEP"]),
    ],
    ids=" ".join,
)
def test_advice_names_the_step_and_the_folder_as_a_shell_takes_them(
    given: Sequence[str],
    advised: list[str],
    *,
    site: Path,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.chdir(workspace)
    if given[0] == "status":
        Workbench(site).holds.hold(STEP, "ann")
    if given[0] == "edit":
        Workbench(site).documents.path(STEP).write_text("<<<<<<< mine\n")

    answer([*given, "-w", str(site)])
    there = "".join(capfd.readouterr())
    assert shlex.join([*advised, "-w", str(site)]) in there

    if given[0] == "hold":
        Workbench(site).holds.clear(STEP)
    monkeypatch.chdir(site)
    answer(list(given))
    here = "".join(capfd.readouterr())
    assert shlex.join(advised) in here
    assert " -w " not in here
