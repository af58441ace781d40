"""Build what finds an ending from what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from uncensoring_chinese_models.measure.facts.matchers.counts import NumberMatcher
from uncensoring_chinese_models.measure.facts.matchers.dates import DateMatcher
from uncensoring_chinese_models.measure.facts.matchers.orders import OrderMatcher
from uncensoring_chinese_models.measure.facts.matchers.together import Together
from uncensoring_chinese_models.measure.facts.matchers.votes import VoteMatcher

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.facts.matchers.finding import Finder
    from uncensoring_chinese_models.measure.facts.matchers.kinds import Wanted
    from uncensoring_chinese_models.measure.facts.patterns import Searcher

Search = Callable[[list[str]], "Searcher"]
"""Makes a searcher of patterns that shares the time of their file."""


def finder_of(wanted: Wanted, search: Search) -> Together:
    """Return what finds an ending."""
    parts: list[Finder | Searcher] = [search(wanted.patterns)] if wanted.patterns else []
    if wanted.date is not None:
        parts.append(_date(wanted.date))
    if wanted.numbers is not None:
        parts.append(_number(wanted, *wanted.numbers, search))
    if wanted.relation is not None:
        parts.append(
            OrderMatcher(
                wanted.relation,
                search(wanted.first or []),
                search(wanted.second or []),
                [replace(_date(each), needs_year=False) for each in wanted.dates or ()],
            )
        )
    return Together(parts, search(wanted.near) if wanted.near else None)


def _date(date: str) -> DateMatcher:
    year, month, day = [*map(int, date.split("-")), None, None][:3]
    return DateMatcher(year or 0, month, day)


def _number(wanted: Wanted, low: float, high: float, search: Search) -> Finder:
    if wanted.to is not None:
        return VoteMatcher(Decimal(str(low)), Decimal(wanted.to))
    of = search(wanted.of) if wanted.of else None
    return NumberMatcher(Decimal(str(low)), Decimal(str(high)), wanted.unit, of)
