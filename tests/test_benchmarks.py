"""The measurements' machinery in its small form: that it works and tells the truth, never how long anything takes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as all_of_them
from benchmarks import measure
from benchmarks.measure import Line, Samples, Size, Void, check

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks"
LIMIT = 200  # seconds for one module's small form on a loaded machine
KEPT, MISSED = Line("a", 1.0, most=2.0), Line("b", 3.0, most=2.0)


def benchmarks(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=environment or dict(os.environ),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.parametrize("name", all_of_them.MEASUREMENTS)
def test_a_measurement_fills_its_part_of_the_table(name: str, tmp_path: Path) -> None:
    table = tmp_path / "results.md"

    done = benchmarks("benchmarks", name, "--small", "--to", str(table))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    rows = [line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    figures = [row.split(" | ")[1] for row in rows[1:]]
    assert rows[0].endswith("| figure | promise | made of |")
    assert figures
    assert all(re.fullmatch(r"-?[\d,]+(\.\d+)?( \S+)?", figure) for figure in figures), figures
    assert sum(bool(row.split(" | ")[2].strip()) for row in rows[1:]), "no line promises anything"


def test_every_measurement_is_taken_by_make_bench() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py") if re.search(r"^    run\(", path.read_text("utf-8"), re.M)}

    assert modules == set(all_of_them.MEASUREMENTS)
    assert len(all_of_them.MEASUREMENTS) == len(modules)


@pytest.mark.parametrize(
    ("lines", "arguments", "code"),
    [([KEPT], [], 0), ([KEPT, MISSED], [], 1), ([KEPT, MISSED], ["--small"], 0)],
    ids=["kept", "missed", "small"],
)
def test_a_missed_promise_fails_the_full_form_alone(
    lines: list[Line], arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lines.json"
    monkeypatch.setattr(sys, "argv", ["x", *arguments, "--json", str(file)])

    with pytest.raises(SystemExit) as ended:
        measure.run("A title", lambda size: iter(lines))

    assert ended.value.code == code
    assert json.loads(file.read_text("utf-8")) == {"title": "A title", "lines": [asdict(line) for line in lines]}


def test_a_void_measurement_ends_with_2_and_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def void(size: Size) -> Iterator[Line]:
        yield KEPT
        check(size is Size.FULL, "it was small")

    monkeypatch.setattr(sys, "argv", ["x", "--small", "--json", str(tmp_path / "lines.json")])

    with pytest.raises(SystemExit) as ended:
        measure.run("A title", void)

    assert ended.value.code == 2
    assert capsys.readouterr().err == "  the measurement is void: it was small\n"
    assert not (tmp_path / "lines.json").exists()


def test_what_fails_in_another_way_is_not_taken_for_a_missed_promise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["x"])

    with pytest.raises(SystemExit) as ended:
        measure.run("A title", lambda size: iter([KEPT, None]))  # type: ignore[list-item]

    assert ended.value.code == 2
    assert "AttributeError" in capsys.readouterr().err


def test_a_measurement_sees_nothing_of_the_session_it_was_started_in(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str] = {}

    def look(size: Size) -> Iterator[Line]:
        seen.update(os.environ)
        yield KEPT

    for name in ("CLAUDECODE", "ANTHROPIC_MODEL", "FLOWER_RUN", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(sys, "argv", ["x"])

    with pytest.raises(SystemExit):
        measure.run("A title", look)

    assert [name for name in seen if name.startswith(measure.INHERITED)] == ["FLOWER_STATE_DIR"]
    assert not Path(seen["FLOWER_STATE_DIR"]).exists()


@pytest.mark.parametrize(("codes", "code"), [((0, 1, 0), 1), ((1, 2), 2), ((0, 0), 0)])
def test_the_worst_end_counts_and_a_void_one_writes_no_table(
    codes: tuple[int, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part: dict[str, Any] = {"title": "A title", "lines": [asdict(KEPT), asdict(MISSED)]}
    table = tmp_path / "results.md"
    monkeypatch.setattr(all_of_them, "measured", lambda *_, **__: iter([(each, part) for each in codes]))
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--to", str(table)])

    assert all_of_them.main() == code
    assert table.exists() == (code < 2)
    if code < 2:
        text = table.read_text("utf-8")
        assert "| b | 3 x | at most 2 **missed** |  |" in text
        assert "| a | 1 x | at most 2 |  |" in text


@pytest.mark.parametrize(
    ("line", "kept", "promise"),
    [
        (Line("a", 1.0), True, ""),
        (Line("a", 1.0, most=1.0), True, "at most 1"),
        (Line("a", 1.01, most=1.0), False, "at most 1"),
        (Line("a", 99.0, least=100), False, "at least 100"),
        (Line("a", 1500.0, least=1_000, most=2_000.5), True, "at least 1,000 and at most 2,000"),
    ],
    ids=["none", "just", "over", "under", "between"],
)
def test_a_line_says_what_it_promises_and_whether_that_is_kept(line: Line, kept: bool, promise: str) -> None:
    assert line.kept is kept
    assert line.promise == promise
    assert ("MISSED" in line.text()) is not kept


def test_a_ratio_is_the_median_of_the_rounds_own_and_forgets_the_first() -> None:
    samples = Samples({"one": [90.0, 1.0, 2.0, 30.0], "base": [1.0, 1.0, 1.0, 10.0], "off": [0.0, 0.5, 1.0, 10.0]})

    assert samples.ratio("a", "one", "base").figure == 2.0
    assert samples.ratio("a", "one", "base", less="off", most=0.9).figure == 1.0
    assert samples.ratio("a", "one", "base", less="off", most=0.9).kept is False


def test_what_is_not_so_is_void() -> None:
    check(["something"], "there is something")
    with pytest.raises(Void, match="void: nothing"):
        check([], "nothing")
