"""Does an error text say that the context window is full?

Pure text in, verdicts out: `is_overflow`, `is_media_limit`, `stated_limit`, `blames_output`.

It must not know where a text came from. The caller passes error text alone (an error result, an exception, standard
error) and looks at structure first: status 429 and 529, stop reasons, the measured context. Prose that quotes an error
is told from the error only where the text itself shows it, so no assistant text and no tool result belongs in here.

What can hurt: a missed overflow sends the same oversized request again and again; a false alarm throws a context away.
The rules therefore name a subject (prompt, input, context), an excess (exceeds, too long) and what is not a context
(max_tokens, a tool's result, bytes), instead of listing messages. Every pattern is bounded and only the two ends of a
long text are read, so time does not grow with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_END_CHARACTERS: Final = 32 * 1024  # the error stands at one end of a long log; the middle is payload
_CLAUSE_CHARACTERS: Final = 120  # how far from the word "exceeds" its subject and its object are looked for
_HINTS_READ: Final = 20  # of each, at either end; an error says "exceeds" a few times, only a data dump more often
_NEAR: Final = 160  # characters around a hint in which its phrase lies; the longest has some 90
_SMALLEST_LIMIT: Final = 256  # tokens; smaller numbers are counts, codes or versions
_LARGEST_LIMIT: Final = 100_000_000  # tokens

# --- what makes a text something else, whatever else it says -----------------------------------------------------

_OTHER_CAUSES: Final = (
    # waiting helps, a new session does not
    "rate limit", "rate-limited", "ratelimiterror", "throttl", "too many requests", "per min", "per day", "per hour",
    "per second", "(tpm)", "(tpd)", "quota", "resource exhausted", "please wait", "cooling down", "cooldown",
    "usage limit", "weekly limit", "spend limit", "限流", "频率", "速率", "每分钟", "每天", "额度",
    # only the account's owner can help
    "billing", "payment", "credit balance", "insufficient credit", "insufficient balance", "insufficient funds",
    "extra usage", "余额", "欠费",
)  # fmt: skip
_OTHER_STATUS: Final = re.compile(r"(?:^|error|code|status|http|rejected)[ \"':=(]{0,4}(?:429|529|402)\b(?! tokens?\b)")
_OTHER_NUMBERS: Final = ("429", "529", "402")
_TOLD_AFTERWARDS: Final = re.compile(r"已改|改成|改为|上一轮|上一次|上次")
_QUOTED_IN_PROSE: Final = re.compile(
    r"(?<=[\w:] )([\"`“])(?=[^\s\"`]{1,60} )[^\"`“”\n]{8,300}[\"`”](?=,? [a-z])"
    r"(?!,? (?:for|from|in|on|at|by|via|while|when|during|after)\b)"  # '"…" for model x' is still the error
)
_QUOTES: Final = ('"', "`", "“")
_SOURCE_LISTING: Final = re.compile(
    r"^[ \t]{0,8}[\w./\\-]{1,200}\.\w{1,5}:\d{1,7}:[^\n]{0,400}[,;({)\[][ \t]{0,8}$", re.MULTILINE
)

# --- the parts of "the prompt exceeds the window" ----------------------------------------------------------------

_EXCESS: Final = re.compile(
    r"exceed|too (?:long|large|big)\b"
    r"|(?<!must be )(?<!should be )(?:longer|larger|greater|bigger|more) than|over the (?:limit|maximum)"
    r"|(?<!stack)(?<!stack )(?<!buffer )overflow"
    r"|must (?:be|have) (?:<=|less than|at most|no more than|fewer than)"
)
_EXCESS_HINTS: Final = (
    "exceed", "too long", "too large", "too big", "er than", "more than", "over the ", "overflow", "must be ",
    "must have ",
)  # fmt: skip
_WINDOW: Final = re.compile(r"context|\bn ctx\b|max (?:model|seq) len|sequence length|maximum model length")
_NOUN: Final = re.compile(
    r"(?P<output>\b(?:max(?:imum)?(?: new| output| completion| total)? tokens|budget tokens|outputs?|responses?"
    r"|completions?|results?|tools?|files?|uploads?|attachments?|images?|media|pdfs?|pages?|body|payload|array|string"
    r"|name|path|header|url|uri|arguments?|command|field|rate|timeout|time|deadline|attempts|retries|turns|budget)\b)"
    r"|(?P<prompt>context|n ctx|\b(?:prompts?|conversations?|chat|history|(?:inputs?|messages?)(?! ?[:.]))\b)"
    r"|(?P<request>\b(?:requests?|query|text)\b)"
)
_JOINED: Final = re.compile(r"\b(?:prompt|input|messages?)s?\b.{0,40}(?:\band|\+|\bplus) {0,2}$")
_TOKENS: Final = re.compile(r"\btokens\b|\btoken (?:count|limit)\b")
_SIZE_UNIT: Final = re.compile(r"\d ?(?:[kmg]i?b|bytes?|pixels?|px|pages?|pdf pages)\b|\bmaximum size\b|\bupload limit")
_CLAUSE_END: Final = re.compile(r"[\"{}\n。!?]|\. ")

_WHOLE_PHRASES: Final = re.compile(
    r"(?:max|maximum|configured|available) (?:allowed )?(?:context|prompt|input) (?:length|size|window|limit|tokens)"
    r"|range of (?:input|prompt) length"
    r"|(?:reduce|shorten) (?:the (?:length|size) of )?(?:the|your) (?:messages|prompt|input|conversation|context)"
    r"|context (?:window|length|size|limit) (?:is )?(?:full|reached)"
    r"|reached (?:its|the) (?:maximum length|(?:context|conversation)(?: window| length)? limit)"
    r"|(?:out of (?:room |space )?|no (?:room|space) )(?:left )?(?:in )?(?:the )?(?:model's )?context(?!\w)"
    r"|context (?:window|length|size|limit) (?:is|of) (?:only )?[\d,]{3,12}k? tokens"
    r"|too many (?:input|prompt) tokens|too many total text bytes|tokens limit reached"
    r"|(?:input|prompt) token count is [\d,]{1,12} but|max(?:imum)? size: [\d,]{1,12} tokens"
)
_WHOLE_HINTS: Final = (
    *(f"{a} {b}" for a in ("context", "prompt", "input") for b in ("length", "size", "window", "limit", "token")),
    "reduce the", "reduce your", "shorten the", "shorten your", "reached its", "reached the", "out of ", "no room",
    "no space", "too many ", "token count", "tokens limit", "size: ",
)  # fmt: skip
_CHINESE: Final = re.compile(
    r"(?:上下文|提示词|提示詞|输入|輸入|对话|對話|会话|消息|prompt|(?<!max )(?<!输出)(?<!输出 )tokens?)"
    r"[^，。；\n\"]{0,12}?"
    r"(?:超长|超長|过长|過長|太长|太長|超出|超过|超過|超限|已满)"
    r"|(?:超出|超过|超過)[^，。；\n\"]{0,12}?(?:上下文|token|输入长度|最大长度|窗口)"
    r"|(?:压缩|壓縮|缩短|减少|減少)[^，。；\n\"]{0,4}?(?:上下文|输入|輸入|对话|提示词)"
)
_CHINESE_HINTS: Final = ("超", "长", "長", "满", "压缩", "壓縮", "缩短", "减少", "減少")

_MEDIA: Final = re.compile(
    r"(?:^|error|code|status|http)[ \"':=(]{0,4}413\b|\b413 request entity"
    r"|(?:request|payload|body|entity)(?: entity| body)? (?:is )?too (?:large|big)"
    r"|request (?:body |payload |size ){0,2}exceeds (?:the )?(?:maximum|upload|limit)"
    r"|\b(?:images?|pdf|media|attachment|video)\b[^\n]{0,80}"
    r"(?:exceed|too (?:large|big|many)|larger than|maximum|at most)"
    r"|(?:maximum|at most|more than|exceed|too many)[^\n]{0,40}\b(?:images|pdf|pages|pixels)\b"
    r"|\bfile\b[^\n]{0,80}(?:exceed|too (?:large|big))[^\n]{0,40}\d ?(?:[kmg]i?b|bytes)\b"
    r"|could not process (?:image|pdf|document)"
)
_MEDIA_HINTS: Final = (
    "413", "request", "payload", "body", "entity", "image", "pdf", "media", "attach", "video", "pages", "file",
)  # fmt: skip

# --- the number that an overflow states --------------------------------------------------------------------------

_NUMBER: Final = r"(\d{1,3}(?:,\d{3}){1,3}|\d{1,9}(?:\.\d{1,3})?)([km]?)(?!\w|\.\d)"
_SCALE: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_LENGTH: Final = r"(?:length|window|size|limit|len|tokens)"
_IS: Final = r"(?: is| of|:|=)?[ (]{1,2}(?:only |at most )?"
_STATED_ANYWHERE: Final = (
    re.compile(rf"\bn ctx[\"']? ?[:=] ?{_NUMBER}"),
    re.compile(rf"\d[km]?(?: tokens?)? ?>=? ?{_NUMBER}"),
    re.compile(rf"{_NUMBER} maximum context"),
    re.compile(rf"(?:context|maximum model|max model|max seq|sequence) {_LENGTH}{_IS}{_NUMBER}"),
    re.compile(rf"max(?:imum)? (?:allowed )?(?:prompt |input )?{_LENGTH}{_IS}{_NUMBER}"),
    re.compile(rf"(?:limit|maximum|size)(?: is| of|:) {_NUMBER}"),
    re.compile(rf"(?:number of tokens allowed|supports up to|cannot exceed|<=|less than|at most)[ (]{{1,2}}{_NUMBER}"),
    re.compile(rf"\[[01], ?{_NUMBER}\]"),
)
_STATED_AFTER_EXCESS: Final = (
    *_STATED_ANYWHERE,
    re.compile(
        rf"(?:prompt|input|allowed|token|model) {_LENGTH}(?: size)?{_IS}{_NUMBER}(?!\)? exceed| tokens\)? exceed)"
    ),
    re.compile(rf"exceeds? (?:the )?(?:maximum |limit )?{_NUMBER} tokens"),
)
_PROMPT_AND_OUTPUT: Final = (
    re.compile(
        rf"{_NUMBER}(?: tokens)? (?:in|of|from) (?:the |your )?(?:text )?(?:messages?|prompt|input)\b[^)\n]{{0,60}}?"
        rf"{_NUMBER} (?:tokens )?(?:in|for|of) (?:the )?(?:completion|output)"
    ),
    re.compile(rf"exceed context limit: {_NUMBER} ?\+ ?{_NUMBER}"),
)


def is_overflow(*texts: object) -> bool:
    """Say whether one of these error texts means that the context window is full.

    Each text is judged alone. None counts as empty, bytes are decoded, anything else is taken as `str()` shows it; odd
    input never raises. Of a text over 64 Ki characters the first and the last 32 Ki are read. Limits of rate and money,
    limits on max_tokens alone, on a tool's result, on bytes, pixels and pages are no overflow.
    """
    return any(_says_overflow(_readable(text)) for text in texts)


def is_media_limit(*texts: object) -> bool:
    """Say whether one of these error texts refuses a body or an item of the history for its bytes, pixels or pages.

    Such an item stays in the history, so each later request of the session fails too, the one that would write a
    handoff included. A text that is an overflow (status 413 with a count of tokens) is not a media limit.
    """
    return any(_says_media_limit(_readable(text)) for text in texts)


def stated_limit(*texts: object) -> int | None:
    """Read the window, in tokens, that the first overflow among these texts states; None when none states one.

    "128k" is read as 128,000. Error codes, the size of the prompt and limits in bytes or of the output are not limits.
    """
    for text in texts:
        readable = _readable(text)
        if _says_overflow(readable) and (limit := _limit_in(readable)) is not None:
            return limit
    return None


def blames_output(text: object) -> bool:
    """Say whether an overflow's own numbers blame the answer that was asked for, max_tokens, and not the prompt.

    So it is when the prompt fills at most half of the stated limit and the two together do not fit. A new session asks
    for as much and fails alike. An overflow that states no such numbers blames nobody.
    """
    readable = _readable(text)
    parts = next((found for pattern in _PROMPT_AND_OUTPUT if (found := pattern.search(readable))), None)
    limit = _limit_in(readable)
    if parts is None or limit is None or not _says_overflow(readable):
        return False
    prompt, output = (_tokens(parts[at], parts[at + 1]) for at in (1, 3))
    return 2 * prompt <= limit < prompt + output


def _says_overflow(text: str) -> bool:
    found = any(_near(_WHOLE_PHRASES, text, _WHOLE_HINTS))
    found = found or (_holds(text, _CHINESE_HINTS) and _CHINESE.search(text) is not None and not _told_afterwards(text))
    found = found or any(_prompt_exceeds(text, excess) for excess in _near(_EXCESS, text, _EXCESS_HINTS, _NEAR // 4))
    return found and not _has_other_cause(text)


def _says_media_limit(text: str) -> bool:
    found = _holds(text, _MEDIA_HINTS) and _MEDIA.search(text) is not None
    return found and not _has_other_cause(text) and not _says_overflow(text)


def _told_afterwards(text: str) -> bool:
    return _TOLD_AFTERWARDS.search(text) is not None


def _near(pattern: re.Pattern[str], text: str, hints: tuple[str, ...], reach: int = _NEAR) -> Iterator[re.Match[str]]:
    """What a pattern finds near hints, in order: near the first and the last few of each, so in bounded time.

    Looking for a fixed text is a hundred times faster than looking for a pattern.
    """
    places = sorted({place for hint in hints for place in _places(text, hint)})
    read = -1
    for place in places:
        for found in pattern.finditer(text, max(0, read, place - reach), place + reach):
            read = max(read, found.end())
            yield found


def _places(text: str, hint: str) -> set[int]:
    """Where the first and the last few of a hint stand."""
    places: set[int] = set()
    place = text.find(hint)
    while place >= 0 and len(places) < _HINTS_READ:
        places.add(place)
        place = text.find(hint, place + len(hint))
    end = len(text)
    for _ in range(_HINTS_READ if place >= 0 else 0):
        end = text.rfind(hint, 0, end)
        places.add(end)
    return places


def _has_other_cause(text: str) -> bool:
    return _holds(text, _OTHER_CAUSES) or any(_near(_OTHER_STATUS, text, _OTHER_NUMBERS))


def _prompt_exceeds(text: str, excess: re.Match[str]) -> bool:
    """Judge one "exceeds" or "too long" by what stands before and after it in its clause."""
    before = _CLAUSE_END.split(text[max(0, excess.start() - _CLAUSE_CHARACTERS) : excess.start()])[-1]
    after = _CLAUSE_END.split(text[excess.end() : excess.end() + _CLAUSE_CHARACTERS], maxsplit=1)[0]
    if _SIZE_UNIT.search(after):
        return False
    if _WINDOW.search(after):
        return True
    nouns = list(_NOUN.finditer(before))
    if not nouns:
        return _TOKENS.search(before) is not None and not excess.group().startswith("too")
    nearest = nouns[-1]
    if nearest.lastgroup == "output":
        return _JOINED.search(before[: nearest.start()]) is not None
    return nearest.lastgroup == "prompt" or "token" in before or "token" in after


def _limit_in(text: str) -> int | None:
    if "bytes" in text:
        return None
    excess = next(_near(_EXCESS, text, _EXCESS_HINTS, _NEAR // 4), None)
    limit = _first_number(text[excess.start() :], _STATED_AFTER_EXCESS) if excess else None
    if limit is not None:
        return limit
    return _first_number(text, _STATED_ANYWHERE)


def _first_number(text: str, patterns: tuple[re.Pattern[str], ...]) -> int | None:
    for pattern in patterns:
        for found in pattern.finditer(text):
            limit = _tokens(found[1], found[2])
            if _SMALLEST_LIMIT <= limit <= _LARGEST_LIMIT:
                return limit
    return None


def _tokens(number: str, scale: str) -> int:
    return int(float(number.replace(",", "")) * _SCALE[scale])


def _holds(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)


def _readable(value: object) -> str:
    """Bring a text into the one form that the rules read: lower case, both ends, no escapes, no quoted stories."""
    text = _as_text(value)
    if len(text) > 2 * _END_CHARACTERS:
        text = text[:_END_CHARACTERS] + "\n" + text[-_END_CHARACTERS:]
    text = text.lower()
    if "\\" in text:
        text = _unescape(text)
    text = _SOURCE_LISTING.sub("", text)
    if _holds(text, _QUOTES):
        text = _QUOTED_IN_PROSE.sub(" ", text)
    text = text.replace("_", " ").replace("`", "").replace("’", "'")
    return text.replace("context deadline exceeded", "").replace("context canceled", "")


def _unescape(text: str) -> str:
    """Undo JSON's escapes at any depth: a gateway puts the provider's error into a string of its own."""
    text = re.sub(r"\\+", r"\\", text)
    text = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)
    return re.sub(r"\\[nrt](?![a-z])|\\n", "\n", text).replace("\\", "")


def _as_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        if len(value) > 2 * _END_CHARACTERS:
            value = value[:_END_CHARACTERS] + b"\n" + value[-_END_CHARACTERS:]
        return value.decode("utf-8", "replace")
    try:
        return str(value)
    except Exception:  # noqa: BLE001  (an error's own __str__ may fail, and a verdict must still be given)
        return ""
