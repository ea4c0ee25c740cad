"""Whose a change of the document is: which tools touch it, and what they can have made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flower_mcp.core.handoff import Handoff
from flower_mcp.core.markdown import edit_section
from flower_mcp.runtime.own_changes import explains, touches
from flower_mcp.runtime.signals import Used

PATH = Path("/w/.flower/notes/交接-work.md")
BEFORE = Handoff(step="work", doing="Porting.", next="Run it.").to_markdown()


def used(tool: str, **given: Any) -> Used:
    return Used(tool, "id", given)


def edit(old: str, new: str, **more: Any) -> Used:
    return used("Edit", file_path=str(PATH), old_string=old, new_string=new, **more)


@pytest.mark.parametrize(
    ("one", "answer"),
    [
        (edit("a", "b"), True),
        (used("Write", file_path="notes/交接-work.md", content=""), True),
        (used("Write", file_path="/w/other.md", content=""), False),
        (used("Read", file_path=str(PATH)), False),
        (used("mcp__flower__edit_section", section="next", text="x"), True),
        (used("mcp__plugin_x__edit_section", section="next", text="x"), True),
        (used("mcp__flower__read_handoff"), False),
        (used("Bash", command="sed -i s/a/b/ .flower/notes/*.md"), True),
        (used("Bash", command="cat 交接-work.md | grep -n Next; ls .flower && wc -l .flower/notes/*"), False),
        (used("Bash", command="cat x > 交接-work.md"), True),
        (used("Bash", command="cat .flower/notes/* | tee copy"), True),
        (used("Bash", command="cat $(mv .flower/x y)"), True),
        (used("Bash", command="pytest -q"), False),
        (used("Bash", command=None), False),
    ],
)
def test_a_tool_touches_the_document_by_path_command_or_name(one: Used, answer: bool) -> None:
    assert touches(one, PATH) is answer


def test_without_a_tool_nothing_is_explained() -> None:
    assert not explains([], BEFORE, BEFORE + "x")


def test_what_edits_make_of_the_text_is_theirs_all_of_them_or_some() -> None:
    both = [edit("Porting.", "Done."), edit("Run it.", "Stop.")]
    after = BEFORE.replace("Porting.", "Done.")
    assert explains(both, BEFORE, after.replace("Run it.", "Stop."))
    assert explains(both, BEFORE, after)
    assert explains(both, BEFORE, after.replace("\n", "\r\n"))
    assert not explains(both, BEFORE, after + "\nA person's remark.\n")
    assert not explains(both, BEFORE, BEFORE.replace("Run it.", "Run it twice."))


def test_an_edit_of_all_places_and_a_new_file_are_worked_out() -> None:
    assert explains([edit("o", "0", replace_all=True)], BEFORE, BEFORE.replace("o", "0"))
    assert not explains([edit("o", "0")], BEFORE, BEFORE.replace("o", "0"))
    assert explains([used("Write", file_path=str(PATH), content="all new")], BEFORE, "all new\n")


def test_an_edited_section_is_worked_out_with_its_secrets_masked() -> None:
    one = used("mcp__flower__edit_section", section="Next", text="Stop.", mode="append")
    after = edit_section(BEFORE, "next", "Stop.", "append")
    assert explains([one], BEFORE, after)
    assert not explains([one], BEFORE, after.replace("Porting.", "Done."))
    wrong = used("mcp__flower__edit_section", section="no such section", text="Stop.")
    assert not explains([wrong], BEFORE, after)


def test_a_command_explains_whatever_happened() -> None:
    assert explains([used("Bash", command="sed -i … 交接-work.md")], BEFORE, "anything")
    assert explains([edit("a", "b")] * 5, BEFORE, "anything")
    assert explains([used("Edit", file_path=str(PATH))], BEFORE, "anything")
