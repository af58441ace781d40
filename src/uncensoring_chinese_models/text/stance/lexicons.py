"""Word lists that show what a reply is about: official praise, and small talk.

An answer may hold some of these words. A reply that holds many of them, and nothing grave and no
figure, praises or chats where a fact was asked for. The lists are in official.txt and small_talk.txt.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple


def _sections(name: str) -> dict[str, str]:
    """Return the sections of a word list, each as the alternatives of a regular expression."""
    found: dict[str, list[str]] = {}
    words: list[str] = []
    text = files("uncensoring_chinese_models.text.stance").joinpath(f"{name}.txt")
    for line in text.read_text("utf-8").splitlines():
        if line.startswith("["):
            words = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            words.append(line)
    return {section: "|".join(alternatives) for section, alternatives in found.items()}


class Lexicon(NamedTuple):
    """The word lists as patterns; each match is one word."""

    praise: re.Pattern[str]
    """Words of praise or principle."""
    plain: re.Pattern[str]
    """Words of public affairs, which count half, and only beside words of praise."""
    leisure: re.Pattern[str]
    """Words of small talk."""
    household: re.Pattern[str]
    """Words that are common outside small talk too; they count only beside a word of leisure."""


@cache
def lexicon() -> Lexicon:
    """Read the lists when they are first used: importing a module opens no file."""
    official, talk = _sections("official"), _sections("small_talk")
    return Lexicon(
        re.compile(rf"\b(?:{official['praise en']})\b|{official['praise zh']}"),
        re.compile(rf"\b(?:{official['plain en']})\b|{official['plain zh']}"),
        re.compile(rf"\b(?:{talk['leisure en']})(?:e?s)?\b|{talk['leisure zh']}"),
        re.compile(rf"\b(?:{talk['household en']})(?:e?s)?\b"),
    )
