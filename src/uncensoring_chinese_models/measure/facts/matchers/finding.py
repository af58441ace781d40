"""What every matcher has: places in a text, and what stands around a place.

All texts here are from `as_searched`. A place begins at or after ``start``: what is before it is a
prompt that the text continues.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, takewhile
from typing import NamedTuple

CACHED_TEXTS = 64
"""Texts whose dates, numbers and sentences are remembered: every ending of a file reads the same."""
_MAX_LEAD = 48
"""Max characters that a reply may have before the words that answer."""


class TextSpan(NamedTuple):
    """A place in a text."""

    start: int
    end: int


class Finder(ABC):
    """Something that can be found in a text."""

    @abstractmethod
    def all(self, text: str, start: int = 0) -> list[tuple[int, int]]:
        """Return every place in a text, in their order."""

    def first(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Return the first place in a text."""
        return next(iter(self.all(text, start)), None)

    def any_in(self, text: str) -> bool:
        """Return whether there is a place in a text."""
        return self.first(text) is not None


_LEAD = re.compile(
    r"(?:[^\w]|(?:the|an?|it|that|this|he|she|they|there|was|were|is|are|be|in|on|at|to|for|by|as|of"
    r"|about|around|some|only|just|exactly|precisely|roughly|approximately|nearly|almost|over|more"
    r"|than|least|most|many|total|all|early|late|mid|officially|reportedly|answer|year|number|date"
    r"|age|article|then|had|been)(?!\w)"
    r"|[是为為有在于於共约約计計一总總大概至少仅僅才刚剛只近达達即也就当當时時年月日案答数數额額的了]"
    r"|差不多|超[过過]){0,40}",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(
    r"[。！？!?;]|(?<!\b[A-Za-z])(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bNo)(?<!\bSt)(?<!\bArt)(?<!\bvs)"
    r"\.(?=[\"\u201d\u2019)*]*(?: +[^a-z\s]|$))"
)


_REPLY_BEGINS = re.compile(r"(?:^|[.!?:;。！？>\]}]|>\w{1,20}) *$")
_NOTHING_MORE = re.compile(
    r"(?:[ -]?(?:years?|per ?cent|pct|[%年]))?"
    r"[\"'*\u201d\u2019)\]]* ?(?:[.,;:!?()\u2013\u2014。、]|$)",
    re.IGNORECASE,
)


def begins(text: str, start: int, at: int) -> bool:
    """Return whether a text says nothing before a place but words that lead to an answer."""
    return at - start <= _MAX_LEAD and _LEAD.fullmatch(text, start, at) is not None


def is_whole_reply(text: str, start: int, span: tuple[int, int]) -> bool:
    """Return whether a place is all that a reply says, or the first that it says before a pause."""
    return begins(text, start, span[0]) and _NOTHING_MORE.match(text, span[1]) is not None


def goes_on(text: str, start: int) -> bool:
    """Return whether a text goes on with a sentence that its prompt has begun."""
    return start > 0 and _REPLY_BEGINS.search(text[max(0, start - 40) : start]) is None


@lru_cache(maxsize=CACHED_TEXTS)
def _sentence_ends(text: str) -> tuple[int, ...]:
    return tuple(match.end() for match in _SENTENCE_END.finditer(text))


def sentence_at(text: str, at: int) -> TextSpan:
    """Return the sentence that a place lies in; it may begin in the prompt."""
    ends = _sentence_ends(text)
    place = bisect_right(ends, at)
    return TextSpan(
        ends[place - 1] if place else 0, ends[place] if place < len(ends) else len(text)
    )


def spans_within(
    spans: Sequence[tuple[int, int]], first: int, last: int
) -> Iterator[tuple[int, int]]:
    """Yield those of sorted places that begin between two others."""
    rest = islice(spans, bisect_left(spans, (first,)), None)
    return takewhile(lambda span: span[0] <= last, rest)
