"""When a usage limit is reset, as the words of a refusal say it.

Pure: the time and the zones are passed in, and nothing is looked up. It must be fed an error's own words alone. What
can hurt: a time of day has no date. The next one is meant, but a moment that has only just passed is not tomorrow's.

The texts are the CLI's own ("You've hit your weekly limit · resets Dec 5, 5:02am (UTC)", seen with 2.1.332), those of
its older builds ("usage limit reached|1766502000") and of gateways ("limit will reset at 3pm", "try again in 2 hours").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

JUST_PASSED = timedelta(minutes=30)  # a time of day that passed less than this ago is the reset itself, not tomorrow's
READ = 2_000  # characters of an error that are looked at

Zones = Callable[[str], tzinfo | None]  # a zone by its name, "" for the machine's own; None for one that is not known

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_EPOCH = re.compile(r"\|(\d{10})\b")
_ISO = re.compile(r"resets? (?:at )?(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)", re.I)
_SPAN = re.compile(r"\b(?:resets?|again) in ((?:(?:and )?\d{1,6} ?(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b[, ]*){1,4})", re.I)  # noqa: E501  # fmt: skip
_PART = re.compile(r"(\d+) ?([dhms])", re.I)
_CLOCK = re.compile(
    r"resets? (?:at |on )?(?:(?P<month>[a-z]{3})[a-z]{0,6} (?P<day>\d{1,2})(?:, (?P<year>\d{4}))?,? (?:at )?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap])\.?m\b\.?(?: ?\((?P<zone>[\w+\-/]{1,60})\))?",
    re.IGNORECASE,
)


def reset_in(words: str, now: float, zones: Zones) -> float | None:
    """The moment in seconds since the epoch, as `now`; None when the words name none."""
    words = words[:READ]
    if found := _EPOCH.search(words):
        return float(found[1])
    if found := _ISO.search(words):
        return _iso(found[1], zones)
    if found := _SPAN.search(words):
        return now + sum(int(number) * _UNITS[unit.lower()] for number, unit in _PART.findall(found[1]))
    found = _CLOCK.search(words)
    return None if found is None else _by_clock(found, now, zones)


def _iso(text: str, zones: Zones) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zones("") or UTC)).timestamp()


def _by_clock(found: re.Match[str], now: float, zones: Zones) -> float | None:
    """The next time that a clock in that zone shows it; on a day that is named, that day's."""
    zone = zones(found["zone"] or "")
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if zone is None or not 1 <= hour <= 12 or minute > 59:
        return None
    hour = hour % 12 + (12 if found["half"].lower() == "p" else 0)
    today = datetime.fromtimestamp(now, zone)
    moment = today.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if found["month"] is None:
        return (moment + timedelta(days=1) if moment < today - JUST_PASSED else moment).timestamp()
    month = found["month"].lower()
    if month not in _MONTHS:
        return None
    try:
        moment = moment.replace(
            year=int(found["year"] or today.year), month=_MONTHS.index(month) + 1, day=int(found["day"])
        )
        is_next_year = found["year"] is None and moment < today - timedelta(days=1)
        return (moment.replace(year=today.year + 1) if is_next_year else moment).timestamp()
    except ValueError:  # no such day
        return None
