"""The supervisor's side of the keeper: its private files, and finding the CLI. What it ends: see test_keeper.py."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from flower_mcp.core.errors import CliMissing, Usage
from flower_mcp.runtime.keeping import bundled_cli, prepare

CLI = Path(sys.executable)


def test_the_private_files_are_private_and_go_with_close(tmp_path: Path) -> None:
    kept = prepare(CLI, tmp_path / "keepers", run_id="run", ours={"ANTHROPIC_API_KEY": "secret"})
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [kept.folder, *kept.folder.iterdir()]}
    assert modes == {kept.folder.name: 0o700, "settings": 0o600, "host": 0o600, "launcher": 0o700}
    assert stat.S_IMODE(kept.folder.parent.stat().st_mode) == 0o700
    assert "secret" not in "".join(kept.env.values())
    kept.retire()
    kept.close()
    kept.close()
    assert not kept.folder.exists()


@pytest.mark.parametrize("torn", range(11, 28))
def test_a_torn_report_tells_what_it_tells_and_fails_nobody(tmp_path: Path, torn: int) -> None:
    kept = prepare(CLI, tmp_path / "keepers", run_id="run", ours={})
    (kept.folder / "report").write_bytes("12 sleep 60\n345 echo 交接\n".encode()[:torn])
    first, *rest = kept.ended()
    assert (first.pid, first.command) == (12, "sleep 60")
    assert [each.pid for each in rest] == ([345] if torn >= len("12 sleep 60\n345 ") else [])


@pytest.mark.parametrize(("name", "value"), [("A=B", ""), ("", "x"), ("A\0", "x"), ("A", "x\0y")])
def test_a_variable_that_no_process_can_have_is_refused(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(Usage, match="environment variable"):
        prepare(CLI, tmp_path / "keepers", run_id="run", ours={name: value})
    assert not (tmp_path / "keepers").exists()


def test_the_bundled_cli_is_found_without_importing_the_sdk() -> None:
    look = "import sys; from flower_mcp.runtime.keeping import bundled_cli; print(bundled_cli(), list(sys.modules))"
    output = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
    path, _, modules = output.partition(" ")
    assert path.endswith("claude_agent_sdk/_bundled/claude")
    assert "claude_agent_sdk" not in modules


def test_without_the_sdk_the_cli_on_the_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CliMissing):
        bundled_cli()
    shutil.copy("/bin/sh", tmp_path / "claude")
    assert bundled_cli() == tmp_path / "claude"
