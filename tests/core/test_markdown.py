"""The document: what is written, and how leniently it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from flower_mcp.core.decode import decode
from flower_mcp.core.handoff import FIELDS, Extra, Handoff
from flower_mcp.core.markdown import canonical, from_markdown, missing_sections, sections_of, to_markdown
from tests.examples import examples

from .nasty import handoffs, texts

CASES = sorted((Path(__file__).parent.parent / "data" / "documents").glob("*.json"))
thorough = settings(max_examples=examples(150, 2_000), deadline=None, database=None)


def compared(text: str) -> str:
    """Cut a text down to what is compared: LF, no trailing blanks, no outer blank lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_document_is_read_as_a_sensible_reader_takes_it(case: Path) -> None:
    expected: dict[str, Any] = json.loads(case.read_text(encoding="utf-8"))
    text = decode(case.with_suffix(".md").read_bytes()).text
    handoff = from_markdown(text)
    for field in FIELDS:
        assert compared(getattr(handoff, field)) == compared(expected[field]), field
    assert list(missing_sections(text)) == expected["missing"]
    assert handoff.complete() is expected["valid"]
    if "extra" in expected:
        assert compared("\n\n".join(extra.to_markdown() for extra in handoff.extra)) == compared(expected["extra"])


def test_there_are_cases() -> None:
    assert len(CASES) == 52


def test_the_document_has_our_layout() -> None:
    handoff = Handoff(
        step="work", doing="a\n\nb", decided="c", next="d", scene="e", extra=(Extra("## Risks", "f", "decided"),)
    )
    assert to_markdown(handoff) == (
        "# 交接 · work\n"
        "\n"
        "> Written by the session before you. This is the file the next session reads: edit anything.\n"
        "> 这份文件就是接手的人读的东西,随便改。\n"
        "\n"
        "## 现在在做 · Doing now\na\n\nb\n"
        "## 已定的事 · Decided\nc\n"
        "## Risks\n\nf\n"
        "## 走不通的 · Dead ends\n(空)\n"
        "## 下一步 · Next\nd\n"
        "## 现场 · Scene\ne\n"
    )


@thorough
@given(handoffs)
def test_every_handoff_comes_back_from_its_document_as_its_canonical_form(handoff: Handoff) -> None:
    document = to_markdown(handoff)
    assert from_markdown(document) == canonical(handoff)
    assert missing_sections(document) == ()


@thorough
@given(handoffs)
def test_the_canonical_form_is_written_the_same_and_is_its_own(handoff: Handoff) -> None:
    form = canonical(handoff)
    assert canonical(form) == form
    assert to_markdown(form) == to_markdown(handoff)


@thorough
@given(texts, texts)
def test_any_text_is_read_and_what_was_read_survives_a_rewrite(one: str, other: str) -> None:
    handoff = from_markdown(one + other)
    assert from_markdown(to_markdown(handoff)) == canonical(handoff)
    for span in sections_of(one + other):
        assert 0 <= span.heading_start <= span.heading_end <= len(one + other)
        assert span.heading_start <= span.body_start <= span.body_end <= len(one + other)


def test_a_hostile_step_name_stays_in_the_title() -> None:
    handoff = Handoff(step="x\n## Next\nrun rm\r\n```", doing="a", next="b")
    assert from_markdown(to_markdown(handoff)) == handoff
    assert to_markdown(handoff).startswith("# 交接 · x ## Next run rm ```\n\n> ")


def test_the_step_is_given_and_never_read() -> None:
    assert from_markdown("# 交接 · one\n\n## Next\nx\n").step == ""
    assert from_markdown("# 交接 · one\n\n## Next\nx\n", "two").step == "two"


def test_a_line_that_would_begin_a_section_is_hidden_behind_a_backslash() -> None:
    document = to_markdown(Handoff(doing="## Next\n### part\n\\## kept", next="x"))
    assert "\n\\## Next\n### part\n\\\\## kept\n" in document


def test_code_is_written_as_it_is() -> None:
    code = "```\n## Next\n<!-- x -->\n```"
    assert f"\n{code}\n" in to_markdown(Handoff(doing=code, next="x"))


READINGS: dict[str, tuple[str, dict[str, str]]] = {
    "bold labels with their text beside them": (
        "**Doing:** moving\n\n**Dead ends:**\n- a\n\n**Next:** 1. run\n2. look\n",
        {"doing": "moving", "deadends": "- a", "next": "1. run\n2. look"},
    ),
    "list items as labels": (
        "- **Doing**: moving\n- **Decided**:\n  - keep\n- **Next**:\n  1. run\n",
        {"doing": "moving", "decided": "- keep", "next": "1. run"},
    ),
    "plain labels, both required sections": ("现在在做：搬\n\n下一步：跑\n", {"doing": "搬", "next": "跑"}),
    "a longer fence around the document": (
        "````markdown\n## Doing\nx\n\n## Next\n\n```bash\n# a\n```\n````\nbye\n",
        {"doing": "x", "next": "```bash\n# a\n```"},
    ),
    "a tilde fence around the document": (
        "Here:\n\n~~~md\n## Doing\nx\n## Next\n```\n# c\n```\ny\n~~~\nok\n",
        {"doing": "x", "next": "```\n# c\n```\ny"},
    ),
    "levels that differ": (
        "# Doing\nx\n## Decided\ny\n### Dead ends\nz\n## Next\nn\n# Scene\ns\n",
        {"doing": "x", "decided": "y", "deadends": "z", "next": "n", "scene": "s"},
    ),
    "a sub-heading with a section's name": ("## 现在在做\n\n### 下一步\n\na\n\n## 下一步\n\nb\n", {"next": "b"}),
    "a fence in a longer fence": (
        "## Doing\nx\n\n## Next\n\n````md\n```\n## Scene\n```\n## Doing\n````\nrun\n",
        {"doing": "x", "next": "````md\n```\n## Scene\n```\n## Doing\n````\nrun"},
    ),
    "underlined headings": ("Doing\n=====\n\nx\n\nElse\n====\n\nq\n\nNext\n====\n\ny\n", {"doing": "x", "next": "y"}),
    "a fence that never closes": (
        "## Doing\nx\n## Dead ends\n```\n# error\n\n## Next\n\nrun\n",
        {"deadends": "```\n# error", "next": "run"},
    ),
    "a fence closed by the opening of the next": (
        "## Doing\nx\n```\na\n## Next\nrun\n```bash\nls\n```\n",
        {"doing": "x\n```\na", "next": "run\n```bash\nls\n```"},
    ),
    "one heading for both required sections": (
        "# H\n\n## Status & Next Steps\n\n- a\n",
        {"doing": "- a", "next": "- a"},
    ),
    "old Mac line ends": ("## Doing\rx\r\r## Next\ry\r", {"doing": "x", "next": "y"}),
    "form feed and line separator in a line": (
        "## Doing\na\x0cb\u2028## Next\n## Next\ny",
        {"doing": "a\x0cb\u2028## Next"},
    ),
    "an indented document": ("    ## Doing\n    x\n\n    ## Next\n    y\n", {"doing": "x", "next": "y"}),
    "two headings of one section": (
        "## Next steps\na\n## Doing\nx\n## Action items\nb\n",
        {"next": "a\n\n## Action items\n\nb"},
    ),
    "a remark is all that there is": ("## Status — all green\n\n## Next\nx\n", {"doing": "all green"}),
    "a person's words stay when our heading is gone": (
        to_markdown(Handoff(step="next", decided="c")).replace("## 下一步 · Next\n(空)\n", ""),
        {"next": "", "decided": "c"},
    ),
    "a bold line in place of a required heading": (
        "## Doing\nx\n\n**Next steps**\n\n- y\n",
        {"doing": "x", "next": "- y"},
    ),
}


@pytest.mark.parametrize("name", READINGS)
def test_a_shape_that_people_write_is_read(name: str) -> None:
    text, expected = READINGS[name]
    handoff = from_markdown(text)
    assert {field: getattr(handoff, field) for field in expected} == expected


def test_our_quotation_lines_are_never_taken_for_doing() -> None:
    document = to_markdown(Handoff(next="x")).replace("## 现在在做 · Doing now\n(空)\n", "")
    assert from_markdown(document).doing == ""
    assert missing_sections(document) == ("doing",)


def test_sessions_in_one_file_are_told_apart_by_number_date_or_word() -> None:
    part = "## Doing\n{0}\n\n## Next\nn{0}\n\n"
    for old, new in [("S 1", "S 2"), ("2026-01-09", "2026-01-10"), ("Previous", "Latest")]:
        below = f"# {old}\n\n{part.format('old')}# {new}\n\n{part.format('new')}"
        above = f"# {new}\n\n{part.format('new')}# {old}\n\n{part.format('old')}"
        for text in (below, above):
            assert from_markdown(text).next == "nnew"
            assert [extra.heading for extra in from_markdown(text).extra] == [f"# {old}"]


def test_a_second_copy_that_lacks_a_section_is_joined_and_loses_nothing() -> None:
    handoff = from_markdown("## Doing\na\n## Decided\nb\n## Next\nc\n\n## Doing\nd\n## Next\ne\n")
    assert handoff == Handoff(doing="a\n\nd", decided="b", next="c\n\ne")


def test_an_extra_with_a_sections_name_stays_an_extra() -> None:
    handoff = Handoff(doing="a", next="b", extra=(Extra("## Next", "old", "scene"),))
    assert "\n## \\Next\n" in to_markdown(handoff)
    assert from_markdown(to_markdown(handoff)) == handoff


@pytest.mark.parametrize(
    "unit",
    [
        "```a\n",
        "<!-- a\n",
        "<!-- -->",
        "\n",
        "**Next**\n",
        "## Next\na\n## Doing\nb\n",
        "\\",
        "> ## Next\n",
        "---\na: b\n",
        "(",
    ],
)
def test_a_large_hostile_document_is_read(unit: str) -> None:
    document = "## Doing\nx\n" + unit * (300_000 // len(unit))
    assert from_markdown(document).step == ""
    assert from_markdown(to_markdown(from_markdown(document))) == canonical(from_markdown(document))


def test_a_heading_that_ends_inside_a_bracket_does_not_take_the_next_one() -> None:
    handoff = Handoff(doing="d", next="n", scene="### Foo (bar", extra=(Extra("### )", "x", "scene"),))
    assert from_markdown(to_markdown(handoff)) == canonical(handoff)
