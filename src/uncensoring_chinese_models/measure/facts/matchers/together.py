"""Several matchers as one, and the words that must stand near what they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uncensoring_chinese_models.measure.facts.matchers.finding import (
    Finder,
    is_whole_reply,
    sentence_at,
    spans_within,
)

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.facts.patterns import Searcher

_MAX_AWAY = 200
"""Max characters between a place and a word that must stand near it."""


@dataclass(frozen=True)
class Together(Finder):
    """Finds what any of several matchers finds."""

    parts: Sequence[Finder | Searcher]
    near: Searcher | None = None
    """Words of which one must stand in the same sentence, unless the place is a whole reply."""

    def all(self, text: str, start: int = 0) -> list[tuple[int, int]]:
        """Return every place in a text where one of them finds something."""
        found = sorted({span for part in self.parts for span in part.all(text, start)})
        if self.near is None or not found:
            return found
        words = self.near.all(text)
        return [span for span in found if self._is_near(text, span, words, start)]

    def first(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Return the first place in a text."""
        if self.near is not None:
            return super().first(text, start)
        found = (part.first(text, start) for part in self.parts)
        return min((span for span in found if span), default=None)

    @staticmethod
    def _is_near(
        text: str, span: tuple[int, int], words: Sequence[tuple[int, int]], start: int
    ) -> bool:
        if is_whole_reply(text, start, span):
            return True
        sentence = sentence_at(text, span[0])
        first = max(sentence.start, span[0] - _MAX_AWAY)
        last = min(sentence.end, span[1] + _MAX_AWAY)
        return any(end <= last for _, end in spans_within(words, first, last))
