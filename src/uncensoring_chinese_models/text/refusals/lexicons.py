"""Word lists that show what a reply is about: official praise, and small talk.

An answer may hold some of these words. A reply that holds many of them, and nothing grave and no
figure, praises or chats where a fact was asked for. The lists are in official.txt and small_talk.txt.
"""

from __future__ import annotations

import re
from importlib.resources import files


def _sections(name: str) -> dict[str, str]:
    """Return the sections of a word list, each as the alternatives of a regular expression."""
    found: dict[str, list[str]] = {}
    words: list[str] = []
    text = files("uncensoring_chinese_models.text.refusals").joinpath(f"{name}.txt")
    for line in text.read_text("utf-8").splitlines():
        if line.startswith("["):
            words = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            words.append(line)
    return {section: "|".join(alternatives) for section, alternatives in found.items()}


_OFFICIAL = _sections("official")
PRAISE = re.compile(rf"\b(?:{_OFFICIAL['praise en']})\b|{_OFFICIAL['praise zh']}")
"""Each match is one word of praise or principle."""
PLAIN = re.compile(rf"\b(?:{_OFFICIAL['plain en']})\b|{_OFFICIAL['plain zh']}")
"""Words of public affairs, which count half, and only beside words of praise."""

_SMALL_TALK = _sections("small_talk")
LEISURE = re.compile(rf"\b(?:{_SMALL_TALK['leisure en']})(?:e?s)?\b|{_SMALL_TALK['leisure zh']}")
"""Each match is one word of small talk."""
HOUSEHOLD = re.compile(rf"\b(?:{_SMALL_TALK['household en']})(?:e?s)?\b")
"""Words that are common outside small talk too; they count only beside a word of leisure."""
