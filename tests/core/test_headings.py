"""Names of sections: what a heading's words stand for."""

from __future__ import annotations

import pytest

from flower_mcp.core.headings import FIELDS, OUR_HEADINGS, TABLE, Tier
from flower_mcp.core.lookup import claims_of
from flower_mcp.core.names import is_title, read_name

SURE = {
    "doing": [
        "Doing", "Doing now", "现在在做", "现在在做什么", "現在在做", "正在做", "进行中", "当前任务",
        "手头的事", "Current task", "Current Progress", "Task(s)", "Where We Are", "What we were working on",
        "In progress", "🔨 现在在做*", "1. 现在在做", "现在在做 / Doing", "**1. Doing**", "Ｄｏｉｎｇ",
    ],
    "decided": [
        "Decided", "已定的事", "已经定下的", "已決定", "已确定决策", "关键决策", "Key decisions",
        "Decisions made", "Decisions Made (each + why)", "二、已定的事", "关键发现与决策", "✅ 已定的事",
        "重要な技術的決定", "핵심 결정 사항",
    ],
    "deadends": [
        "Dead ends", "Dead ends — do not retry", "走不通的", "走不通的路", "试过不行的", "試過但放棄的手段",
        "已试过且明确 NG 的方法", "已排除的假设", "What didn’t work", "What We Tried",
        "Failed approaches (do not retry)", "Ruled out", "Dead ends（走不通的）", "(3) 走不通的",
        "Approaches Rejected", "What Failed",
    ],
    "next": [
        "Next", "Next* (required)", "Next:", "下一步", "下一步 (Next)", "④ 下一步", "接下来", "待办",
        "待辦優先序", "接手顺序", "Next Steps (ordered)", "Immediate next steps", "What's next?",
        "Where We're Going", "Action Items & Next Steps", "What to Do Next — v2.0 Improvement Pass",
        "v0.6 批量导入 — 前置待办", "6. 待办事项与后续阶段演进 (Roadmap)", "次のステップ", "Step 1 — Next",
        "Nächste Schritte", "1️⃣ Next",
    ],
    "scene": [
        "Scene", "现场", "現場", "现场 Scene", "5) 现场", "📍 现场",
        "Files Changed (by area; details in the commits)", "Key files", "Working set (files/ids/commands)",
        "Artifacts", "Quick Start for Next Session", "启动命令", "常用命令", "环境变量", "关键文件",
        "项目结构", "Umgebung", "Files to read first",
    ],
}  # fmt: skip

WIDE = [
    ("Status", "doing", Tier.A), ("当前状态", "doing", Tier.A), ("现状", "doing", Tier.A),
    ("Summary", "doing", Tier.B), ("TL;DR", "doing", Tier.B), ("Recent changes", "doing", Tier.B),
    ("Goal", "doing", Tier.C), ("Done", "doing", Tier.C), ("Roadmap", "next", Tier.A),
    ("TODO", "next", Tier.A), ("Offen", "next", Tier.A), ("未决/在途", "next", Tier.A),
    ("Resume prompt", "next", Tier.A), ("Constraints/Assumptions", "decided", Tier.A),
    ("绝对红线", "decided", Tier.A),
    ("Feste Regeln (Auszug, vollständig in `docs/regeln.md` und", "decided", Tier.A),
    ("Now", "doing", Tier.LOCAL), ("Current state", "scene", Tier.A), ("Current state", "doing", Tier.A),
]  # fmt: skip

OPEN = [
    "Open questions", "Open decisions", "Deferred design decisions", "Blockers", "Risks & Blockers",
    "Known issues / gotchas", "What Worked", "Other Notes", "Learnings", "Gotchas (current)",
    "Next.js dev server", "Nextcloud", "待决策", "已知问题", "注意事项", "踩坑记录",
    "open questions / decisions",
]  # fmt: skip

UNKNOWN = [
    "", "Post-Mortem (Required for the index)", "What this repo is", "Priority 1: compare", "\\Next",
    "Next.jsonl", "42", "给下一次模型的接续提示词", "nextjsx", "走不通的话怎么办", "12:30 standup",
    "Was das ist", "的", "()", "— — —",
]  # fmt: skip


@pytest.mark.parametrize(("field", "words"), [(field, words) for field in SURE for words in SURE[field]])
def test_a_sure_name_is_known_however_it_is_dressed(field: str, words: str) -> None:
    assert read_name(words).tier_for(field) is Tier.SURE


@pytest.mark.parametrize(("words", "field", "tier"), WIDE)
def test_a_wide_name_is_known_and_less_sure(words: str, field: str, tier: Tier) -> None:
    assert read_name(words).tier_for(field) is tier


@pytest.mark.parametrize("words", OPEN)
def test_an_open_name_names_no_section(words: str) -> None:
    assert read_name(words).open
    assert read_name(words).claims == ()


@pytest.mark.parametrize("words", UNKNOWN)
def test_other_words_name_nothing(words: str) -> None:
    assert not read_name(words).open
    assert read_name(words).claims == ()


def test_a_name_may_stand_for_both_required_sections() -> None:
    name = read_name("Status & next steps")
    assert (name.tier_for("next"), name.tier_for("doing")) == (Tier.SURE, Tier.A)


def test_what_follows_a_colon_is_text_and_what_follows_a_dash_is_a_remark() -> None:
    assert read_name("Where we are: **the ramp is NOT merged**").text == "**the ramp is NOT merged**"
    assert read_name("**Where we are:** half way").text == "half way"
    assert read_name("Next step — ⚠️ **waiting** (ask)").remark == "⚠️ **waiting** (ask)"


def test_our_own_headings_are_sure() -> None:
    for field in FIELDS:
        assert read_name(OUR_HEADINGS[field]).claims[0].field == field
        assert read_name(OUR_HEADINGS[field]).sure


def test_a_title_is_told_from_a_section() -> None:
    assert is_title("交接 · next")
    assert is_title("HANDOFF — Kursplaner")
    assert not is_title("Next")


def test_a_very_long_heading_is_only_looked_at_from_its_beginning() -> None:
    assert read_name("Next: " + "x" * 100_000).text == "x" * 100_000
    assert read_name("(" * 100_000).claims == ()


def test_every_row_of_the_table_names_a_field_or_is_open() -> None:
    assert {field for field, _, _ in TABLE} == {*FIELDS, ""}
    assert all((tier is Tier.OPEN) == (field == "") for field, tier, _ in TABLE)


def test_no_name_is_sure_for_two_sections() -> None:
    from flower_mcp.core.lookup import _index

    sure = (Tier.SURE, Tier.LOCAL)
    both = [name for name, claims in _index().whole.items() if sum(claim.tier in sure for claim in claims) > 1]
    assert both == []
    assert claims_of("next")[0].field == "next"
