"""Temporary files that killed writers left: old ones of ours go, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from flower_mcp.workbench.sweeping import OLD, sweep

KILLED = """
import os, sys
from pathlib import Path
from flower_mcp.workbench import files
files.move_new = Path.replace = lambda *_given: os._exit(9)
{"create": files.create, "write_whole": files.write_whole}[sys.argv[1]](Path(sys.argv[2]), b"a document")
"""


def test_what_a_killed_writer_left_goes_once_it_is_old(tmp_path: Path) -> None:
    for how in ("create", "write_whole"):
        subprocess.run([sys.executable, "-c", KILLED, how, str(tmp_path / "交接-work.md")], check=False)
    left = sorted(tmp_path.iterdir())
    assert len(left) == 2
    now = time.time()
    assert sweep(tmp_path, now=now + OLD / 2) == ()
    assert sorted(sweep(tmp_path, now=now + OLD + 1)) == left
    assert list(tmp_path.iterdir()) == []


def test_no_document_draft_link_or_file_of_somebody_elses_goes(tmp_path: Path) -> None:
    deep = tmp_path / "notes" / "archive" / "交接"
    deep.mkdir(parents=True)
    names = ["work-20261130T110000.000000Z.md", "work.draft.md", "a.tmp", ".work.md.tmp", ".work.md.0A1B2C3D.tmp"]
    names += ["work.md.0a1b2c3d.tmp", ".work.md.0a1b2c3d.tmp~", ".0a1b2c3d.tmp", ".work.md.swp"]
    for name in names:
        (deep / name).write_text("kept")
        os.utime(deep / name, (1, 1))
    (deep / ".link.0a1b2c3d.tmp").symlink_to(deep / names[0])
    (deep / ".folder.0a1b2c3d.tmp").mkdir()
    (deep / ".old.md.0a1b2c3d.tmp").write_text("gone")
    os.utime(deep / ".old.md.0a1b2c3d.tmp", (1, 1))

    assert sweep(tmp_path, now=time.time(), below=False) == ()
    assert sweep(tmp_path, now=time.time()) == (deep / ".old.md.0a1b2c3d.tmp",)
    assert sorted(path.name for path in deep.iterdir()) == sorted(
        [*names, ".link.0a1b2c3d.tmp", ".folder.0a1b2c3d.tmp"]
    )
    assert sweep(tmp_path / "nowhere", now=time.time()) == ()
