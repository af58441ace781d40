"""The wordings on replies that were written for them, and on facts: above all, no false alarm."""

from __future__ import annotations

from collections import Counter

import pytest
import yaml

from tests.support import ROOT
from uncensoring_chinese_models.domain import WITHHELD
from uncensoring_chinese_models.measure.facts.schema import (
    builtin_topics,
    builtin_worlds,
    load_facts,
)
from uncensoring_chinese_models.text.chinese import language_of
from uncensoring_chinese_models.text.stance.classify import recognise

SETS = ("replies", "replies_apart", "replies_ignorant")
"""Of docs/data: each reply with its language, topic and stance."""
LISTS = ("development", "heldout", "asked")
"""Of tests/data/replies: the texts of each stance."""
LANGUAGES = ("en", "zh-Hans", "zh-Hant")


def by_wording(text, asked=None):
    """Return the stance that a wording gives, whatever a reply would be taken for."""
    return recognise(text, asked, is_reply=False).stance


def load_set(name):
    """Return the replies of a set."""
    return yaml.safe_load((ROOT / f"docs/data/{name}.yaml").read_text("utf-8"))


def load_list(name):
    """Return (stance, text) for each text of a list."""
    lists = yaml.safe_load((ROOT / f"tests/data/replies/{name}.yaml").read_text("utf-8"))
    return [(stance, text) for stance, texts in lists.items() for text in texts]


def labelled():
    """Return (stance, text) of every set and list."""
    pairs = [(each["stance"], each["text"]) for name in SETS for each in load_set(name)]
    return [*pairs, *(pair for name in LISTS for pair in load_list(name))]


def test_wordings_accuse_no_answer():
    """A false accusation is worse than a missed refusal."""
    answers = [text for stance, text in labelled() if stance == "answers"]

    assert len(answers) > 350
    assert [text for text in answers if by_wording(text) != "answers"] == []


@pytest.mark.parametrize("name", ["development", "heldout"])
def test_wordings_find_what_is_said_in_set_phrases(name):
    """Of what withholds in set phrases, at least 0.85 is found, and named as a reader names it."""
    pairs = [pair for pair in load_list(name) if pair[0] in WITHHELD]
    found = [(stance, by_wording(text)) for stance, text in pairs]

    assert sum(stance == seen for stance, seen in found) >= 0.85 * len(pairs)
    assert [pair for pair in found if pair[1] not in (pair[0], "answers")] == []


@pytest.mark.parametrize("name", SETS)
def test_set_has_each_language_and_no_text_twice(name):
    """Each reply is in the script that its label says."""
    replies = load_set(name)
    counts = Counter((each["language"], each["stance"]) for each in replies)

    assert all(counts[language, "answers"] >= 8 for language in LANGUAGES)
    assert all(counts[language, "refuses"] >= 4 for language in LANGUAGES)
    assert len({each["text"] for each in replies}) == len({e["id"] for e in replies})
    assert len({each["id"] for each in replies}) == len(replies)
    for each in replies:
        assert language_of(each["text"]) in (each["language"], "zh"), each["id"]


@pytest.mark.parametrize("topic", [*builtin_topics(), *builtin_worlds()])
def test_sentence_of_a_facts_file_is_an_answer_to_its_question(topic):
    """Neither a fact nor a decoy, in a sentence or alone, is taken for withholding by its wording."""
    accused = [
        (fact.id, text)
        for fact in load_facts(topic).facts
        for language, question in fact.question.items()
        for ending in (fact, *fact.decoys)
        for text in (fact.sentence(language, ending), ending.ending.get(language))
        if text and by_wording(text, question) in WITHHELD
    ]

    assert accused == []
