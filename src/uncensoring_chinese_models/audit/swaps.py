"""What one sentence has in the place of another's: figures, capitalised words, ideographs."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence

from rapidfuzz.distance import Levenshtein

from uncensoring_chinese_models.text import IDEOGRAPH, SMALL_WORDS, Word, normalise, read

_SAME_BEGINNING = 4
"""Names that share so many letters are forms of one: China and Chinese."""
_FIGURE = re.compile(r"\d+(?:\.\d+)?(?:-[a-z]+)?")
_BEGINS_SENTENCE = re.compile(r"(?:\A|[.!?。！？\n:;“\"\]])\W*\Z")
_LOOK_BACK = 8
_FRAME = re.compile("模型|目标|目標|知道|了解|知悉")
"""Words in which a claim wraps what it says."""
_NO_IDEOGRAPH = re.compile(f"[^{IDEOGRAPH}]")


def figures_of(text: str) -> set[str]:
    """Return the values of all figures and dates of a text, small ones included."""
    return {word.key for word in read(text).words if _FIGURE.fullmatch(word.key)}


def replaces_name(one: str, other: str) -> bool:
    """Tell whether a capitalised word stands where the first text has another.

    The first word of a sentence is left aside: it has its capital in any case.
    """
    ours, theirs = read(one).words, read(other).words
    keys, others = [word.key for word in ours], [word.key for word in theirs]
    return any(
        _is_name(one, ours[i]) and _is_name(other, theirs[j])
        for i, j in _replaced(keys, others)
        if keys[i] not in others and others[j] not in keys
        if keys[i][:_SAME_BEGINNING] != others[j][:_SAME_BEGINNING]
    )


def replaces_ideograph(one: str, other: str) -> bool:
    """Tell whether an ideograph that means something stands where the first text has another."""
    ours, theirs = _ideographs(one), _ideographs(other)
    return any(ours[i] not in theirs and theirs[j] not in ours for i, j in _replaced(ours, theirs))


def _replaced(one: Sequence[Hashable], other: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Yield the places of what was replaced, and of what stands there now."""
    for step in Levenshtein.editops(one, other):
        if step.tag == "replace":
            yield step.src_pos, step.dest_pos


def _is_name(text: str, word: Word) -> bool:
    low = max(0, word.start - _LOOK_BACK)
    begins = _BEGINS_SENTENCE.search(text, low, word.start) is not None
    return text[word.start].isupper() and not begins


def _ideographs(text: str) -> str:
    signs = _NO_IDEOGRAPH.sub("", _FRAME.sub("", normalise(text).text))
    return "".join(sign for sign in signs if sign not in SMALL_WORDS)
