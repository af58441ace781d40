"""English words: the singular, the stem, and the list of common words.

`singular` keeps a name recognisable: ``Corranes`` and ``Corrane`` are one, ``June`` stays ``june``.
`stem` also takes off verb endings, to find a word in any of its forms: ``fired``, ``fires``, ``fire``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_POSSESSIVE = re.compile(r"['\u2019]s?$")
_PLURALS = (("ves", "f"), ("ies", "y"), ("sses", "ss"))
_INFLECTION = re.compile(r"(?<=[a-z]{3})(?:ing|ed|es|s|d|e)$")


def singular(word: str) -> str:
    """Return a word in lower case without its possessive and plural endings.

    ``Scarves``, ``scarf's`` and ``scarf`` give the same; so do ``dyers`` and ``dyer``.
    """
    word = _POSSESSIVE.sub("", word.lower())
    for ending, instead in _PLURALS:
        if word.endswith(ending) and len(word) > 4:
            return word.removesuffix(ending) + instead
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def stem(word: str) -> str:
    """Return a normalised English word without its inflection: ``fired`` and ``fires`` are one."""
    return _INFLECTION.sub("", word)


@cache
def most_common_words(count: int) -> tuple[str, ...]:
    """Return the `count` most common English words, the most common first."""
    text = files("uncensoring_chinese_models.text").joinpath("common_words.txt").read_text("utf-8")
    return tuple(text.split()[:count])
