"""The handoff's value: what is missing, what is degraded."""

from __future__ import annotations

import pytest

from flower_mcp.core.handoff import DEGRADED, FIELDS, Extra, Handoff, degraded


def test_only_doing_and_next_can_be_missing() -> None:
    assert Handoff().missing() == ("doing", "next")
    assert Handoff(doing="a", next="b").missing() == ()
    assert Handoff(doing="a", next="b").complete()


def test_a_blank_text_counts_as_missing() -> None:
    assert Handoff(doing=" \n\t", next="b").missing() == ("doing",)


def test_two_handoffs_differ_by_content_and_never_by_step() -> None:
    assert Handoff(step="a", doing="x") == Handoff(step="b", doing="x")
    assert Handoff(doing="x") != Handoff(doing="y")


def test_sections_are_measured_in_characters() -> None:
    handoff = Handoff(doing="现在", next="four")
    assert handoff.sections() == {"doing": 2, "decided": 0, "deadends": 0, "next": 4, "scene": 0}
    assert tuple(handoff.sections()) == FIELDS


def test_a_handoff_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Handoff().doing = "x"  # type: ignore[misc]


def test_a_degraded_handoff_is_complete_marked_and_carries_the_start_of_the_task() -> None:
    task = "".join(chr(0x4E00 + at) for at in range(1500))
    handoff = degraded("work", task, why="the turn\nran into its time limit")
    assert handoff.complete()
    assert handoff.degraded
    assert DEGRADED in handoff.doing
    assert "(the turn ran into its time limit)" in handoff.doing
    assert task[:1200] in handoff.scene
    assert task[:1201] not in handoff.scene


def test_a_degraded_handoff_tells_to_look_at_the_scene() -> None:
    handoff = degraded("work", "port the tests")
    assert "look at the scene yourself" in handoff.doing
    assert "git status" in handoff.next


def test_a_degraded_handoff_survives_its_document_whatever_the_task_says() -> None:
    handoff = degraded("work", "```\n## Next\n<!-- \n" * 100)
    read = Handoff.from_markdown(handoff.to_markdown())
    assert read.degraded
    assert read.complete()
    assert read.next == handoff.next


def test_an_ordinary_handoff_is_not_degraded() -> None:
    assert not Handoff(doing="x", next="y").degraded


def test_the_methods_lead_to_writer_reader_and_prompt() -> None:
    handoff = Handoff(step="a", doing="x", next="y", extra=(Extra("## Risks", "none known yet"),))
    assert Handoff.from_markdown(handoff.to_markdown(), "a") == handoff
    assert "one line of a file" in handoff.prompt_block("one line of a file")
    assert "## Risks" in handoff.prompt_block()


def test_a_label_stands_right_above_its_text_and_a_heading_does_not() -> None:
    assert Extra("Goal:", "- a").to_markdown() == "Goal:\n- a"
    assert Extra("## Goal", "- a").to_markdown() == "## Goal\n\n- a"
    assert Extra("## Goal", "").to_markdown() == "## Goal"
