"""What the model of stances sees of a reply: its words, ends, length, and what it shares with the question.

A feature is a string. Most are runs of one to three words; an ideograph is a word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from math import log2
from typing import TYPE_CHECKING

from uncensoring_chinese_models.text.chinese import fold_script
from uncensoring_chinese_models.text.normalisation import IDEOGRAPH

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Stance

MAX_CHARS = 12_000
"""Of a longer reply the model reads the beginning and the end."""
END_CHARS = 2_000
"""Characters of the end that it reads of such a reply."""
HEAD_WORDS = 60
TAIL_WORDS = 30
"""Words of the beginning and of the end whose runs count once more, as such."""
MAX_RUN = 3
"""Words in the longest run."""

_WORD = re.compile(rf"[{IDEOGRAPH}]|[^\W\d_{IDEOGRAPH}]+(?:'[a-z]+)?|\d+|[?]")
_APOSTROPHES = dict.fromkeys(map(ord, "`\u00b4\u2018\u2019"), "'")


def features_of(reply: str, asked: str | None, wording: Stance | None) -> set[str]:
    """Return the features of a reply to a question; the question may be unknown.

    `wording` is the stance that a strong wording of the reply gives.
    """
    if len(reply) > MAX_CHARS:
        reply = f"{reply[: MAX_CHARS - END_CHARS]}\n{reply[-END_CHARS:]}"
    words = words_of(reply)
    features = set(_runs(words))
    features.update("H:" + run for run in _runs(words[:HEAD_WORDS]))
    features.update("T:" + run for run in _runs(words[-TAIL_WORDS:]))
    features.add(f"L:{round(2 * log2(len(words) + 1))}")
    if wording is not None:
        features.update(("W:", f"W:{wording}"))
    of_question = _words_of_question(asked) if asked else None
    if of_question:
        shared = len(of_question.intersection(words)) / len(of_question)
        features.add(f"R:{round(5 * shared)}")
    return features


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case and simplified characters; each digit is a 0.

    ``"It's 1989？"`` → ``["it's", "0000", "?"]``
    """
    if not text.isascii():
        text = fold_script(unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)))
    return [
        "0" * min(len(word), 4) if word[0].isdigit() else word
        for word in _WORD.findall(text.lower())
    ]


@lru_cache(maxsize=256)
def _words_of_question(asked: str) -> frozenset[str]:
    return frozenset(words_of(asked[:MAX_CHARS]))


def _runs(words: list[str]) -> list[str]:
    runs = list(words)
    for size in range(2, MAX_RUN + 1):
        runs += map(" ".join, zip(*(words[start:] for start in range(size)), strict=False))
    return runs
