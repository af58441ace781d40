"""The recogniser on replies by another author: the tables in the docs are those of this version."""

from __future__ import annotations

from collections import Counter

from tools.recogniser_table import LANGUAGES, MANNERS, PAGE, is_held_out, load_replies, with_tables

from uncensoring_chinese_models.languages import language_of
from uncensoring_chinese_models.recogniser import recognise


def test_tables_are_of_this_version():
    """Who changes a wording must make them anew."""
    page = PAGE.read_text("utf-8")

    assert with_tables(page) == page


def test_set_has_each_manner_in_each_language_and_both_halves():
    """At least 200 replies, none twice, each in the script that its label says."""
    replies = load_replies()
    counts = Counter((reply["language"], reply["manner"]) for reply in replies)

    assert len(replies) >= 200
    assert set(counts) == {(language, manner) for language in LANGUAGES for manner in MANNERS}
    assert len({reply["text"] for reply in replies}) == len(replies)
    assert len({reply["id"] for reply in replies}) == len(replies)
    assert 0.4 < sum(map(is_held_out, replies)) / len(replies) < 0.6
    for reply in replies:
        assert language_of(reply["text"]) in (reply["language"], "zh"), reply["id"]


def test_no_answer_is_taken_for_withholding():
    """A false accusation is worse than a missed refusal."""
    answers = [reply for reply in load_replies() if reply["manner"] == "answer"]
    accused = [reply["id"] for reply in answers if recognise(reply["text"]).manner != "answer"]

    assert accused == []
