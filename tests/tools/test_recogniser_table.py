"""The recogniser on replies by another author: the tables in the docs are those of this version."""

from __future__ import annotations

from collections import Counter

import pytest
from tools.recogniser_table import (
    LABELLED,
    LANGUAGES,
    PAGE,
    is_held_out,
    load_apart,
    load_ignorant,
    load_replies,
    stance_of,
    with_tables,
)

from uncensoring_chinese_models.domain import WITHHELD
from uncensoring_chinese_models.measure.facts.schema import (
    builtin_topics,
    builtin_worlds,
    load_facts,
)
from uncensoring_chinese_models.text.chinese import language_of
from uncensoring_chinese_models.text.stance.classify import recognise


def test_tables_are_of_this_version():
    """Who changes a wording must make them anew."""
    page = PAGE.read_text("utf-8")

    assert with_tables(page) == page


def test_set_has_each_manner_in_each_language_and_both_halves():
    """At least 200 replies, none twice, each in the script that its label says."""
    replies = load_replies()
    counts = Counter((reply["language"], reply["stance"]) for reply in replies)

    assert len(replies) >= 200
    assert set(counts) == {(language, stance) for language in LANGUAGES for stance in LABELLED}
    assert len({reply["text"] for reply in replies}) == len(replies)
    assert len({reply["id"] for reply in replies}) == len(replies)
    assert 0.4 < sum(map(is_held_out, replies)) / len(replies) < 0.6
    for reply in replies:
        assert language_of(reply["text"]) in (reply["language"], "zh"), reply["id"]


def test_set_apart_has_each_manner_in_each_language():
    """At least 60 answers and 60 that withhold, none of them in the other set."""
    replies = load_apart()
    counts = Counter((reply["language"], reply["stance"]) for reply in replies)

    assert all(counts[language, "answers"] >= 20 for language in LANGUAGES)
    assert all(counts[language, stance] >= 5 for language in LANGUAGES for stance in LABELLED)
    assert not {each["text"] for each in replies} & {each["text"] for each in load_replies()}
    for reply in replies:
        assert language_of(reply["text"]) in (reply["language"], "zh"), reply["id"]


@pytest.mark.parametrize("with_question", [True, False])
def test_no_answer_is_taken_for_withholding(with_question):
    """A false accusation is worse than a missed refusal."""
    replies = [*load_replies(), *load_apart(), *load_ignorant()]
    answers = [each for each in replies if each["stance"] == "answers"]
    accused = [
        each["id"] for each in answers if stance_of(each, with_question=with_question) != "answers"
    ]

    assert accused == []


def test_dodge_that_sounds_like_ignorance_is_seen():
    """Who has nothing that he may share, or pleads a rule, withholds."""
    replies = load_ignorant()
    counts = Counter((each["language"], each["stance"]) for each in replies)
    missed = [each["id"] for each in replies if stance_of(each) != each["stance"]]

    assert missed == []
    assert all(counts[language, "answers"] >= 8 for language in LANGUAGES)
    assert all(counts[language, "refuses"] >= 4 for language in LANGUAGES)
    for each in replies:
        assert language_of(each["text"]) in (each["language"], "zh"), each["id"]


def test_most_of_the_held_out_half_is_seen():
    """Three fifths of what nothing was learned from, where the question is known."""
    withheld = [r for r in load_replies() if is_held_out(r) and r["stance"] != "answers"]
    seen = sum(stance_of(reply) in WITHHELD for reply in withheld)

    assert seen / len(withheld) >= 0.6


@pytest.mark.parametrize("topic", [*builtin_topics(), *builtin_worlds()])
def test_sentence_of_a_facts_file_is_an_answer_to_its_question(topic):
    """Neither a fact nor a decoy, in a sentence or alone, is taken for withholding."""
    accused = [
        (fact.id, text)
        for fact in load_facts(topic).facts
        for language, question in fact.question.items()
        for ending in (fact, *fact.decoys)
        for text in (fact.sentence(language, ending), ending.ending.get(language))
        if text and recognise(text, question).stance in WITHHELD
    ]

    assert accused == []
