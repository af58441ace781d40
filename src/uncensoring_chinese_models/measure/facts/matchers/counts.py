"""The matcher of one number, told from dates, articles, durations and other things of equal size.

A number counts if what it counts stands beside it, if it begins a reply, or if it is too long and
uneven to stand for anything else.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from uncensoring_chinese_models.measure.facts.matchers.dates import dates_in
from uncensoring_chinese_models.measure.facts.matchers.finding import (
    CACHED_TEXTS,
    Finder,
    TextSpan,
    begins,
    goes_on,
    sentence_at,
    spans_within,
)
from uncensoring_chinese_models.measure.facts.matchers.numerals import Numeral, numerals_in
from uncensoring_chinese_models.measure.facts.matchers.units import (
    BOUNDARY,
    GAP,
    form_of,
    is_measured,
)

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.facts.matchers.kinds import Unit
    from uncensoring_chinese_models.measure.facts.patterns import Searcher

_MAX_TALK = 12
"""A sentence may go on with a number up to this one and speak of something else: *two of the ...*"""
_REACH_BEFORE, _REACH_OVER_VERB, _REACH_BEHIND = 70, 180, 60
"""Max characters between a number and the word for what it counts: before it, before it with `is` or
`was` between them, and behind it."""
_LOOK = 40

_LABEL = re.compile(
    r"(?:第|§ ?|#|(?<![A-Za-z])(?:articles?|art\.|sections?|sec\.|chapters?|cap\.|clauses?|paragraphs?"
    r"|para\.|nos?\.|(?-i:Number)|pages?|pp?\.|room|line|resolution|decree|document|order no\.|charter|route"
    r"|volume|vol\.|flight|phase|stage|type|level|grade|windows|table|bus|box|no) ?"
    r"|[A-Za-z]-|(?<!\w)['\u2019])$",
    re.IGNORECASE,
)
_MONEY = re.compile(r"(?:[$€£¥￥]|\b(?:RMB|USD|HKD|CNY)) ?$")
_JOINED_BEFORE = re.compile(r"(?:\d ?[-\u2013\u2014~/:]|\d\.|[几幾数數每]|分之) ?$")
_JOINED_BEHIND = re.compile(
    r" ?[-\u2013\u2014~/:] ?\d|(?:st|nd|rd|th)(?![A-Za-z])|分之|-(?:first|second|third)"
)
_COUNT_BEFORE = re.compile(
    r"(?<![a-z])(?:(?:figure|count|toll|tally|total)(?: [a-z]+){0,3}|(?:the|their|its|whose) number)"
    r" (?:is|was|were|at|to|of|reached)"
    r"(?: (?:about|around|some|only|just|exactly|at least|nearly|over|more than))? $"
    r"|(?:人[数數]|[总總][数數]|共[计計]|合[计計]|[总總]共|累[计計])[为為是达達至到有]{0,2} ?$",
    re.IGNORECASE,
)
_ABOUT = r"(?: (?:about|around|some|only|just|exactly|at least|at most|nearly|over|more than|between)){0,2}"
_IS_BEFORE = re.compile(
    rf"(?<![a-z])(?:is|was|are|were|at|to|as|of|numbered|totalled|reached){_ABOUT} $"
    r"|[是为為有达達到] ?$",
    re.IGNORECASE,
)
_NUMBER_OF = re.compile(
    r"(?<![a-z])(?:number|total|count|toll) of (?:[\w'\u2019-]+ ){0,6}$", re.IGNORECASE
)
"""Before the word for what is counted: the sentence says how many there were."""
_TELLS = r"(?<![a-z])(?:is|was|are|were|numbered|totalled|reached"
_VERB_BEFORE = re.compile(rf"{_TELLS}){_ABOUT} $", re.IGNORECASE)
_TOLD_BEFORE = re.compile(rf"{_TELLS}|at|to){_ABOUT} $", re.IGNORECASE)
_RANGE = re.compile(r" ?(?:[-\u2013\u2014~至到]|to|and) ?", re.IGNORECASE)
_MORE = ("多", "余", "餘")
"""Behind a number in Chinese: and some more."""
_WORD = re.compile(r" ?[^\W\d_]")


@lru_cache(maxsize=CACHED_TEXTS)
def counted_in(text: str) -> tuple[Numeral, ...]:
    """Return the numbers of a text that are no part of a date."""
    dates = [(each.start, each.end) for each in dates_in(text)]
    ends = [end for _, end in dates]
    return tuple(
        each
        for each in numerals_in(text)
        if not any(spans_within(dates[bisect_right(ends, each.start) :][:1], 0, each.end - 1))
    )


def counted_within(text: str, first: int, last: int) -> Iterator[Numeral]:
    """Yield those of them that begin between two places."""
    counted = counted_in(text)
    place = bisect_left(counted, first, key=lambda each: each.start)
    return takewhile(lambda each: each.start <= last, islice(counted, place, None))


@dataclass(frozen=True)
class NumberMatcher(Finder):
    """Finds one number, or any number of a range."""

    low: Decimal
    high: Decimal
    unit: Unit | None = None
    """What kind of thing it counts."""
    of: Searcher | None = None
    """Words for what it counts, which stand behind it or before it."""

    def all(self, text: str, start: int = 0) -> list[tuple[int, int]]:
        """Return every place in a text that gives this number."""
        found = [
            each
            for each in counted_in(text)
            if each.start >= start and self.low <= each.value <= self.high
        ]
        if not found:
            return []
        named = self.of.all(text) if self.of else []
        places = [self._place(text, each, start, named) for each in found]
        return [place for place in places if place]

    def _place(
        self, text: str, each: Numeral, start: int, named: list[tuple[int, int]]
    ) -> TextSpan | None:
        """Return where the number stands, without its unit, if this numeral gives it."""
        if self.low != self.high and text[each.end : each.end + 1] in _MORE:
            each = replace(each, end=each.end + 1)
        other = self._other_end(text, each) if self.low != self.high else None
        if self._is_other_thing(text, each, named, is_range=other is not None):
            return None
        if other:
            each = replace(each, end=max(each.end, other.end))
        is_told = (
            self._has_unit(text, each, named)
            or self._has_sign(each, named, text)
            or self._is_reply(text, each, start)
            or (not self._needs_unit and each.is_telling and not is_measured(text, each))
            or self._is_named_before(text, each, named)
        )
        return TextSpan(each.start, each.end) if is_told else None

    @property
    def _needs_unit(self) -> bool:
        return self.unit is not None and form_of(self.unit).is_needed

    def _is_other_thing(
        self, text: str, each: Numeral, named: list[tuple[int, int]], *, is_range: bool
    ) -> bool:
        """Return whether a numeral is a label, money, an ordinal or a part of another number."""
        before = text[max(0, each.start - _LOOK) : each.start]
        if each.share != ("percent" if self.unit == "percent" else None) and each.share:
            return True
        if self.unit != "article" and _LABEL.search(before):
            return True
        if _MONEY.search(before) and not self._has_sign(each, named, text):
            return True
        if is_range:
            return False
        return bool(_JOINED_BEFORE.search(before) or _JOINED_BEHIND.match(text, each.end))

    def _has_sign(self, each: Numeral, named: list[tuple[int, int]], text: str) -> bool:
        """Return whether a sign for money that is counted, such as HK$, stands directly before it."""
        signs = spans_within(named, each.start - _LOOK, each.start)
        return any(
            each.start - 1 <= end <= each.start and _MONEY.search(text, at, end)
            for at, end in signs
        )

    def _other_end(self, text: str, each: Numeral) -> Numeral | None:
        """Return the other end of a range that lies in ours, if the numeral is one end of it."""
        for other in counted_within(text, each.start - _LOOK, each.end + _LOOK):
            one, two = sorted((each, other), key=lambda it: it.start)
            if other is not each and _RANGE.fullmatch(text, one.end, two.start):
                return other if self.low <= other.value <= self.high else None
        return None

    def _has_unit(self, text: str, each: Numeral, named: list[tuple[int, int]]) -> bool:
        """Return whether the words for what is counted stand beside the numeral."""
        if each.share or (self.unit and form_of(self.unit).end_of(text, each)):
            return True
        behind = spans_within(named, each.end, each.end + _REACH_BEHIND)
        return any(GAP.fullmatch(text, each.end, at) for at, _ in behind)

    def _is_named_before(self, text: str, each: Numeral, named: list[tuple[int, int]]) -> bool:
        """Return whether the words for what is counted stand before it, and no other number between."""
        if self._needs_unit or not BOUNDARY.match(text, each.end):
            return False
        if _COUNT_BEFORE.search(text, max(0, each.start - _LOOK), each.start):
            return True
        reach = _REACH_BEFORE
        if _IS_BEFORE.search(text, max(0, each.start - _LOOK), each.start):
            reach = _REACH_OVER_VERB
        first = max(sentence_at(text, each.start).start, each.start - reach)
        spans = [span for span in spans_within(named, first, each.start) if span[1] <= each.start]
        if not spans:
            return False
        others = [
            other
            for other in counted_within(text, max(end for _, end in spans), each.start - 1)
            if not _LABEL.search(text, max(0, other.start - _LOOK), other.start)
        ]
        return not others or self._tells_how_many(text, spans, others, each)

    @staticmethod
    def _tells_how_many(
        text: str, spans: list[tuple[int, int]], others: list[Numeral], each: Numeral
    ) -> bool:
        """Return whether a sentence on the number of something ends in this one: *of 18, was 17*."""

        def stands_behind(words: re.Pattern[str], at: int) -> bool:
            return words.search(text, max(0, at - _LOOK), at) is not None

        return (
            stands_behind(_TOLD_BEFORE, each.start)
            and any(stands_behind(_NUMBER_OF, at) for at, _ in spans)
            and not any(stands_behind(_VERB_BEFORE, other.start) for other in others)
        )

    def _is_reply(self, text: str, each: Numeral, start: int) -> bool:
        """Return whether the number begins a reply, or what a prompt was continued with."""
        if not begins(text, start, each.start) or is_measured(text, each):
            return False
        if BOUNDARY.match(text, each.end):
            return True
        names_thing = goes_on(text, start) and _WORD.match(text, each.end) is not None
        return names_thing and each.value > _MAX_TALK and not self._needs_unit
