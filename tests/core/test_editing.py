"""Changing one section and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flower_mcp.core.decode import decode
from flower_mcp.core.editing import EditMode, edit_section, sections_of
from flower_mcp.core.errors import Usage
from flower_mcp.core.handoff import FIELDS, Handoff
from flower_mcp.core.markdown import canonical, from_markdown, missing_sections, to_markdown
from flower_mcp.core.plain import canonical_text
from tests.examples import examples

from .nasty import handoffs, texts

CASES = sorted((Path(__file__).parent.parent / "data" / "documents").glob("*.md"))
thorough = settings(max_examples=examples(150, 2_000), deadline=None, database=None)

MINE = "# My notes\n\n<!-- keep -->\n## Doing\n\nold  \n\n---\n\n## Else\n\nq\n\n## Next\n\n- a\n\n## Next\n\n- b\n"


def test_a_replaced_section_is_all_that_changes() -> None:
    assert edit_section(MINE, "doing", "new\nlines") == MINE.replace("old  ", "new\nlines")


def test_of_a_section_that_stands_twice_the_later_one_is_emptied() -> None:
    assert edit_section(MINE, "next", "- c") == MINE.replace("- a", "- c").replace("- b", "(空)")


def test_appended_text_goes_behind_the_last_place() -> None:
    assert edit_section(MINE, "next", "- c", EditMode.APPEND) == MINE.replace("- b", "- b\n- c")
    assert edit_section(MINE, "next", "then stop", "append") == MINE.replace("- b", "- b\n\nthen stop")


def test_text_appended_to_an_empty_section_takes_the_place_of_its_marker() -> None:
    assert edit_section("## Doing\n(空)\n## Next\nx\n", "doing", "a", "append") == "## Doing\na\n## Next\nx\n"


def test_nothing_is_written_as_the_empty_marker_and_appended_as_nothing() -> None:
    assert edit_section(MINE, "doing", " \n") == MINE.replace("old  ", "(空)")
    assert edit_section(MINE, "doing", " \n", "append") == MINE


def test_an_absent_section_is_added_where_it_belongs() -> None:
    added = edit_section(MINE, "decided", "yes")
    assert added == MINE.replace("## Next\n\n- a", "## 已定的事 · Decided\nyes\n\n## Next\n\n- a")
    assert edit_section(MINE, "scene", "here") == MINE.replace("- b", "- b\n\n## 现场 · Scene\nhere")


def test_a_section_is_added_to_a_text_that_has_none() -> None:
    assert from_markdown(edit_section("", "next", "a")).next == "a"
    assert edit_section("just prose", "next", "a").startswith("just prose\n\n## 下一步 · Next\na")


def test_line_ends_and_bom_of_the_file_are_kept() -> None:
    text = "\ufeff## Doing\r\n\r\nold\r\n\r\n## Next\r\nx"
    assert edit_section(text, "doing", "a\nb") == "\ufeff## Doing\r\n\r\na\r\nb\r\n\r\n## Next\r\nx"
    assert edit_section(text, "next", "y\nz") == "\ufeff## Doing\r\n\r\nold\r\n\r\n## Next\r\ny\r\nz"


def test_text_in_a_heading_is_replaced_with_the_section() -> None:
    edited = edit_section("## Where we are: half **way**\n\nmore\n\n## Next\nx\n", "doing", "new")
    assert edited == "## Where we are: \n\nnew\n\n## Next\nx\n"


def test_text_that_looks_like_a_section_is_hidden() -> None:
    edited = edit_section(MINE, "doing", "## Next\nnone of it\n```\nopen")
    assert from_markdown(edited).doing == "## Next\nnone of it\n```\nopen"
    assert from_markdown(edited).next == from_markdown(MINE).next


def test_a_heading_that_holds_both_required_sections_is_parted() -> None:
    edited = edit_section("## Status & next steps\n\n- a\n", "next", "- b")
    assert (from_markdown(edited).doing, from_markdown(edited).next) == ("- a", "- b")


def test_doing_under_the_title_gets_a_heading() -> None:
    edited = edit_section("# Handoff\n\nhalf way\n\n## Next\nx\n", "doing", "> done")
    assert from_markdown(edited).doing == "> done"
    assert "half way" not in edited


def test_an_unknown_section_or_mode_is_the_callers_mistake() -> None:
    with pytest.raises(Usage):
        edit_section(MINE, "extra", "x")
    with pytest.raises(Usage):
        edit_section(MINE, "next", "x", "prepend")


def test_spans_point_at_heading_and_body() -> None:
    spans = sections_of(MINE)
    assert [(span.field, span.line) for span in spans] == [("doing", 4), ("", 10), ("next", 14), ("next", 18)]
    assert [MINE[span.heading_start : span.heading_end] for span in spans] == [
        "## Doing",
        "## Else",
        "## Next",
        "## Next",
    ]
    assert [MINE[span.body_start : span.body_end] for span in spans] == ["old  ", "q", "- a", "- b"]


def test_spans_count_a_bom_and_windows_line_ends() -> None:
    text = "\ufeff## Doing\r\nx\r\n## Next: now\r\n"
    assert [text[span.body_start : span.body_end] for span in sections_of(text)] == ["x", "now"]


@thorough
@given(st.sampled_from(CASES), st.sampled_from(FIELDS), texts, st.sampled_from(EditMode))
def test_in_any_known_shape_the_edited_section_changes_and_no_other(
    case: Path, field: str, new: str, mode: EditMode
) -> None:
    text = decode(case.read_bytes()).text
    before = from_markdown(text)
    edited = edit_section(text, field, new, mode)
    after = from_markdown(edited)
    wanted = canonical_text(new)
    for other in FIELDS:
        if other != field:
            assert getattr(after, other) == getattr(before, other), other
    if mode is EditMode.REPLACE:
        assert getattr(after, field) == wanted
    else:
        assert getattr(after, field).startswith(getattr(before, field))
        assert getattr(after, field).endswith(wanted)
    assert after.extra == before.extra or field in missing_sections(text)


@thorough
@given(handoffs, st.sampled_from(FIELDS), texts, st.sampled_from(["\n", "\r\n"]))
def test_in_our_own_layout_everything_outside_the_section_stays(
    handoff: Handoff, field: str, new: str, newline: str
) -> None:
    text = to_markdown(handoff).replace("\n", newline)
    edited = edit_section(text, field, new)
    assert from_markdown(edited) == canonical(replace(handoff, **{field: new}))  # type: ignore[arg-type]
    (span,) = [span for span in sections_of(text) if span.field == field]
    assert edited.startswith(text[: span.body_start])
    assert edited.endswith(text[span.body_end :])


@thorough
@given(texts, st.sampled_from(FIELDS), texts, st.sampled_from(EditMode))
def test_any_text_can_be_edited(text: str, field: str, new: str, mode: EditMode) -> None:
    edited = edit_section(text, field, new, mode)
    assert isinstance(edited, str)
    assert len(from_markdown(edited).sections()) == 5


def test_a_sub_heading_in_new_text_does_not_stand_in_for_a_missing_section() -> None:
    text = "## Doing\nold\n## Scene\ns\n"
    edited = edit_section(text, "doing", "### Next\nnot this\n\n**Next steps**\n\nnor this")
    assert from_markdown(edited).doing == "### Next\nnot this\n\n**Next steps**\n\nnor this"
    assert from_markdown(edited).next == ""


def test_code_in_new_text_does_not_end_the_fence_around_a_document() -> None:
    text = "```markdown\n## Doing\nold\n\n## Next\nx\n```\n"
    edited = edit_section(text, "doing", "```\n## Next\nsample")
    assert from_markdown(edited) == Handoff(doing="```\n## Next\nsample", next="x")
    edited = edit_section(text, "doing", "```\n## Next\n```")
    assert from_markdown(edited) == Handoff(doing="```\n## Next\n```", next="x")
