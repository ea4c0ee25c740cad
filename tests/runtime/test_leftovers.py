"""Private folders of keepers: those of the dead go, all others stay."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from flower_mcp import Handoff, Workbench
from flower_mcp.runtime.keeping import Keeper, prepare
from flower_mcp.runtime.leftovers import clear_folders, clear_leftovers
from flower_mcp.runtime.step import StepRun


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def prepared_by(folder: Path, pid: int) -> Keeper:
    """A keeper's folder as the process `pid` would have left it."""
    kept = prepare(Path(sys.executable), folder, run_id="run", ours={"ANTHROPIC_API_KEY": "secret"})
    settings = kept.folder / "settings"
    settings.write_bytes(settings.read_bytes().replace(f"{os.getpid()}\0".encode(), f"{pid}\0".encode(), 1))
    return kept


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_dead_supervisors_folder_goes(tmp_path: Path, dead: int) -> None:
    kept = prepared_by(tmp_path, dead)
    (kept.folder / "cli").write_text("1")
    (kept.folder / "word.new").write_text("over")
    assert clear_folders(tmp_path) == (kept.folder,)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.anyio
async def test_folders_that_lay_elsewhere_since_the_disk_refused_go_too(
    tmp_path: Path, dead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [tmp_path / name for name in ("runs", "state", "temporary")]
    monkeypatch.setattr(tempfile, "tempdir", str(places[2]))
    folders = [prepared_by(place, dead).folder for place in places]
    environ = {"FLOWER_STATE_DIR": str(places[1])}
    bench = Workbench(tmp_path)
    bench.freeze("work", Handoff(doing="It.", next="Go on."))
    half = [bench.documents.archive / ".work-1.md.0a1b2c3d.tmp", places[0] / ".manifest.json.0a1b2c3d.tmp"]
    for path in half:
        path.write_bytes(b"half")
        os.utime(path, (1, 1))
    setting = SimpleNamespace(before=None, run_dir=places[0], environ=environ, workbench=bench)
    run = SimpleNamespace(setting=setting)
    await clear_leftovers(cast(StepRun, run))
    assert [folder.exists() for folder in folders] == [False, False, False]
    assert [path.exists() for path in half] == [False, False]
    assert bench.read("work") is not None


def test_a_living_supervisors_folder_stays(tmp_path: Path) -> None:
    kept = prepared_by(tmp_path, os.getpid())
    assert clear_folders(tmp_path) == ()
    assert kept.folder.exists()


def test_a_folder_stays_while_a_process_of_its_session_lives(tmp_path: Path, dead: int) -> None:
    kept = prepared_by(tmp_path, dead)
    process = subprocess.Popen(["/bin/sleep", "60"], env={"FLOWER_KEEPER": kept.id})
    try:
        assert clear_folders(tmp_path) == ()
    finally:
        process.kill()
        process.wait()
    assert clear_folders(tmp_path) == (kept.folder,)


def test_another_machines_folder_stays(tmp_path: Path, dead: int) -> None:
    kept = prepared_by(tmp_path, dead)
    (kept.folder / "host").write_text("elsewhere")
    assert clear_folders(tmp_path) == ()


@pytest.mark.parametrize("gone", [("launcher", "settings"), ("host", "settings", "launcher"), ("host",), ()])
def test_a_folder_that_lacks_a_file_goes_when_it_has_lain_for_a_while(
    tmp_path: Path, dead: int, gone: tuple[str, ...]
) -> None:
    kept = prepared_by(tmp_path, dead)
    for name in gone:
        (kept.folder / name).unlink()
    if not gone:
        (kept.folder / "settings").write_bytes(b"")  # killed before the first byte
    assert clear_folders(tmp_path) == ()
    os.utime(kept.folder, (1, 1))
    process = subprocess.Popen(["/bin/sleep", "60"], env={"FLOWER_KEEPER": kept.id})
    try:
        assert clear_folders(tmp_path) == ()
    finally:
        process.kill()
        process.wait()
    assert clear_folders(tmp_path) == (kept.folder,)


def test_another_machines_half_a_folder_stays(tmp_path: Path, dead: int) -> None:
    kept = prepared_by(tmp_path, dead)
    (kept.folder / "settings").unlink()
    (kept.folder / "host").write_text("elsewhere")
    os.utime(kept.folder, (1, 1))
    assert clear_folders(tmp_path) == ()


def test_an_owner_that_began_later_is_none(tmp_path: Path) -> None:
    kept = prepared_by(tmp_path, os.getpid())
    os.utime(kept.folder / "settings", (1, 1))
    assert clear_folders(tmp_path) == (kept.folder,)


def test_what_is_not_ours_stays(tmp_path: Path, dead: int) -> None:
    strange = tmp_path / "keeper-strange"
    strange.mkdir()
    (strange / "settings").write_text(f"{dead}\0x")
    (tmp_path / "keeper-link").symlink_to(prepared_by(tmp_path / "elsewhere", dead).folder)
    assert clear_folders(tmp_path) == ()
    kept = prepared_by(tmp_path, dead)
    (kept.folder / "somebody's").write_text("x")
    clear_folders(tmp_path)
    assert (kept.folder / "somebody's").exists()
    assert clear_folders(tmp_path / "not there") == ()
