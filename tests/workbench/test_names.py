"""Names on disk: different steps lie in different files, and no name leads anywhere else."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp import Handoff, Workbench
from flower_mcp.core.books import LiveStep, State, StepResult
from flower_mcp.workbench.files import inside
from flower_mcp.workbench.names import LONGEST, file_name, timestamp, timestamp_seconds

AWKWARD = (
    *(
        "../../x",
        "..\\..\\x",
        "/etc/x",
        "C:\\x",
        "a/../../b",
        "%2e%2e%2f",
        "x\u0000y",
        "x\ny",
        "a/b/../c",
        "~",
        "-rf",
        "",
        ".",
        "..",
        "...",
    ),
    *(
        "CON",
        "con",
        "nul.txt",
        "LPT1",
        "step..",
        "NUL",
        "lpt1",
        "COM1.json",
        "con .x",
        "step.",
        "step",
        "Step",
        "STEP",
        "straße",
        "strasse",
    ),
    *(
        "é",
        "e\u0301",
        "设计",
        "設計",
        "🚀",
        "???",
        "::",
        "a\u202eb",
        "ab",
        "a\u200bb",
        "a/b",
        "ℂon",
        "a：b",
        "ａｂ",
        "℀",
    ),
    *(
        "x-1a2b3c",
        "x-ABCDEF",
        "work\n",
        " work",
        "work ",
        "\ud800",
        "a" * 120,
        "a" * 121,
        "a" * 5000,
        "漢" * 41,
        "漢" * 40,
    ),
)


@pytest.mark.parametrize("name", ["work", "port-tests", "v1.2", "设计 草案", "第2步", "a_b", "漢" * 40])
def test_a_plain_name_is_its_own_file_name(name: str) -> None:
    assert file_name(name) == name


@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_name_becomes_a_safe_one(name: str) -> None:
    made = file_name(name)

    assert 0 < len(made.encode()) <= LONGEST
    assert not set(made) & set('/\\:*?"<>|\0')
    assert made == made.strip(". ")
    assert made[0] not in "-~"
    assert unicodedata.normalize("NFKC", made) == made
    assert made.partition(".")[0].rstrip().lower() not in {"con", "nul", "lpt1", "com1"}


def test_awkward_names_stay_apart_even_where_case_and_unicode_form_are_ignored() -> None:
    made = [unicodedata.normalize("NFD", file_name(name)).casefold() for name in AWKWARD]

    assert len(set(made)) == len(set(AWKWARD))


def test_a_name_that_looks_like_a_made_one_cannot_take_its_file() -> None:
    made = file_name("a/b")

    assert file_name(made) != made


@given(st.text())
def test_any_text_gives_a_name_that_is_the_same_each_time_and_lies_inside(name: str) -> None:
    folder = Path("/nowhere/notes")

    made = folder / f"交接-{file_name(name)}.md"

    assert made.name == f"交接-{file_name(name)}.md"
    assert inside(folder, made).parent == folder


def test_a_hundred_thousand_random_names_lie_in_as_many_files_inside_whatever_the_file_system_ignores() -> None:
    chance = random.Random(20)
    alphabets = ("abcABC/\\.:-_ 中文éÉ🚀\0\n~%\u202e", "".join(map(chr, range(0x2500))), "設计İıſßΣςσ-0f.٣")
    steps = {"".join(chance.choices(alphabets[number % 3], k=chance.randint(5, 30))) for number in range(100_000)}
    made = {file_name(step) for step in steps}

    assert len({unicodedata.normalize("NFD", name).casefold() for name in made}) == len(steps) > 99_900
    assert not set("".join(made)) & set('/\\:*?"<>|\0')
    assert not made & {"", ".", ".."}
    assert max(len(name.encode()) for name in made) <= LONGEST


def test_each_file_leads_back_to_its_step_and_lies_in_notes(tmp_path: Path) -> None:
    workbench = Workbench(tmp_path)
    for step in AWKWARD:
        path = workbench.freeze(step, Handoff(doing=f"The step {step!r}.", next="Go on.")).path
        assert path.parent == workbench.notes
        workbench.lives.write(LiveStep(step, State.DONE, StepResult("a-run", step)))

    back = {step.encode("utf-8", "replace") for step in workbench.lives.steps()}

    assert back == {step.encode("utf-8", "replace") for step in AWKWARD}
    for step in AWKWARD:
        document = workbench.read(step)
        assert document is not None
        assert document.handoff.doing == f"The step {step!r}."
    assert {path.name for path in tmp_path.iterdir()} <= {".flower", "state"}


def test_a_timestamp_sorts_and_reads_back() -> None:
    moments = [1_795_968_312.123456, 1_795_968_312.123457, 1_795_968_313.0]

    stamps = [timestamp(moment) for moment in moments]

    assert stamps[0] == "20261129T160512.123456Z"
    assert stamps == sorted(stamps)
    assert [timestamp_seconds(stamp) for stamp in stamps] == pytest.approx(moments, abs=1e-7)
