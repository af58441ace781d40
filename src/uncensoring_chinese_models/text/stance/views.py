"""A normalised view of a part of a text, its sentences, and what is found in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from uncensoring_chinese_models.text.chinese import fold_script
from uncensoring_chinese_models.text.normalisation import IDEOGRAPH, Normalised, normalise
from uncensoring_chinese_models.text.stance.patterns import Wording

HEAD_CHARS = 2_000
"""Characters of a text in which its first sentences are looked for."""

_WORD = re.compile(rf"[{IDEOGRAPH}]{{1,2}}|[^\W{IDEOGRAPH}]+")
_SENTENCE = re.compile(rf"(?:[^.!?]|\.(?=[a-z0-9])(?<![{IDEOGRAPH}]\.))+(?:[.!?]+'?|$)")


def count_words(folded: str) -> int:
    """Count words; two ideographs count as one."""
    return sum(1 for _ in _WORD.finditer(folded))


@dataclass(frozen=True, slots=True)
class View:
    """A part of a text, normalised and folded as the patterns expect it."""

    normalised: Normalised
    folded: str
    offset: int

    @classmethod
    def head(cls, text: str, begin: int) -> View:
        """Return the view of the beginning, from `begin`."""
        normalised = normalise(text[begin : begin + HEAD_CHARS])
        return cls(normalised, fold_script(normalised.text), begin)

    def sentences(self) -> list[tuple[int, int]]:
        """Return where each sentence stands that has a word in it."""
        spans = (match.span() for match in _SENTENCE.finditer(self.folded))
        return [span for span in map(self._trim, spans) if _WORD.search(self.folded, *span)]

    def _trim(self, span: tuple[int, int]) -> tuple[int, int]:
        words = self.folded[slice(*span)]
        return span[1] - len(words.lstrip()), span[0] + len(words.rstrip())

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the whole text."""
        first, last = self.normalised.span(start, end)
        return self.offset + first, self.offset + last


class Found(NamedTuple):
    """A match of a wording in a view."""

    view: View
    wording: Wording
    start: int
    end: int
    sentence: tuple[int, int]

    @property
    def before(self) -> str:
        """The words before it in its sentence."""
        return self.view.folded[self.sentence[0] : self.start]

    @property
    def rest(self) -> str:
        """The words after it in its sentence."""
        return self.view.folded[self.end : self.sentence[1]]

    @property
    def after(self) -> str:
        """All words after it."""
        return self.view.folded[self.end :]
