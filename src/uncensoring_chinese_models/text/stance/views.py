"""A normalised view of a part of a text, its sentences, and what is found in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from uncensoring_chinese_models.text.chinese import fold_script
from uncensoring_chinese_models.text.normalisation import IDEOGRAPH, Normalised, normalise
from uncensoring_chinese_models.text.stance.patterns import Strength, Wording

HEAD_CHARS = 2_000
"""Characters of a text in which its first sentences are looked for."""
TAIL_CHARS = 600
"""Characters of a longer text in which its last sentence is looked for."""

WORD = re.compile(rf"[{IDEOGRAPH}]{{1,2}}|[^\W{IDEOGRAPH}]+")
"""A word; two ideographs count as one."""
_SENTENCE = re.compile(rf"(?:[^.!?]|\.(?=[a-z0-9])(?<![{IDEOGRAPH}]\.))+(?:[.!?]+'?|$)")


@dataclass(frozen=True, slots=True)
class View:
    """A part of a text, normalised and folded as the patterns expect it."""

    normalised: Normalised
    folded: str
    offset: int

    @classmethod
    def of(cls, text: str, start: int, end: int) -> View:
        """Return the view of the characters from `start` to `end`."""
        normalised = normalise(text[start:end])
        return cls(normalised, fold_script(normalised.text), start)

    @classmethod
    def head(cls, text: str, begin: int) -> View:
        """Return the view of the beginning, from `begin`."""
        return cls.of(text, begin, begin + HEAD_CHARS)

    @classmethod
    def tail(cls, text: str, begin: int) -> View:
        """Return the view of the end of a long text, or of the whole of a short one."""
        if len(text) <= begin + HEAD_CHARS:
            return cls.head(text, begin)
        return cls.of(text, len(text) - TAIL_CHARS, len(text))

    def sentences(self) -> list[tuple[int, int]]:
        """Return where each sentence stands that has a word in it."""
        spans = (match.span() for match in _SENTENCE.finditer(self.folded))
        return [span for span in map(self._trim, spans) if WORD.search(self.folded, *span)]

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
    wording: Wording | None
    """None where a signal decided instead of a wording."""
    start: int
    end: int
    sentence: tuple[int, int]

    @property
    def strength(self) -> Strength | None:
        """How much the wording counts."""
        return self.wording.strength if self.wording else None

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
