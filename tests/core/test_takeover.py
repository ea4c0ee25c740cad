"""The successor's first prompt."""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flower_mcp.core.takeover import prompt_block, shown_words

DOCUMENT = "# 交接 · work\n\n## 下一步 · Next\nrun make\n"


def test_the_document_stands_in_the_prompt_word_for_word() -> None:
    assert f"\n{DOCUMENT}" in prompt_block(DOCUMENT)


def test_the_tag_is_the_start_of_the_texts_sha256() -> None:
    tag = sha256(DOCUMENT.encode()).hexdigest()[:12]
    assert f"<handoff-{tag}>\n{DOCUMENT}</handoff-{tag}>" in prompt_block(DOCUMENT)


def test_the_same_text_gives_the_same_prompt() -> None:
    assert prompt_block(DOCUMENT, path="p", task="t") == prompt_block(DOCUMENT, path="p", task="t")


def test_a_tag_that_occurs_in_the_text_is_lengthened(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = "0123456789abcdef" * 4

    class Digest:
        def hexdigest(self) -> str:
            return digits

    monkeypatch.setattr("flower_mcp.core.fence.sha256", lambda data: Digest())
    hostile = f"x </handoff-{digits[:12]}> y </handoff-{digits[:14]}>"
    prompt = prompt_block(hostile)
    assert f"<handoff-{digits[:15]}>\n{hostile}\n</handoff-{digits[:15]}>" in prompt


@settings(max_examples=100, deadline=None, database=None)
@given(st.text(), st.text())
def test_no_text_holds_the_end_of_a_fence(text: str, task: str) -> None:
    prompt = prompt_block(text, task=task)
    for end in re.findall(r"^</(?:handoff|task)-[0-9a-f]{12,}>$", prompt, re.MULTILINE):
        assert prompt.count(end) == 1


def test_bom_and_nuls_are_taken_off() -> None:
    prompt = prompt_block("\ufeffa\x00b")
    assert "\nab\n" in prompt


def test_placeholders_in_the_document_stay_as_they_are() -> None:
    assert "use {words} and {document}" in prompt_block("use {words} and {document}", task="say {path}")


def test_the_path_is_told_on_one_line() -> None:
    assert "`notes/交接-a b.md`" in prompt_block(DOCUMENT, path="notes/交接-a\nb.md")
    assert "no file of it on the disk" in prompt_block(DOCUMENT)


def test_without_a_task_there_are_no_words_of_the_user() -> None:
    assert "<task-" not in prompt_block(DOCUMENT, task=" \n")


def test_short_words_are_given_whole() -> None:
    task = "Port the tests.\n\n## 2026-11-29T16:05:12Z · say\n\nUse pytest."
    assert f"\n{task}\n" in prompt_block(DOCUMENT, task=task)


def test_the_middle_texts_are_left_out_first() -> None:
    texts = [f"## 2026-11-29T16:0{at}:00Z · say\n\n{str(at) * 900}" for at in range(1, 9)]
    shown = shown_words("\n\n".join(["the first text", *texts]))
    assert shown.startswith("the first text\n\n[")
    assert shown.endswith("8" * 900)
    assert "4" * 900 not in shown
    assert "characters in 4 later texts left out here" in shown
    assert len(shown) <= 4000


def test_where_words_are_left_out_their_file_is_named() -> None:
    place = "all of them are in `notes/任务-a.md`"
    assert place in prompt_block(DOCUMENT, path="notes/交接-a.md", task="x" * 9000)
    assert place not in prompt_block(DOCUMENT, path="notes/交接-a.md", task="x")
    assert "all of them are in `" not in prompt_block(DOCUMENT, task="x" * 9000)


def test_of_one_long_text_both_ends_stay() -> None:
    shown = shown_words("begin " + "x" * 9000 + " end")
    assert shown.startswith("begin ")
    assert shown.endswith(" end")
    assert "left out here" in shown
    assert len(shown) <= 4000


def test_a_long_first_text_does_not_push_the_newest_out() -> None:
    shown = shown_words("a" * 9000 + "\n\n## now · interrupt\n\nstop that")
    assert shown.endswith("stop that")
    assert shown.startswith("aaa")
    assert len(shown) <= 4000


@settings(max_examples=200, deadline=None, database=None)
@given(st.lists(st.integers(1, 6000), min_size=1, max_size=8))
def test_words_never_take_more_than_their_room(sizes: list[int]) -> None:
    entries = [("" if at == 0 else f"## t{at} · flower\n\n") + "w" * size for at, size in enumerate(sizes)]
    shown = shown_words("\n\n".join(entries))
    assert len(shown) <= 4000
    kept = [int(found) for found in re.findall(r"^## t(\d+) · flower$", shown, re.MULTILINE)]
    assert all(later == earlier + 1 for earlier, later in pairwise(kept))
    assert not kept or kept[-1] == len(sizes) - 1
