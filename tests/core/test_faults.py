"""What is wrong with a document that a person saved, and in which line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_mcp.core.faults import MOST, Fault, FaultKind, faults_of, new_faults, worst
from flower_mcp.core.handoff import Handoff

GOOD = Handoff(step="work", doing="Porting.", decided="Fixtures.", next="Run it.", scene="tests/").to_markdown()
CONFLICT = "<<<<<<< HEAD\nRun it.\n=======\nDo not run it.\n>>>>>>> other\n"


def line_of(text: str, words: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.startswith(words))


def test_a_good_document_has_no_fault() -> None:
    assert faults_of(GOOD) == ()
    assert faults_of("\ufeff" + GOOD.replace("\n", "\r\n")) == ()


@pytest.mark.parametrize("text", ["", "\n \t\r\n", "\ufeff", "\0\0"])
def test_a_file_without_content_is_empty(text: str) -> None:
    assert worst(faults_of(text)) is FaultKind.EMPTY


def test_conflict_marks_are_named_with_their_lines() -> None:
    text = GOOD.replace("Run it.\n", CONFLICT)
    found = faults_of(text)
    assert [fault.kind for fault in found] == [FaultKind.CONFLICT] * 3
    assert [fault.line for fault in found] == [line_of(text, mark) for mark in ("<<<<<<<", "=======", ">>>>>>>")]
    assert "<<<<<<< HEAD" in found[0].what


def test_conflict_marks_in_a_document_with_windows_line_ends_count_too() -> None:
    text = GOOD.replace("Run it.\n", CONFLICT).replace("\n", "\r\n")
    assert [fault.kind for fault in faults_of(text)] == [FaultKind.CONFLICT] * 3


def test_conflict_marks_in_a_code_fence_are_an_example() -> None:
    assert faults_of(GOOD.replace("Run it.\n", f"```\n{CONFLICT}```\n")) == ()


def test_an_underline_of_seven_is_no_conflict() -> None:
    assert faults_of(GOOD.replace("tests/\n", "A heading\n=======\n\ntests/\n")) == ()


def test_an_emptied_section_is_named_with_the_line_of_its_heading() -> None:
    text = GOOD.replace("Run it.\n", "")
    assert faults_of(text) == (
        Fault(FaultKind.INCOMPLETE, "the section 下一步 · Next is empty", line_of(text, "## 下一步")),
    )


def test_a_section_that_is_gone_has_no_line() -> None:
    text = GOOD.replace("## 现在在做 · Doing now\nPorting.\n", "")
    assert faults_of(text) == (Fault(FaultKind.INCOMPLETE, "the section 现在在做 · Doing now is not there"),)


def test_what_was_wrong_before_is_not_the_persons_fault() -> None:
    before = GOOD.replace("Run it.\n", "")
    assert new_faults(before, before.replace("Fixtures.", "Classes.")) == ()
    assert new_faults(before, before) == ()
    assert [fault.kind for fault in new_faults(before, before.replace("Porting.\n", ""))] == [FaultKind.INCOMPLETE]
    assert new_faults(GOOD, GOOD) == ()
    assert len(new_faults(GOOD, before)) == 1


def test_the_worst_fault_comes_first() -> None:
    text = GOOD.replace("Run it.\n", "").replace("tests/\n", CONFLICT)
    assert worst(faults_of(text)) is FaultKind.CONFLICT
    assert worst(()) is None


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    assert len(faults_of(text)) <= MOST
    assert new_faults(text, text) == ()


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_canonical_document_of_any_words_has_no_fault_but_marks_of_its_own(doing: str, coming: str) -> None:
    handoff = Handoff(step="work", doing=f"a {doing}", next=f"b {coming}")
    assert {fault.kind for fault in faults_of(handoff.to_markdown())} <= {FaultKind.CONFLICT}
