"""write_handoff and edit_section: what lies on disk afterwards, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower_mcp import Handoff, Workbench
from flower_mcp.core.books import State
from tests.server.helpers import ERAS, HANDOFF, answer, client, complaint, live_step, snapshot, text_of, value_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]

KEY = "sk-ant-api03-" + "a1B2c3D4" * 6


async def test_a_handoff_is_frozen_and_the_answer_says_what_was_read_of_it(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        result = await answer(connected, "write_handoff", doing="Half done.", next="Go on.", scene=f"key {KEY}")
    document = workbench.read("work")
    assert document is not None
    assert document.handoff == Handoff(doing="Half done.", next="Go on.", scene=document.handoff.scene)
    assert KEY not in document.text
    value = value_of(result)
    assert value["path"] == str(document.path)
    assert value["revision"] == document.revision
    assert value["characters"] == document.handoff.sections()
    assert (value["masked"], value["written"]) == (1, "document")


async def test_the_text_of_an_answer_says_what_its_structure_says(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        for result in (
            await answer(connected, "write_handoff", doing="a", next="b"),
            await answer(connected, "edit_section", section="next", text="c"),
        ):
            value = value_of(result)
            for key in ("step", "written", "path", "revision", "note"):
                assert str(value[key]) in text_of(result)
            assert f"next {value['characters']['next']}" in text_of(result)


async def test_the_version_before_goes_to_the_archive(workbench: Workbench, era: str) -> None:
    before = workbench.freeze("work", HANDOFF)
    async with client(workbench, era) as connected:
        await answer(connected, "write_handoff", doing="Later.", next="More.")
    assert [version.revision() for version in workbench.history("work")] == [before.revision]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"doing": "", "next": "b"}, ["doing"]),
        ({"doing": "a", "next": " \n"}, ["next"]),
        ({"doing": "(空)", "next": "None."}, ["doing", "next"]),
        ({"doing": "a"}, ["next"]),
        ({}, ["doing", "next"]),
    ],
)
async def test_a_missing_section_is_named_and_nothing_is_written(
    workbench: Workbench, era: str, arguments: dict[str, str], names: list[str]
) -> None:
    async with client(workbench, era) as connected:
        said = await complaint(connected, "write_handoff", **arguments)
    assert all(name in said for name in names)
    assert "Call" in said
    assert not workbench.folder.exists()


async def test_a_step_that_somebody_runs_gets_a_draft_whoever_writes(workbench: Workbench, era: str) -> None:
    current = workbench.freeze("work", HANDOFF)
    with workbench.run_lock("work") as held:
        assert held
        async with client(workbench, era) as connected:
            result = await answer(connected, "write_handoff", doing="a", next="b", decided=f"key {KEY}")
    draft = workbench.lives.read_draft("work")
    assert draft is not None
    assert Handoff.from_markdown(draft.text).doing == "a"
    value = value_of(result)
    assert (value["written"], value["revision"], value["masked"]) == ("draft", draft.revision, 1)
    assert "supervisor" in value["note"]
    document = workbench.read("work")
    assert document is not None
    assert document.revision == current.revision


async def test_a_lost_step_is_frozen_again(workbench: Workbench, era: str) -> None:
    workbench.lives.write(live_step(state=State.WORKING))
    async with client(workbench, era) as connected:
        result = await answer(connected, "write_handoff", doing="a", next="b")
    assert value_of(result)["written"] == "document"


async def test_a_step_first_written_here_keeps_its_true_name(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        await answer(connected, "write_handoff", doing="a", next="b", step="Port: Tests?")
        listed = value_of(await answer(connected, "handoff_status"))
    assert [each["step"] for each in listed["steps"]] == ["Port: Tests?"]
    live = workbench.live("Port: Tests?")
    assert live is not None
    assert live.state is State.IDLE


async def test_live_state_of_a_supervisor_is_left_alone(workbench: Workbench, era: str) -> None:
    workbench.lives.write(live_step(text="All done.", session_id="s1"))
    async with client(workbench, era) as connected:
        await answer(connected, "write_handoff", doing="a", next="b")
    live = workbench.live("work")
    assert live is not None
    assert (live.state, live.row.session_id) == (State.DONE, "s1")


@pytest.mark.parametrize("running", [False, True])
async def test_new_demands_that_there_is_no_document(workbench: Workbench, era: str, running: bool) -> None:
    workbench.freeze("work", HANDOFF)
    lock = workbench.run_lock("work")
    if running:
        assert lock.acquire()
    before = snapshot(workbench.folder)
    async with client(workbench, era) as connected:
        said = await complaint(connected, "write_handoff", doing="a", next="b", expected_revision="new")
    lock.release()
    assert "Read it again" in said
    assert snapshot(workbench.folder) == before


@pytest.mark.parametrize("running", [False, True])
async def test_the_revision_that_was_read_lets_a_write_through_once(
    workbench: Workbench, era: str, running: bool
) -> None:
    revision = workbench.freeze("work", HANDOFF).revision
    lock = workbench.run_lock("work")
    if running:
        assert lock.acquire()
    async with client(workbench, era) as connected:
        written = await answer(connected, "write_handoff", doing="a", next="b", expected_revision=revision)
        again = await answer(
            connected, "write_handoff", doing="a", next="c", expected_revision=value_of(written)["revision"]
        )
        said = await complaint(connected, "write_handoff", doing="a", next="d", expected_revision="0" * 12)
    lock.release()
    assert "000000000000" in said
    assert value_of(again)["characters"]["next"] == 1


@pytest.mark.parametrize("tool", ["write_handoff", "edit_section"])
@pytest.mark.parametrize("revision", ["abc", "0" * 13, "G" * 12, "A" * 12, " " * 12])
async def test_a_revision_of_the_wrong_form_is_refused(
    workbench: Workbench, era: str, tool: str, revision: str
) -> None:
    workbench.freeze("work", HANDOFF)
    before = snapshot(workbench.folder)
    given = {"doing": "a", "next": "b"} if tool == "write_handoff" else {"section": "next", "text": "x"}
    async with client(workbench, era) as connected:
        said = await complaint(connected, tool, **given, expected_revision=revision)
    assert "12 hex digits" in said
    assert snapshot(workbench.folder) == before


@pytest.mark.parametrize(
    "step", ["../x", "..\\x", "/etc/x", "C:\\x", "a/../../b", "..", ".", "~", "~/x", "a\0b", "a\nb", " ", "x" * 201]
)
async def test_a_step_that_reads_like_a_path_is_refused(workbench: Workbench, era: str, step: str) -> None:
    async with client(workbench, era) as connected:
        for tool, given in (
            ("write_handoff", {"doing": "a", "next": "b"}),
            ("edit_section", {"section": "next", "text": "x"}),
            ("read_handoff", {}),
            ("handoff_status", {}),
        ):
            assert "step" in await complaint(connected, tool, step=step, **given)
    assert not workbench.folder.exists()


async def test_a_step_of_such_a_name_that_exists_can_be_used(workbench: Workbench, era: str) -> None:
    workbench.lives.write(live_step("fix a/b"))
    async with client(workbench, era) as connected:
        result = await answer(connected, "write_handoff", doing="a", next="b", step="fix a/b")
    assert Path(value_of(result)["path"]).parent == workbench.notes


@pytest.mark.parametrize("field", ["doing", "next", "decided", "deadends", "scene"])
async def test_a_text_that_is_too_long_or_holds_nul_is_refused(workbench: Workbench, era: str, field: str) -> None:
    async with client(workbench, era) as connected:
        for text, words in (("x" * 200_001, "200,000"), ("a\0b", "NUL")):
            said = await complaint(connected, "write_handoff", **{"doing": "a", "next": "b", field: text})
            assert field in said
            assert words in said
        assert not workbench.folder.exists()
        await answer(connected, "write_handoff", **{"doing": "a", "next": "b", field: "x" * 200_000})


async def test_an_edit_changes_one_section_and_no_other_byte(workbench: Workbench, era: str) -> None:
    path = workbench.documents.path("work")
    workbench.freeze("work", HANDOFF)
    text = "\ufeff## Doing\r\nmine  \r\n\r\nA remark <!-- kept -->\r\n## Next\r\nold\r\n## Mine\r\n- x\r\n"
    path.write_bytes(text.encode())
    async with client(workbench, era) as connected:
        result = await answer(connected, "edit_section", section="next", text="new")
    assert path.read_bytes() == text.replace("old", "new").encode()
    document = workbench.read("work")
    assert document is not None
    assert value_of(result)["revision"] == document.revision


async def test_a_heading_s_name_means_its_section(workbench: Workbench, era: str) -> None:
    workbench.freeze("work", HANDOFF)
    async with client(workbench, era) as connected:
        await answer(connected, "edit_section", section="## 走不通的 · Dead ends", text="Not that way.")
        await answer(connected, "edit_section", section="Next steps", text="This way.")
    document = workbench.read("work")
    assert document is not None
    assert (document.handoff.deadends, document.handoff.next) == ("Not that way.", "This way.")


@pytest.mark.parametrize("mode", ["", "replace", "append"])
async def test_a_section_that_stands_twice(workbench: Workbench, era: str, mode: str) -> None:
    workbench.freeze("work", HANDOFF)
    path = workbench.documents.path("work")
    path.write_text("## Doing\nd\n## Next\nfirst\n## Scene\ns\n## Next\nsecond\n")
    async with client(workbench, era) as connected:
        await answer(connected, "edit_section", section="next", text="new", mode=mode)
    expected = {
        "append": "## Doing\nd\n## Next\nfirst\n## Scene\ns\n## Next\nsecond\n\nnew\n",
        "replace": "## Doing\nd\n## Next\nnew\n## Scene\ns\n## Next\n(空)\n",
    }
    assert path.read_text() == expected[mode or "replace"]


async def test_an_absent_section_is_added_in_its_place(workbench: Workbench, era: str) -> None:
    workbench.freeze("work", HANDOFF)
    path = workbench.documents.path("work")
    path.write_text("## Doing\nd\n\n## Next\nn\n")
    async with client(workbench, era) as connected:
        await answer(connected, "edit_section", section="deadends", text="x")
    text = path.read_text()
    assert text.index("## Doing") < text.index("Dead ends") < text.index("## Next")


async def test_a_stale_edit_gets_the_revision_and_the_section_as_they_are(workbench: Workbench, era: str) -> None:
    revision = workbench.freeze("work", HANDOFF).revision
    current = workbench.edit("work", "next", "A person was here.")
    before = snapshot(workbench.folder)
    async with client(workbench, era) as connected:
        said = await complaint(connected, "edit_section", section="next", text="x", expected_revision=revision)
    assert current.revision in said
    assert "A person was here." in said
    assert snapshot(workbench.folder) == before


async def test_an_edit_that_empties_a_required_section_says_so(workbench: Workbench, era: str) -> None:
    workbench.freeze("work", HANDOFF)
    async with client(workbench, era) as connected:
        result = await answer(connected, "edit_section", section="next", text="")
    assert "next says nothing" in text_of(result)


async def test_secrets_in_an_edit_are_masked_and_counted(workbench: Workbench, era: str) -> None:
    workbench.freeze("work", HANDOFF)
    async with client(workbench, era) as connected:
        result = await answer(connected, "edit_section", section="scene", text=f"key {KEY}")
    assert value_of(result)["masked"] == 1
    assert KEY not in workbench.documents.path("work").read_text()


@pytest.mark.parametrize("section", ["bogus", "", "Open questions", "x" * 300, "\0", "## "])
async def test_an_unknown_section_is_refused_with_the_five(workbench: Workbench, era: str, section: str) -> None:
    workbench.freeze("work", HANDOFF)
    before = snapshot(workbench.folder)
    async with client(workbench, era) as connected:
        said = await complaint(connected, "edit_section", section=section, text="x")
    assert "doing, decided, deadends, next, scene" in said
    assert snapshot(workbench.folder) == before


async def test_without_a_document_there_is_nothing_to_edit(workbench: Workbench, era: str) -> None:
    workbench.lives.write(live_step())
    async with client(workbench, era) as connected:
        said = await complaint(connected, "edit_section", section="next", text="x")
    assert "Write one first" in said


async def test_a_file_that_is_no_text_is_not_edited(workbench: Workbench, era: str) -> None:
    workbench.freeze("work", HANDOFF)
    path = workbench.documents.path("work")
    path.write_bytes(bytes(range(128, 256)) * 3)
    async with client(workbench, era) as connected:
        assert "UTF-8" in await complaint(connected, "edit_section", section="next", text="x")
        assert "not a text file" in await complaint(connected, "read_handoff")
    assert path.read_bytes() == bytes(range(128, 256)) * 3


async def test_unknown_arguments_are_refused_with_the_near_name(workbench: Workbench, era: str) -> None:
    async with client(workbench, era) as connected:
        said = await complaint(connected, "write_handoff", doing="a", next="b", dead_ends="x")
        assert "Did you mean 'deadends'?" in said
        assert "expected_revision" in await complaint(connected, "write_handoff", doing="a", next="b", zzz="x")
        assert "must be a text" in await complaint(connected, "write_handoff", doing=["a"], next="b")
        assert "must be a text" in await complaint(connected, "write_handoff", doing="a", next="b", step=None)
        assert "replace or append" in await complaint(connected, "edit_section", section="next", text="x", mode="add")
    assert not workbench.folder.exists()
