"""`flower demo` as a person runs it: nothing of the person's own, three sessions, a folder that goes or stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flower_mcp import Workbench
from flower_mcp.demo.model import ScriptedModel
from flower_mcp.demo.person import LINE
from tests.cli.processes import flower

pytestmark = pytest.mark.e2e


def test_the_demo_tells_its_story_and_removes_its_folder(
    tmp_path: Path, model: ScriptedModel, environment: dict[str, str]
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    own = {"TMPDIR": str(temporary), "ANTHROPIC_API_KEY": "sk-ant-the-persons-own", "IS_SANDBOX": "0"}

    done = flower("demo", cwd=tmp_path, environment={**environment, **own})

    assert done.code == 0, done
    assert done.err == ""
    first = done.out.splitlines()[0]
    assert "scripted" in first
    assert "Everything else is real" in first
    assert "3 sessions" in done.out
    assert "<- edited by a person: next" in done.out.split("a scripted person adds a line under Next")[1]
    assert "A person edited the document while it waited" in done.out
    assert done.out.count("edited by a person") == 2  # when it was saved, and at the end: nobody edits the second one
    assert not list(temporary.glob("flower-demo-*"))
    assert model.requests == []
    assert not list((tmp_path / "environment" / "claude").iterdir())
    assert not (tmp_path / "state").exists(), "the person's state folder learns nothing of a demo"


def test_with_json_the_last_line_names_what_is_left_where_the_persons_edit_has_arrived(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "kept"

    done = flower("demo", "--json", "--keep", str(folder), cwd=tmp_path, environment=environment)

    assert done.code == 0, done
    assert "scripted" in done.err.splitlines()[0]
    last = done.lines[-1]
    assert set(last) == {"kind", "ok", "step", "generations", "document", "retired", "manifest", "workspace"}
    assert (last["kind"], last["ok"], last["generations"], len(last["retired"])) == ("result", True, 3, 2)
    assert all(Path(last[name]).is_absolute() for name in ("document", "manifest", "workspace"))
    assert Path(last["document"]).exists()
    (row,) = json.loads(Path(last["manifest"]).read_text())
    assert row["retired"] == last["retired"]
    assert (row["ok"], row["error"], row["errors"], row["attempts"]) == (True, None, [], 1)
    assert [each["sections_edited"] for each in row["generations"][:2]] == [["next"], []]
    said = [line["text"] for line in done.lines if line["kind"] == "text"]
    assert sum("A person edited the document while it waited" in text for text in said) == 1
    assert [line["sections"] for line in done.lines if line.get("phase") == "seen"] == [["next"]]
    tools = [line["text"] for line in done.lines if line["kind"] == "tool"]
    assert any("data/plants.csv && git commit" in text for text in tools)
    archived = Workbench(last["workspace"]).history(last["step"])
    assert any(LINE in version.data().decode() for version in archived)


def test_a_demo_that_cannot_start_leaves_no_temporary_folder(tmp_path: Path, environment: dict[str, str]) -> None:
    temporary, empty = tmp_path / "temporary", tmp_path / "empty"
    temporary.mkdir()
    empty.mkdir()

    without_git = {**environment, "TMPDIR": str(temporary), "PATH": str(empty)}
    done = flower("demo", "--json", cwd=tmp_path, environment=without_git)

    assert (done.code, done.out) == (1, "")
    assert "Install git" in done.err
    assert not list(temporary.iterdir())


def test_a_folder_with_a_demo_in_it_is_left_alone(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "kept" / "workspace").mkdir(parents=True)

    done = flower("demo", "--keep", str(tmp_path / "kept"), cwd=tmp_path, environment=environment)

    assert done.code == 2
    assert "--keep" in done.err
    assert (tmp_path / "kept" / "workspace").exists()
