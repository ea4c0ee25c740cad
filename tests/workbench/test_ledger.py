"""The books: no row is lost, rows of others keep their very text, broken files are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flower_mcp.core.books import Generation, State, StepResult
from flower_mcp.workbench.ledger import Lineage, Manifest


def test_a_row_is_inserted_and_then_replaced(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path / "runs")
    manifest.put(StepResult(run="r1", step="work", generations=(Generation(1, "s1"),)))
    manifest.put(StepResult(run="r2", step="work"))

    notes = manifest.put(StepResult(run="r1", step="work", ok=True, state=State.DONE))

    assert notes == ()
    assert [(row["run"], row["state"]) for row in manifest.rows()] == [("r1", "done"), ("r2", "idle")]
    assert manifest.path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "runs" / ".gitignore").read_text() == "*\n"


def test_rows_of_others_keep_their_very_text(tmp_path: Path) -> None:
    others = '{"run": "x", "cost": 1.10, "new_key": {"a":[1,  2]}, "big": 123456789012345678901234567890}'
    odd = '["not", "a row"]'
    manifest = Manifest(tmp_path)
    manifest.path.write_text(f"\ufeff[ {others},\n   {odd} ,17]\n\n", encoding="utf-8")

    manifest.put(StepResult(run="r1", step="work"))
    manifest.put(StepResult(run="r2", step="work"))

    text = manifest.path.read_text(encoding="utf-8")
    assert others in text
    assert odd in text
    assert [row["run"] for row in manifest.rows()] == ["x", "r1", "r2"]
    assert json.loads(text)[2] == 17


def test_rows_that_others_write_between_two_changes_are_kept(tmp_path: Path) -> None:
    manifest, other = Manifest(tmp_path), Manifest(tmp_path)
    manifest.path.write_text('[\n{"run": "x"},\n{"run": "x"},\n17\n]\n', encoding="utf-8")

    manifest.put(StepResult(run="r1", step="work"))
    other.put(StepResult(run="r2", step="work"))
    manifest.put(StepResult(run="r1", step="work", text="more"))
    manifest.put(StepResult(run="r2", step="work", text="theirs"))

    rows = json.loads(manifest.path.read_text(encoding="utf-8"))
    assert [row["run"] if isinstance(row, dict) else row for row in rows] == ["x", "x", 17, "r1", "r2"]
    assert [row["text"] for row in rows[3:]] == ["more", "theirs"]


def test_a_manifest_that_breaks_between_two_changes_is_set_aside(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.put(StepResult(run="r1", step="work"))
    broken = manifest.path.read_text(encoding="utf-8").replace("}\n]", "},\n{torn}\n]")
    manifest.path.write_text(broken, encoding="utf-8")

    notes = manifest.put(StepResult(run="r2", step="work"))

    assert "set aside" in notes[0] or "kept as" in notes[0]
    assert [path.read_text(encoding="utf-8") for path in tmp_path.glob("manifest.json.broken-*")] == [broken]
    assert [row["run"] for row in manifest.rows()] == ["r2"]


@pytest.mark.parametrize("broken", [b"", b"{}", b'[{"run": "r0"}, {"ru', b"[1] 2", b"\xff\xfe[", b"[" * 100_000])
def test_a_broken_manifest_is_kept_and_told_once(broken: bytes, tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.path.write_bytes(broken)
    assert manifest.rows() == ()

    first = manifest.put(StepResult(run="r1", step="work"))
    second = manifest.put(StepResult(run="r2", step="work"))

    kept = list(tmp_path.glob("manifest.json.broken-*"))
    assert [path.read_bytes() for path in kept] == [broken]
    assert len(first) == 1
    assert kept[0].name in first[0]
    assert second == ()
    assert [row["run"] for row in manifest.rows()] == ["r1", "r2"]


def test_secrets_in_a_row_are_masked(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9

    Manifest(tmp_path).put(StepResult(run="r1", step="work", text=f"the key is {secret}", errors=(secret,)))

    assert secret not in (tmp_path / "manifest.json").read_text()


def test_lone_surrogates_in_a_row_are_no_obstacle(tmp_path: Path) -> None:
    Manifest(tmp_path).put(StepResult(run="r1", step="work", text="a\ud800b"))

    assert Manifest(tmp_path).rows()[0]["text"] == "a\ud800b"


def test_the_lineage_remembers_sessions_and_counts_wakes(tmp_path: Path) -> None:
    Lineage(tmp_path, "/w").remember("work", "s1")
    Lineage(tmp_path, "/w").remember("docs", "s2")
    assert Lineage(tmp_path, "/w").wake().woke == 1

    state = Lineage(tmp_path).remember("work", "s3")

    assert (state.workspace, state.woke, state.steps) == ("/w", 1, {"work": "s3", "docs": "s2"})
    assert Lineage(tmp_path).read() == state


def test_reading_a_lineage_that_is_not_there_makes_nothing(tmp_path: Path) -> None:
    assert Lineage(tmp_path / "runs").read().steps == {}
    assert not (tmp_path / "runs").exists()


def test_unknown_keys_of_the_lineage_stay(tmp_path: Path) -> None:
    (tmp_path / "lineage.json").write_text('{"other": [1], "steps": {"a": "b"}}')

    Lineage(tmp_path).wake()

    assert json.loads((tmp_path / "lineage.json").read_text()) == {
        "workspace": "",
        "woke": 1,
        "steps": {"a": "b"},
        "other": [1],
    }


@pytest.mark.parametrize("broken", [b"", b"[]", b'{"steps": {"work": 1}}', b'{"woke": "two"}', b'{"steps"', b"\xff"])
def test_a_broken_lineage_is_kept_and_counts_for_nothing(broken: bytes, tmp_path: Path) -> None:
    (tmp_path / "lineage.json").write_bytes(broken)

    state = Lineage(tmp_path).read()

    assert state.steps == {}
    assert len(state.notes) == 1
    assert [path.read_bytes() for path in tmp_path.glob("lineage.json.broken-*")] == [broken]
    assert Lineage(tmp_path).remember("work", "s1").steps == {"work": "s1"}
