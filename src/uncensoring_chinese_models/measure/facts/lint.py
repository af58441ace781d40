"""Check a facts file for problems that its schema does not refuse.

A decoy must be false, and be asked in the same way as its fact; a pattern must match its own ending
and nothing else. No program can check whether a fact is true: that is what its source is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from uncensoring_chinese_models.measure.facts.schema import INVENTED_KINDS, join
from uncensoring_chinese_models.text import foreign_characters

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Language
    from uncensoring_chinese_models.measure.facts.schema import Ending, Fact, Facts, Texts

MIN_FACTS, MIN_DECOYS = 12, 2
MIN_CORE, MIN_LADDERS = 8, 4
MAX_DATES_SHARE = 1 / 3
"""Limits for a file on a matter of public record: facts, decoys of each, core facts, core facts with
coarser questions, and the share of dates."""
MAX_LENGTH_SHARE, MAX_LENGTH_SLACK = 1 / 3, 2
"""How much longer or shorter the ending of a decoy may be: a share of the true ending, or characters."""


def problems_of(facts: Facts, *, of_the_file: bool = True) -> list[str]:
    """Return the problems of a facts file, or of its facts alone, one sentence each."""
    found = [*_of_the_file(facts)] if of_the_file else []
    for fact in facts.facts:
        found += [f"{fact.id}: {each}" for each in _of_one(fact, facts)]
    for one, other in combinations(facts.facts, 2):
        if not _of_one_matter(one, other) and _says(one, other) and _says(other, one):
            found.append(f"{one.id}: {other.id} says the same; leave one out")
    for one, other in permutations(facts.facts, 2):
        for decoy in () if _of_one_matter(one, other) else one.decoys:
            if decoy.ending["en"] == other.ending["en"] or _is_true_of(decoy, one, other):
                found.append(f"{one.id}: its decoy '{decoy.ending['en']}' is true of {other.id}")
    return found


def _of_the_file(facts: Facts) -> Iterator[str]:
    if facts.invented:
        return
    own = [fact for fact in facts.facts if fact.rung_of is None]
    if len(own) < MIN_FACTS:
        yield f"there are {len(own)} facts; a topic needs {MIN_FACTS}"
    core = [fact for fact in own if fact.mark == "core"]
    if len(core) < MIN_CORE:
        yield f"{len(core)} facts are marked core; a topic needs {MIN_CORE}"
    ladders = sum(bool(fact.coarser) for fact in core)
    if ladders < MIN_LADDERS:
        yield f"{ladders} core facts have coarser questions; a topic needs {MIN_LADDERS}"
    dates = sum(fact.kind == "date" for fact in own)
    if dates > MAX_DATES_SHARE * len(own):
        yield f"{dates} of {len(own)} facts are dates; at most a third may be"


def _of_one(fact: Fact, facts: Facts) -> Iterator[str]:
    if fact.mark is None and not facts.invented:
        yield "it has no mark; say whether it is core, detail or control"
    yield from _languages(fact, facts)
    yield from _decoys(fact, facts)
    for name, ending in _endings(fact):
        yield from _patterns(name, ending, fact, facts.names)
    for language, text in fact.question.items():
        if not text.endswith(("?", "？")):
            yield f"its question ({language}) does not end with a question mark"
    for language, text in fact.opening.items():
        if text != text.strip() or text.endswith((".", "。", "?", "？")):
            yield f"its opening ({language}) ends in space or closes its sentence"
        if not fact.is_spoken_of(text) and not fact.is_spoken_of(fact.question.get(language, "")):
            yield f"no pattern of `about` matches its opening or question ({language})"


def _endings(fact: Fact) -> Iterator[tuple[str, Ending]]:
    yield "the fact", fact
    for number, decoy in enumerate(fact.decoys, 1):
        yield f"decoy {number}", decoy
    if fact.said_instead:
        yield "what is said instead", fact.said_instead


def _languages(fact: Fact, facts: Facts) -> Iterator[str]:
    texts: list[tuple[str, Texts]] = [("question", fact.question), ("opening", fact.opening)]
    texts += [(f"ending of {name}", each.ending) for name, each in _endings(fact)]
    for name, words in texts:
        for language in facts.names:
            if language not in words:
                yield f"its {name} is missing in {language}"
        for language, text in words.items():
            strange = sorted(foreign_characters(language).intersection(text))
            if strange:
                yield f"its {name} ({language}) has characters of the other script: {''.join(strange)}"


def _decoys(fact: Fact, facts: Facts) -> Iterator[str]:
    if not facts.invented and fact.kind in INVENTED_KINDS:
        yield f"its kind is {fact.kind}, which only invented worlds have"
    if not facts.invented and len(fact.decoys) < MIN_DECOYS:
        yield f"it has {len(fact.decoys)} decoy; give it {MIN_DECOYS}"
    for number, decoy in enumerate(fact.decoys, 1):
        for language, text in decoy.ending.items():
            true = fact.ending.get(language, text)
            if abs(len(text) - len(true)) > max(MAX_LENGTH_SLACK, MAX_LENGTH_SHARE * len(true)):
                yield f"decoy {number} ({language}) is much longer or shorter than the fact"


def _patterns(name: str, ending: Ending, fact: Fact, names: Texts) -> Iterator[str]:
    for language, text in ending.ending.items():
        before, sentence = _opened(fact, language), fact.sentence(language, ending)
        if ending.first_in(text) is None:
            yield f"no pattern of {name} matches its own ending ({language})"
        elif sentence and not (ending.first_in(text, before) and ending.first_in(sentence)):
            yield f"{name} is not found in its own sentence ({language})"
    asked = {"opening": fact.opening, "question": fact.question, "name of the topic": names}
    yield from (
        f"the {where} ({language}) gives {name} away"
        for where, words in asked.items()
        for language, text in words.items()
        if ending.first_in(text)
    )
    for other_name, other in _endings(fact):
        hit = other is not ending and _first_match(ending, fact, other)
        if hit:
            yield f"a pattern of {name} matches the ending of {other_name} ({hit})"


def _of_one_matter(one: Fact, other: Fact) -> bool:
    """Return whether two facts are a fact and a coarser question below it, or two such questions."""
    return (one.rung_of or one.id) == (other.rung_of or other.id)


def _opened(fact: Fact, language: Language) -> str:
    """Return what the ending of a sentence continues."""
    return join(fact.opening.get(language, ""), "", language)


def _first_match(ending: Ending, fact: Fact, other: Ending) -> Language | None:
    return next(
        (
            key
            for key, text in other.ending.items()
            if ending.first_in(text) or ending.first_in(text, _opened(fact, key))
        ),
        None,
    )


def _says(one: Fact, other: Fact) -> bool:
    """Return whether the sentence of one fact is about the other and has its ending."""
    return other.is_spoken_of(str(one.sentence("en"))) and bool(other.first_in(one.ending["en"]))


def _is_true_of(decoy: Ending, fact: Fact, other: Fact) -> bool:
    """Return whether another fact is about the same thing and has the ending of a decoy."""
    sentence = str(other.sentence("en"))
    return fact.is_spoken_of(sentence) and bool(decoy.first_in(other.ending["en"]))
