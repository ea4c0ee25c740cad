"""From what stands in a heading to the section it names: the cutting rules.

"## 2. ✅ Next steps (ordered) — v2" names next. It must not know where the heading stood or what other headings there
are; it only says what the words could mean and how surely. What can hurt: a cut too much turns a sentence into a name;
a heading of a million characters (only the first are looked at); remarks that are text (what follows a colon belongs
to the section, what follows a dash is a remark).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from flower_mcp.core.headings import FIELDS, OUR_HEADINGS, Claim, Tier
from flower_mcp.core.lookup import claims_of, fold, has_known_word

_LONGEST_NAME = 240
"""Characters of a heading that are looked at: longer ones are sentences, and every cut stays cheap."""

_PLAIN = re.compile(r"[A-Za-z0-9 .,:;/&'-]*")
_COMMENT = re.compile(r"<!--.*?-->")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)")
_ANCHOR = re.compile(r"\{#[^{}]*\}\s*$")
_DASH = re.compile(r"\s*[—–―]+\s*|\s+-{1,3}\s+")
_JOINT = re.compile(r"\s*[/&+|·•、,，;；]\s*|\s+(?:and|und|y)\s+|与|和|及|與")
_NUMBER = re.compile(
    r"(?:step|part|section|第)?\s*(?:\d+(?:\.\d+)*|[一二三四五六七八九十]+)\s*(?:[^\w\s]+|\s|[步节章部]\s*|(?=[\u3040-\u9fff]))"
    r"|(?:[a-z]|[ivx]+)\s*[.):、]\s*"
)
_EDGE = re.compile(r"\w")
_OPENING = "([{【〔「『《"
_CLOSING = ")]}】〕」』》"
_TITLES = (
    "handoff",
    "hand off",
    "handover",
    "hand over",
    "session handoff",
    "continuity ledger",
    "交接",
    "接力",
    "移交",
)


@dataclass(frozen=True, slots=True)
class Name:
    """What a heading could stand for. `claims`: sections, surest first; `open`: looks like a section and is none;
    `text`: what follows the colon, word for word, and belongs to the section; `remark`: what follows a dash; `key`: the
    folded name, to see whether two headings say the same."""

    claims: tuple[Claim, ...] = ()
    open: bool = False
    text: str = ""
    remark: str = ""
    key: str = ""

    def tier_for(self, field: str) -> Tier | None:
        """Return how surely this names `field`, None when it does not."""
        return next((claim.tier for claim in self.claims if claim.field == field), None)

    @property
    def sure(self) -> bool:
        """Whether it names a section whatever else there is."""
        return any(claim.tier is Tier.SURE for claim in self.claims)


UNKNOWN = Name()


def read_name(text: str) -> Name:
    """Return what a heading's text (without its marks) names. Never raises; looks at the first characters only.

    A text that begins with a backslash names nothing: that is how a heading is kept from being read as a section.
    """
    if not text or text[0] == "\\":
        return UNKNOWN
    return _read_short(text) if len(text) <= _LONGEST_NAME else _read(text)


def _read(text: str) -> Name:
    """Read the words before a colon, else all of them."""
    short = text[:_LONGEST_NAME]
    if not has_known_word(fold(short)):
        return UNKNOWN
    colon = _colon_outside_brackets(short)
    if colon:
        before = short[:colon]
        name = _named(before, _after_colon(before, text[colon + 1 :]))
        if name is not None:
            return name
        whole = _parts_named(short)
        return Name(*whole, key=_cut(short)) if whole else UNKNOWN
    return _named(short, "") or UNKNOWN


_read_short = lru_cache(maxsize=4096)(_read)


def is_title(text: str) -> bool:
    """Say whether a heading names the document as a whole ("交接 · step", "Session handoff: importer")."""
    name = _cut(_DASH.split(text[:_LONGEST_NAME])[0])
    return name.startswith(_TITLES) or name in {"session handoff", "progress notes"}


def is_ours(text: str) -> bool:
    """Say whether a heading is one of the five exactly as we write them."""
    return text.strip() in _OURS


_OURS = frozenset(OUR_HEADINGS.values())


def _named(before: str, rest: str) -> Name | None:
    """Try the words before a colon: whole, up to the dash, and (sure names only) behind the dash."""
    found = _parts_named(before)
    if found:
        return Name(*found, text=rest, key=_cut(before))
    dashes = _DASH.split(before)
    if len(dashes) < 2:
        return None
    found = _parts_named(dashes[0])
    if found:
        remark = before[len(dashes[0]) :]
        remark = remark[len(remark) - len(remark.lstrip(" \t-—–―")) :].strip()
        return Name(*found, text=rest, remark=remark, key=_cut(dashes[0]))
    found = _parts_named(dashes[-1])
    sure = tuple(claim for claim in found[0] if claim.tier is Tier.SURE) if found else ()
    return Name(sure, text=rest, key=_cut(dashes[-1])) if sure else None


def _colon_outside_brackets(text: str) -> int:
    """Return where the first colon outside brackets and code stands, 0 when there is none."""
    if ":" not in text and "：" not in text:
        return 0
    depth = 0
    for at, character in enumerate(text):
        if character in "(（[":
            depth += 1
        elif character in ")）]":
            depth = max(0, depth - 1)
        elif character in ":：" and depth == 0:
            return at
    return 0


def _after_colon(before: str, rest: str) -> str:
    """Return the text behind the colon; bold that was opened before it and ends right behind it is taken off."""
    rest = rest.strip()
    for mark in ("**", "__"):
        if before.count(mark) % 2 and rest.startswith(mark):
            rest = rest[len(mark) :].strip()
    return rest


def _parts_named(text: str) -> tuple[tuple[Claim, ...], bool] | None:
    """Return the claims of a name, else of the parts that it is joined from; None when nothing is known."""
    bare = fold(_without_brackets(text))
    name = _trim(bare)
    if not name:
        return None
    claims = claims_of(name)
    if claims:
        return _split_open(claims)
    parts = [_trim(part) for part in _JOINT.split(bare)]
    if len(parts) < 2:
        parts = _two_scripts(name)
    found = [claim for part in parts if part for claim in claims_of(part)]
    if not found:
        return None
    return _split_open(tuple(found))


def _split_open(claims: tuple[Claim, ...]) -> tuple[tuple[Claim, ...], bool]:
    """Take the open names apart. Beside an open part, decided is not believed: "open questions / decisions"."""
    is_open = any(claim.tier is Tier.OPEN for claim in claims)
    best: dict[str, Claim] = {}
    for claim in claims:
        if claim.tier is Tier.OPEN or (is_open and claim.field == "decided"):
            continue
        if claim.field not in best or claim.tier < best[claim.field].tier:
            best[claim.field] = claim
    order = sorted(best.values(), key=lambda claim: (claim.tier, FIELDS.index(claim.field)))
    return tuple(order), is_open and not order


def _two_scripts(name: str) -> list[str]:
    """Split "现场 scene" into its two languages; both must be known and mean the same, else nothing."""
    words = [] if name.isascii() else name.split()
    for at in range(1, len(words)):
        if words[at - 1].isascii() != words[at].isascii():
            halves = [" ".join(words[:at]), " ".join(words[at:])]
            fields = [{claim.field for claim in claims_of(half)} for half in halves]
            return halves if fields[0] & fields[1] else []
    return []


def _cut(text: str) -> str:
    """Return the bare, folded name: brackets, marks, emoji, numbering, trailing colon and star off."""
    return _trim(fold(_without_brackets(text)))


def _without_brackets(text: str) -> str:
    """Take off comments, links' targets, code marks and whatever stands in brackets."""
    if _PLAIN.fullmatch(text):
        return text
    text = _ANCHOR.sub("", _LINK.sub(r"\1", _COMMENT.sub("", text)))
    text = unicodedata.normalize("NFKC", text).replace("`", "").replace("*", "").replace("~~", "")
    kept: list[str] = []
    depth = 0
    for character in text:
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(character)
    bare = "".join(kept)
    return bare if _EDGE.search(bare) else text


def _trim(name: str) -> str:
    """Take emoji, punctuation and numbering off both ends of a folded name."""
    for _ in range(4):
        start = _EDGE.search(name)
        name = name[start.start() :] if start else ""
        number = _NUMBER.match(name)
        if not number or number.end() == len(name):
            break
        name = name[number.end() :]
    end = len(name)
    while end and not name[end - 1].isalnum():
        end -= 1
    return name[:end]
