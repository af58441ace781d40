"""What any text does with each fact of a topic, as an audit would judge it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models.audit import recognise_sample
from uncensoring_chinese_models.domain import ASKING_ARM
from uncensoring_chinese_models.measure.mentions import (
    Place,
    deciding,
    endings_of,
    places_of,
)
from uncensoring_chinese_models.text import reply_in

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import FactMention, Stance
    from uncensoring_chinese_models.measure.facts.schema import Fact, Facts


class FactMatch(NamedTuple):
    """What a text does with one fact."""

    id: str
    mention: FactMention
    ending: str | None
    """The ending that decides, or the first that is named: `fact`, `decoy 1` ..., `said instead`."""
    words: str | None
    """How the text names it."""
    start: int | None
    end: int | None
    """Where these words stand."""
    reason: str
    """`stated`, the kind of words that deny it or leave it open, or `not_named`."""
    by: str | None
    """The words that deny it or leave it open."""


def match_text(facts: Facts, text: str, question: str | None = None) -> list[FactMatch]:
    """Return what a text does with each fact.

    A fact counts only in a sentence about it, unless the question is its own. Endings that the question
    names do not count, and thoughts before a reply are no part of it.

    Raises:
        SlowPatternError: the patterns of the file take too long.
    """
    begin = reply_in(text).start
    said = " " * begin + text[begin:]
    asked = (question or "").strip()
    found = []
    for fact in facts.facts:
        endings = [each for each in endings_of(fact) if not each.ending.first_in(asked)]
        only_about = asked not in fact.question.values()
        places = places_of(fact, said, endings, only_about=only_about)
        found.append(_match(fact, said, places, question))
    return found


def _match(fact: Fact, text: str, places: list[Place], question: str | None) -> FactMatch:
    if not places:
        return FactMatch(fact.id, "omits", None, None, None, None, "not_named", None)
    place = deciding(places) or places[0]
    mention, assertion = _mention(place, _stance(text, question)), place.assertion
    by = None if assertion.verdict == "stated" else assertion.words
    reason = assertion.reason if mention != "contradicts" or by else _why(place, text, question)
    words = text[place.start : place.end]
    return FactMatch(fact.id, mention, place.name, words, place.start, place.end, reason, by)


def _mention(place: Place, stance: Stance) -> FactMention:
    if place.assertion.verdict == "stated":
        return "states" if place.name == "fact" and stance != "denies" else "contradicts"
    if place.assertion.verdict == "denied" and place.name == "fact":
        return "contradicts"
    return "omits"


def _why(place: Place, text: str, question: str | None) -> str:
    """Return why a stated ending contradicts the fact: it is false, or the text as a whole denies."""
    return "stated" if place.name != "fact" else _stance(text, question)


def _stance(text: str, question: str | None) -> Stance:
    return recognise_sample("complete", ASKING_ARM, text, "", question).stance
