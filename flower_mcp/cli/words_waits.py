"""The texts of a run that waits for the world, in English and in Chinese: a part of words.py's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "waits for reset": (
        "… {why}: waiting until {until}; to go on later instead: Ctrl-C, then {go_on}",
        "… {why}:等到 {until};想以后再接着做:Ctrl-C,以后 {go_on}",
    ),
    "waits for endpoint": (
        "… {address} cannot be reached since {since}: waiting for it until {until} at the latest",
        "… 从 {since} 起连不上 {address}:等它,最迟到 {until}",
    ),
    "waited": ("… waited {time}, going on", "… 等了 {time},接着做"),
    "waited in vain": ("… waited {time}, in vain", "… 等了 {time},白等了"),
}
