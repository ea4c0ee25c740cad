"""Looking names up in the table of `headings.py`.

It must not know how a heading is cut down to a name (`names.py`). What can hurt: the table spelled out has some ten
thousand names, so it is built once, at the first question; a document of nothing but headings asks for each, so a
heading without any known word is answered at once.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from flower_mcp.core.headings import TABLE, Claim, Tier

_TRADITIONAL = (
    "現場決還過試沒務當狀態進後續計劃結構啟環檔關鍵錄總會話動規則約標問題遺離辦優項與隊嘗敗條紅線驗證運執"
    "順議應該這個們達樣誌單佈資訊專無爾開發實際測變數據庫儲雜誤錯導覽圖陣從間風險確認製記憶輸讀寫選擇斷備"
    "註經術產點礙勢頭說設緒階麼亂壞東處須終紀歷檢內區戶號碼類"
)
_SIMPLIFIED = (
    "现场决还过试没务当状态进后续计划结构启环档关键录总会话动规则约标问题遗离办优项与队尝败条红线验证运执"
    "顺议应该这个们达样志单布资讯专无尔开发实际测变数据库储杂误错导览图阵从间风险确认制记忆输读写选择断备"
    "注经术产点碍势头说设绪阶么乱坏东处须终纪历检内区户号码类"
)
_ALIKE = str.maketrans(
    {
        **dict(zip(_TRADITIONAL, _SIMPLIFIED, strict=True)),
        **dict.fromkeys("'’‘`´ʼ"),
        **dict.fromkeys("-‐‑‒_", " "),
    }
)


_WORD = re.compile(r"[a-z]+")


def fold(text: str) -> str:
    """Return `text` as names are compared: NFKC, lower case, simplified characters, no apostrophes, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(_ALIKE).replace("tl;dr", "tldr").split())


def claims_of(name: str) -> tuple[Claim, ...]:
    """Return what a folded name stands for, surest first: mostly nothing, seldom two ("Current state": doing, scene).

    An open name gives one claim with the tier OPEN.
    """
    index = _index()
    found = index.whole.get(name)
    if found is not None:
        return found
    if name.startswith(tuple(index.beginnings)):
        for beginning, claim in index.beginnings.items():
            if name.startswith(beginning) and _word_ends(name, len(beginning)):
                return (claim,)
    if name.endswith(tuple(index.endings)):
        return next((claim,) for ending, claim in index.endings.items() if name.endswith(ending))
    return ()


def has_known_word(folded: str) -> bool:
    """Say whether a folded text has a word of any known name: a quick no for the headings that name nothing."""
    words = _index().words
    if not words.isdisjoint(_WORD.findall(folded)):
        return True
    return not folded.isascii() and any(folded[at : at + 2] in words for at in range(len(folded) - 1))


def _word_ends(name: str, at: int) -> bool:
    """Say whether a word ends at `at`: next.js must not be found in next.jsonl; Chinese needs no space."""
    return at == len(name) or not name[at - 1].isascii() or not name[at].isalnum()


@dataclass(frozen=True, slots=True)
class _Index:
    """The table spelled out: whole names, beginnings, endings, and the words (Chinese: pairs) that occur in them."""

    whole: dict[str, tuple[Claim, ...]]
    beginnings: dict[str, Claim]
    endings: dict[str, Claim]
    words: frozenset[str]


@cache
def _index() -> _Index:
    """Spell the table out. Done at the first question."""
    whole: dict[str, tuple[Claim, ...]] = {}
    beginnings: dict[str, Claim] = {}
    endings: dict[str, Claim] = {}
    for field, tier, row in sorted(TABLE, key=lambda entry: 0 if entry[1] is Tier.OPEN else entry[1]):
        claim = Claim(field, tier)
        alone = (claim,)
        for pattern in map(str.strip, row.split(";")):
            names = _spellings(_folded(pattern))
            if pattern.endswith("…"):
                beginnings.update((name, claim) for name in names if name not in beginnings)
            elif pattern.startswith("…"):
                endings.update((name, claim) for name in names if name not in endings)
            else:
                for name in names:
                    known = whole.setdefault(name, alone)
                    if known is not alone and all(other.field != field for other in known):
                        whole[name] = (*known, claim)
    whole.pop("", None)
    parts = set(" ".join((*whole, *beginnings, *endings)).split())
    return _Index(whole, beginnings, endings, frozenset(word for part in parts for word in _words(part)))


def _folded(pattern: str) -> str:
    """Return a pattern whose names are all folded; folding each of the ten thousand by itself takes longest.

    No character of the table is one that folding joins with the one before it, so it is the same.
    """
    return fold(pattern.replace("…", ""))


def _words(part: str) -> list[str]:
    """Return the Latin words of a name's part without spaces, and for other scripts its first two characters."""
    return [*_WORD.findall(part), *([] if part.isascii() else [part[:2]])]


def _spellings(pattern: str) -> list[str]:
    """Return all names that a pattern of the table stands for."""
    parts: list[list[str]] = []
    for piece in re.split(r"(\([^)]*\)|\{[^}]*\})", pattern):
        choices = [one.strip() for one in piece[1:-1].split("|")] if piece[:1] in {"(", "{"} else [piece]
        parts.append([*choices, ""] if piece.startswith("(") else choices)
    joined = map("".join, itertools.product(*parts))
    return [" ".join(name.split()) if "  " in name else name.strip() for name in joined]
