"""What an ending is, as a facts file says it: patterns, a date, a number, an order of events."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, model_validator

from uncensoring_chinese_models.config import Settings
from uncensoring_chinese_models.measure.facts.matchers.kinds import Relation, Unit, Wanted
from uncensoring_chinese_models.measure.facts.patterns import (
    Pattern,
    Searcher,
    SearchTime,
    as_searched,
)

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.facts.matchers.together import Together

MAX_NUMBER = 10**15
Patterns = Annotated[list[Pattern], Field(min_length=1)]
_DATE = re.compile(r"(?P<year>[12]\d{3})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?")


def _as_written(value: object) -> object:
    """Return a date as text: YAML reads some as dates and years as numbers."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _real_date(text: str) -> str:
    found = _DATE.fullmatch(text)
    if not found:
        raise ValueError(f"'{text[:20]}' is no date; write 1989-04-15, 1989-04 or 1989")
    try:
        dt.date(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1))
    except ValueError:
        raise ValueError(f"'{text}' is no day of the calendar") from None
    return text


PartialDate = Annotated[str, BeforeValidator(_as_written), AfterValidator(_real_date)]
"""A day, a month or a year: 1989-04-15, 1989-04 or 1989."""
Number = Annotated[int | float, Field(ge=0, le=MAX_NUMBER)]


class EventOrder(Settings):
    """An order of two events."""

    relation: Relation
    """How the first event stands to the second in time: before, after or same."""
    first: Patterns | None = None
    """Patterns for the event that the opening is about."""
    second: Patterns | None = None
    """Patterns for the event that it is compared with."""
    dates: Annotated[list[PartialDate], Field(min_length=2, max_length=2)] | None = None
    """When they took place: a text that gives both dates tells their order."""


@dataclass(frozen=True)
class Shared:
    """What a false ending has from its fact if it does not say otherwise."""

    unit: Unit | None = None
    of: list[str] | None = None
    near: list[str] | None = None
    first: list[str] | None = None
    second: list[str] | None = None


class Recognisable(Settings):
    """Something that a text may say, and what finds it."""

    patterns: Patterns | None = None
    """Regular expressions that find it in any language: whole words, in any case."""
    date: PartialDate | None = None
    """The date that it is, if it is one."""
    number: Number | Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    """The number that it is, or the smallest and the largest of a range."""
    to: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None
    """The smaller number of a vote, as in 45 votes to 9."""
    unit: Unit | None = None
    """What kind of thing the number counts."""
    of: Patterns | None = None
    """Patterns for what the number counts."""
    order: EventOrder | None = None
    """The order of events that it is, if it is one."""
    near: Patterns | None = None
    """Patterns of which one must stand in the same sentence, unless a reply begins with it."""

    _of: str = PrivateAttr("a value")
    _search_time: SearchTime = PrivateAttr(default_factory=SearchTime)
    _shared: Shared = PrivateAttr(default_factory=Shared)

    @model_validator(mode="after")
    def _says_what_it_is(self) -> Recognisable:
        if not self.patterns and self.date is None and self.number is None and self.order is None:
            raise ValueError("says nothing to look for; give it patterns, date, number or order")
        if self.number is None and (self.to is not None or self.unit or self.of):
            raise ValueError("has to, unit or of without a number; they say what a number counts")
        if isinstance(self.number, list) and (
            self.to is not None or self.number[0] >= self.number[1]
        ):
            raise ValueError("has a range of numbers that does not rise, or that is a vote")
        return self

    def share(self, search_time: SearchTime, of: str, shared: Shared | None = None) -> None:
        """Make the patterns share the time of their file, say what they find, and take over a unit.

        Raises:
            ValueError: the order names no events.
        """
        self._of, self._search_time, self._shared = of, search_time, shared or Shared()
        if self.order and not (self._names("first") and self._names("second")):
            raise ValueError(f"gives an order of {of} without first or second; name both events")

    @property
    def for_others(self) -> Shared:
        """What false endings of the same opening have from it."""
        order = self.order
        first, second = (order.first, order.second) if order else (None, None)
        return Shared(self.unit, self.of, self.near, first, second)

    def _names(self, which: str) -> list[str] | None:
        own: list[str] | None = getattr(self.order, which)
        shared: list[str] | None = getattr(self._shared, which)
        return own or shared

    @cached_property
    def searcher(self) -> Together:
        """What is searched for."""
        from uncensoring_chinese_models.measure.facts.matchers.building import (  # noqa: PLC0415
            finder_of,  # commands that search for nothing need not compile what it searches with
        )

        return finder_of(
            self._wanted(), lambda patterns: Searcher(patterns, self._of, self._search_time)
        )

    def _wanted(self) -> Wanted:
        shared, number, order = self._shared, self.number, self.order
        numbers = None
        if number is not None:
            numbers = (number[0], number[1]) if isinstance(number, list) else (number, number)
        return Wanted(
            patterns=self.patterns,
            near=self.near or shared.near,
            date=self.date,
            numbers=numbers,
            to=self.to,
            unit=self.unit or shared.unit,
            of=self.of or shared.of,
            relation=order.relation if order else None,
            first=self._names("first") if order else None,
            second=self._names("second") if order else None,
            dates=order.dates if order else None,
        )

    def first_in(self, text: str, before: str = "") -> tuple[int, int] | None:
        """Return where a text says it first.

        Args:
            text: the text to search.
            before: what the text continues: a word that began there is not whole in the text.

        Raises:
            SlowPatternError: the patterns of the file take too long.
        """
        skipped = len(before)
        found = self.searcher.first(as_searched(before + text), skipped)
        return None if found is None else (found[0] - skipped, found[1] - skipped)


NAMED_PATTERNS = ("patterns", "about", "of", "near", "first", "second")
"""The keys that hold lists of patterns."""
