"""The matcher of one vote, such as 45 votes to 9."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from uncensoring_chinese_models.measure.facts.matchers.counts import counted_in, counted_within
from uncensoring_chinese_models.measure.facts.matchers.finding import Finder, TextSpan, sentence_at
from uncensoring_chinese_models.measure.facts.matchers.units import form_of

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.facts.matchers.numerals import Numeral

_REACH = 60
"""Max characters between the two numbers of a vote, and around them."""
_VOTING = re.compile(
    r"(?<![a-z])(?:vot|ballot|favou?r|against|oppos|yes|yeas?|nays?|noes|majority)"
    r"|[票赞贊]成?|反[对對]|表[决決]|[国國](?:赞|贊|反)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r" ?(?:votes? |[张張]?票)?(?:to|[-\u2013\u2014\u2212:/]|against|versus|vs\.?|[比对對])(?:[ ,]|votes? )*",
    re.IGNORECASE,
)
_NOBODY = re.compile(
    r"(?<![a-z])(?:none|nil|zero|nobody|no one|no (?:votes?|member|mp|opposition|dissent)|without"
    r"|unanimous(?:ly)?|not a single)|无人|無人|[没沒]有|零票|0 ?票|一致",
    re.IGNORECASE,
)
_ABSTAINED = re.compile(
    r" ?[票个個]?(?: ?\w+ )?(?:abst|弃权|棄權|absent|缺席|not voting)", re.IGNORECASE
)


@dataclass(frozen=True)
class VoteMatcher(Finder):
    """Finds both numbers of a vote, or the first of them as so many votes."""

    number: Decimal
    to: Decimal

    def all(self, text: str, start: int = 0) -> list[tuple[int, int]]:
        """Return every place in a text that gives this vote."""
        found = [each for each in counted_in(text) if each.start >= start]
        places = [self._place(text, each) for each in found if each.value == self.number]
        return sorted(place for place in places if place and place.start >= start)

    def _place(self, text: str, each: Numeral) -> TextSpan | None:
        sentence = sentence_at(text, each.start)
        left, right = max(sentence.start, each.start - _REACH), min(sentence.end, each.end + _REACH)
        rest = [other for other in counted_within(text, left, right - 1) if other is not each]
        is_vote = _VOTING.search(text, left, right) is not None
        for other in rest:
            one, two = sorted((each, other), key=lambda it: it.start)
            if other.value == self.to and (is_vote or _BETWEEN.fullmatch(text, one.end, two.start)):
                return TextSpan(one.start, two.end)
        end = form_of("votes").end_of(text, each)
        if self.to == 0 and is_vote and _NOBODY.search(text, left, right):
            return TextSpan(each.start, end or each.end)
        rivals = [
            one for one in rest if one.start > each.end and not _ABSTAINED.match(text, one.end)
        ]
        return TextSpan(each.start, end) if end and is_vote and not rivals else None
