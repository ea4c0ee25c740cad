"""The prompts are complete, say what they must, and reach the model as they were written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import flower_mcp
from flower_mcp.core import texts
from flower_mcp.core.texts import NAMES, PromptMissing, ValueMissing

ROOT = Path(__file__).parents[2]
PLACEHOLDERS = {
    "handoff": {"used", "window"},
    "turn": set(),
    "facts": {"facts"},
    "again": {"missing"},
    "takeover": {"path", "words", "document"},
    "session": set(),
    "continue": set(),
    "stopped": set(),
    "retry": set(),
    "late": {"path", "changes"},
    "rewound": {"requests"},
    "said": {"words"},
    "unknown": {"path"},
    "waiting": {"step", "written"},
    "pointer": {"step", "written", "path"},
    "others": {"steps"},
    "running": {"step", "state"},
    "stranger": {"path", "command"},
    "due": {"used", "window"},
    "compacting": {"path", "written"},
}
HEADINGS = [
    "## 现在在做 · Doing now",
    "## 已定的事 · Decided",
    "## 走不通的 · Dead ends",
    "## 下一步 · Next",
    "## 现场 · Scene",
]


def sentences(text: str) -> list[str]:
    """Cut a prompt into its sentences and headings; what is a placeholder and nothing else is left out."""
    found = []
    for line in text.splitlines():
        parts = re.split(r'(?<=[.!?"])\s+(?=[A-Z{"])', line.removeprefix("- "))
        found += [part for part in parts if part and not re.fullmatch(r"\{[a-z_]+\}", part)]
    return found


def reasons(name: str) -> list[str]:
    """Return the beginnings of sentences for which docs/decisions.md gives a reason, in its order."""
    page = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    part = page.split(f"### prompts/{name}.md\n", 1)[1].split("\n### ", 1)[0]
    return re.findall(r"^\| `([^`]+)` \| \S", part, flags=re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_rendered_prompt_has_every_placeholder_filled(name: str) -> None:
    assert texts.placeholders(name) == PLACEHOLDERS[name]
    values = {placeholder: f"<value of {placeholder}>" for placeholder in PLACEHOLDERS[name]}
    rendered = texts.render(name, values)
    assert "{" not in rendered
    assert "}" not in rendered
    for value in values.values():
        assert value in rendered


@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_of_a_prompt_has_its_reason_in_the_docs_and_no_reason_lacks_its_sentence(name: str) -> None:
    found, given = sentences(texts.load(name)), reasons(name)
    without_reason = [sentence for sentence in found if not any(sentence.startswith(start) for start in given)]
    without_sentence = [start for start in given if not any(sentence.startswith(start) for sentence in found)]
    assert found
    assert (without_reason, without_sentence) == ([], [])


def test_the_folder_holds_the_named_prompts_and_no_others() -> None:
    assert sorted(path.name for path in (ROOT / "prompts").iterdir()) == sorted(f"{name}.md" for name in NAMES)


def test_values_go_in_word_for_word_even_if_they_look_like_placeholders_or_escapes() -> None:
    awkward = r"{words} {path} {used} \1 \g<0> $& {}"
    rendered = texts.render("takeover", {"path": "{document}", "words": "{path}{document}", "document": awkward})
    assert rendered.endswith("\n\n{path}{document}\n\n" + awkward)
    assert rendered.count(awkward) == 1


def test_a_placeholder_without_a_value_is_named_in_the_error() -> None:
    with pytest.raises(ValueMissing, match=r"'handoff'.*\{window\}") as caught:
        texts.render("handoff", {"used": "152.0K"})
    assert isinstance(caught.value, KeyError)
    assert (caught.value.prompt, caught.value.placeholder) == ("handoff", "window")


@pytest.mark.parametrize("name", ["", "handof", "../README", "handoff.md"])
def test_an_unknown_prompt_is_refused_with_the_names_that_there_are(name: str) -> None:
    with pytest.raises(PromptMissing, match=", ".join(NAMES)):
        texts.load(name)


def test_the_public_constant_is_the_handoff_prompt_and_takes_its_two_figures_either_way() -> None:
    values = {"used": "152.0K", "window": "200K"}
    assert texts.handoff_prompt() == flower_mcp.HANDOFF_PROMPT
    assert flower_mcp.HANDOFF_PROMPT.format(**values) == texts.render("handoff", values)
    assert "holds 152.0K of its 200K tokens" in texts.render("handoff", values)
    with pytest.raises(AttributeError, match="HANDOFF_PROMPTS"):
        _ = texts.HANDOFF_PROMPTS  # type: ignore[attr-defined]


def test_the_handoff_prompt_names_the_five_headings_in_order_and_what_the_sections_need() -> None:
    prompt = texts.handoff_prompt()
    assert [line for line in prompt.splitlines() if line.startswith("#")] == HEADINGS
    dead_ends = prompt.split("Dead ends\n", 1)[1].split("\n## ", 1)[0]
    assert "HT002" in dead_ends
    assert "optimist" in dead_ends
    for needed in ("(空)", "6,000 characters", "language the user used", "`write_handoff`", "Work stops here"):
        assert needed in prompt
    assert prompt.count("Required.") == 2
    assert len(prompt) < 6_000


def test_what_holds_in_a_supervised_session_alone_is_not_in_the_prompt_that_clients_get() -> None:
    """A plugin's tool has another name, nothing is refused there, and only the person ends the session."""
    prompt, figures = texts.handoff_prompt(), {"used": "152.0K", "window": "200K"}
    for wrong in ("mcp__flower__", "refused", "closed"):
        assert wrong not in prompt
    sent = texts.handoff_turn(**figures)
    assert sent.startswith(f"{texts.render('handoff', figures)}\n\n")
    for needed in ("mcp__flower__", "refused", "closed"):
        assert needed in sent


def test_the_takeover_puts_the_document_last_and_names_the_mark_of_a_degraded_one() -> None:
    prompt = texts.load("takeover")
    assert prompt.endswith("\n{words}\n\n{document}")
    assert flower_mcp.DEGRADED in prompt


def test_what_every_session_pays_for_stays_short() -> None:
    assert len(texts.load("session")) <= 1_000
    assert len(texts.load("continue")) <= 1_000


@pytest.mark.parametrize(
    ("tokens", "shown"), [(0, "0.0K"), (320, "0.3K"), (152_000, "152.0K"), (96_449, "96.4K"), (999_960, "1000.0K")]
)
def test_a_context_is_shown_in_k_with_one_decimal(tokens: int, shown: str) -> None:
    assert texts.used_text(tokens) == shown


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [(500, "500"), (1_000, "1K"), (131_072, "131K"), (200_000, "200K"), (1_000_000, "1000K"), (1_048_576, "1049K")],
)
def test_a_window_is_shown_in_whole_k_and_never_in_m(tokens: int, shown: str) -> None:
    assert texts.window_text(tokens) == shown
