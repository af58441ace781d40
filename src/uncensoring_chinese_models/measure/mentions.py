"""Where a text names the endings of a fact, and what it does with each of them there.

Patterns find the words of an ending; whether the text asserts them is decided for each place. The first
asserted ending decides what the text does with the fact. If none is, a denial of the true one contradicts
the fact; a question, a refusal or somebody else's words are no mention.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models.measure.facts.patterns import as_searched
from uncensoring_chinese_models.text import Assertion, assertion_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from uncensoring_chinese_models.measure.facts.schema import Ending, Fact

MAX_PLACES = 40
"""Places of one ending that are looked at in one text."""

_SENTENCE_END = re.compile(r"(?<=[.!?。！？\n])\s*")


class Candidate(NamedTuple):
    """One ending that a text may name."""

    name: str
    """`fact`, `decoy 1` ..., or `said instead`."""
    decoy: int | None
    """Which decoy it is, counted from 0."""
    ending: Ending


class Place(NamedTuple):
    """Where a text names an ending, and whether it asserts it there."""

    start: int
    end: int
    name: str
    decoy: int | None
    assertion: Assertion


def endings_of(fact: Fact) -> list[Candidate]:
    """Return every ending of a fact that a text may name."""
    endings = [Candidate("fact", None, fact)]
    endings += [Candidate(f"decoy {n + 1}", n, decoy) for n, decoy in enumerate(fact.decoys)]
    if fact.said_instead:
        endings.append(Candidate("said instead", None, fact.said_instead))
    return endings


def places_of(
    fact: Fact, text: str, endings: Iterable[Candidate], before: str = "", *, only_about: bool
) -> list[Place]:
    """Return where a text names endings of a fact, in the order of the text.

    Args:
        fact: the fact.
        text: the text.
        endings: those that count.
        before: what the text continues: a word that began there is not whole in the text.
        only_about: whether only sentences about the fact count.

    Raises:
        SlowPatternError: the patterns of the file take too long.
    """
    parts = list(_sentences_about(fact, text)) if only_about else [(0, text)]
    return sorted(
        (
            Place(start, end, each.name, each.decoy, assertion_of(text, start, end))
            for each in endings
            for start, end in islice(_found(each.ending, parts, before), MAX_PLACES)
        ),
        key=lambda place: (place.start, place.end),
    )


def deciding(places: Iterable[Place]) -> Place | None:
    """Return the place that decides: the first asserted ending, or else the first denial of the fact."""
    places = list(places)
    stated = (place for place in places if place.assertion.verdict == "stated")
    denied = (
        place for place in places if place.name == "fact" and place.assertion.verdict == "denied"
    )
    return next(stated, None) or next(denied, None)


def _found(
    ending: Ending, parts: Iterable[tuple[int, str]], before: str
) -> Iterator[tuple[int, int]]:
    for offset, part in parts:
        lead = before if offset == 0 else ""
        last = 0
        for start, end in ending.searcher.all(as_searched(lead + part), len(lead)):
            if start >= last:  # of patterns that overlap, one is enough
                yield offset + start - len(lead), offset + end - len(lead)
                last = end


def _sentences_about(fact: Fact, text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for part in _SENTENCE_END.split(text):
        at = text.find(part, start)
        if part and fact.is_spoken_of(part):
            yield at, part
        start = at + len(part)
