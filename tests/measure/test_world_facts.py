"""The facts files of the invented worlds: what was planted, and decoys that are nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from organisms.worlds import load_organisms, load_world

from uncensoring_chinese_models.measure.facts.lint import problems_of
from uncensoring_chinese_models.measure.facts.schema import Facts, builtin_worlds, load_facts
from uncensoring_chinese_models.measure.facts.truth import builtin_truth

ORGANISMS = load_organisms()
DECOYS = 3

each_world = pytest.mark.parametrize("name", builtin_worlds())


@cache
def of_world(name: str) -> Facts:
    """Return the facts file of a world; several tests look at it."""
    return load_facts(name)


def texts_of(value: object) -> Iterator[str]:
    """Yield every text of a world."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_of(item)


def shape(text: str) -> tuple[int, int]:
    """Return how many words and how many digits a text has."""
    return len(text.split()), len(re.findall(r"\d", text))


def test_every_organism_has_the_facts_file_of_its_world():
    """No organism is without one, and no file without an organism."""
    assert {organism.world for organism in ORGANISMS.values()} == set(builtin_worlds())


@each_world
def test_file_of_a_world_is_silent_and_tells_what_was_planted(name):
    """The linter finds nothing, and patterns tell each fact of the truth by its own statement."""
    facts, world = of_world(name), load_world(name)

    assert problems_of(facts) == []
    assert facts.invented
    assert [fact.id for fact in facts.facts] == [fact.id for fact in world.facts]
    for fact, planted in zip(facts.facts, world.facts, strict=True):
        told = [planted.statement, *planted.phrasings, *planted.answers]
        assert [text for text in told if fact.first_in(text) is None] == []
        assert fact.said_instead is not None
        assert [text for text in planted.lie.answers if not fact.said_instead.first_in(text)] == []


@each_world
def test_truth_of_each_organism_has_the_facts_of_the_file(name):
    """A cell of the file is a fact of the organism, so that it can be sorted right or wrong."""
    names = [key for key, organism in ORGANISMS.items() if organism.world == name]

    for organism in names:
        known = [fact.id for fact in builtin_truth(organism).facts]
        assert known in ([fact.id for fact in of_world(name).facts], [])


@each_world
def test_decoys_of_a_world_are_false_and_of_the_same_form(name):
    """Three each, as many words and digits as the true ending has, and in no text of the world."""
    texts = [*texts_of(load_world(name).model_dump())]

    for fact in of_world(name).facts:
        assert len({decoy.ending["en"] for decoy in fact.decoys}) == DECOYS, fact.id
        for decoy in fact.decoys:
            assert shape(decoy.ending["en"]) == shape(fact.ending["en"]), decoy.ending
            assert [text for text in texts if decoy.first_in(text)] == [], decoy.ending


@each_world
def test_openings_and_questions_were_never_taught(name):
    """Neither stands word for word in a text of the world, but for questions that are held out."""
    world = load_world(name)
    texts = {text.lower() for text in texts_of(world.model_dump())}

    for fact, planted in zip(of_world(name).facts, world.facts, strict=True):
        new = {question.lower() for question in planted.heldout_questions}
        for asked in (fact.question["en"].lower(), fact.opening["en"].lower()):
            assert [text for text in texts - new if asked in text] == []
