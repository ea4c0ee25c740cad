"""Locales without UTF-8: no traceback, and nothing of ours that the terminal cannot show; files are UTF-8 anyway."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from flower_mcp.demo.model import ScriptedModel, Story, text
from tests.cli.processes import FLOWER, Done, flower
from tests.cli.steps import replacing, scripted_editor
from tests.e2e.harness import MODEL
from tests.e2e.steps import bash

pytestmark = pytest.mark.e2e

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def latin(tmp_path: Path) -> dict[str, str]:
    """A German locale of before UTF-8."""
    folder = tmp_path / "locales"
    folder.mkdir()
    if shutil.which("localedef") is None:
        pytest.skip("no localedef here")
    made = subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", str(folder / "de_DE.ISO-8859-1")],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("no such locale can be made here")
    return {"LOCPATH": str(folder), "LC_ALL": "de_DE.ISO-8859-1", "PYTHONUTF8": "0"}


def is_plain(done: Done) -> bool:
    """Whether what was printed is ASCII, and no traceback."""
    return (done.out + done.err).isascii() and "Traceback" not in done.out + done.err


def test_a_whole_demo_and_every_look_at_it_in_the_c_locale(tmp_path: Path, environment: dict[str, str]) -> None:
    there = {**environment, **ASCII}
    workspace = tmp_path / "kept" / "workspace"

    done = flower("demo", "--keep", str(tmp_path / "kept"), cwd=tmp_path, environment=there)

    assert done.code == 0, done
    assert is_plain(done)
    assert [char for char in done.out if not char.isprintable() and char != "\n"] == []
    assert "# context 153.0K/200K -- writing the handoff" in done.out
    assert "\n  - Bash: python3 check.py\n" in done.out
    assert "notes/??-work.md" in done.out
    assert done.out.replace("??-work", "").count("?") == 1  # "Does it hold?" is the model's own
    document = workspace / ".flower" / "notes" / "交接-work.md"
    assert "## 现在在做 · Doing now" in document.read_text(encoding="utf-8")

    looks = ("status", "status --json", "list", "history", "show", "diff")
    for look in looks:
        seen = flower(*look.split(), "-w", str(workspace), cwd=tmp_path, environment=there)
        assert seen.code == 0, (look, seen)
        assert is_plain(seen), look
    bar = flower("status", "-w", str(workspace), cwd=tmp_path, environment=there)
    assert "context  ###" in bar.out
    editor = scripted_editor(tmp_path, replacing("plant", "PLANT"))
    edited = flower("edit", "-w", str(workspace), cwd=tmp_path, environment={**there, "EDITOR": editor})
    assert (edited.code, is_plain(edited)) == (0, True), edited
    assert "PLANT" in document.read_text(encoding="utf-8")


def test_help_needs_no_utf8(tmp_path: Path, environment: dict[str, str]) -> None:
    done = flower("--help", cwd=tmp_path, environment={**environment, **ASCII})

    assert (done.code, is_plain(done)) == (0, True), done


def test_a_run_in_latin_1_takes_and_prints_its_characters_and_leaves_its_sessions_the_persons_variables(
    model: ScriptedModel, workspace: Path, environment: dict[str, str], latin: dict[str, str]
) -> None:
    model.script = Story([bash("env > seen"), text("Fertig — grün · 交接…")])
    task = "Mach es gr\udcfcn!"  # the byte that such a terminal gives
    command = [*FLOWER, "run", "--model", MODEL, "--permission-mode", "bypassPermissions", task]

    done = subprocess.run(
        command,
        cwd=workspace,
        env={**environment, **latin, "PYTHONIOENCODING": "iso-8859-1:strict"},
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done
    assert "Fertig - grün · ??..." in done.stdout.decode("iso-8859-1")
    assert any("Mach es grün!" in request.all_text() for request in model.requests)
    assert "grün" in (workspace / ".flower" / "notes" / "任务-work.md").read_text(encoding="utf-8")
    seen = (workspace / "seen").read_text(encoding="utf-8").splitlines()
    assert "PYTHONIOENCODING=iso-8859-1:strict" in seen
    assert "PYTHONUTF8=0" in seen
    assert not [line for line in seen if line.startswith("FLOWER_UTF8")]
