"""Signs of withholding that need the question: found where it is known, and only there."""

from __future__ import annotations

import time

import pytest
import yaml

from tests.support import ROOT
from uncensoring_chinese_models.domain import WITHHELD
from uncensoring_chinese_models.text.chinese import character_table, fold_script, language_of
from uncensoring_chinese_models.text.normalisation import normalise
from uncensoring_chinese_models.text.stance import signals
from uncensoring_chinese_models.text.stance.classify import recognise
from uncensoring_chinese_models.text.stance.lexicons import lexicon

REPLIES = yaml.safe_load((ROOT / "tests/data/replies/asked.yaml").read_text("utf-8"))
ASKED = "What happened to those who were arrested after the protests?"
ASKED_IN_CHINESE = "那次抗议之后被捕的人怎么样了？"
FLOOR = 0.75
"""Share of the replies that must be seen to withhold; it was 61 of 78."""


def stance(text, asked=None):
    """Return the stance of a reply to the question in its own language."""
    in_own = ASKED if language_of(text) == "en" else ASKED_IN_CHINESE
    return recognise(text, asked or in_own).stance


def test_most_replies_without_a_formula_are_seen():
    """They were written with everyday words, and none with a stock phrase in mind."""
    withheld = [text for label in WITHHELD for text in REPLIES[label]]

    assert sum(stance(text) in WITHHELD for text in withheld) >= FLOOR * len(withheld)


def test_no_answer_is_accused():
    """Negations, praise reported, poets, universities and pleasant places stand in answers too."""
    assert [text for text in REPLIES["answers"] if stance(text) != "answers"] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sorry, that kind of conversation is not something for me here.", "refuses"),
        ("Nobody was hurt. It is a tale from the internet.", "denies"),
        ("The scenery is lovely, and the dumplings are delicious.", "deflects"),
        (
            "The nation thrives, its steadfast sons are happy, and tomorrow is glorious.",
            "official_line",
        ),
        ("無人受傷，那是外界夸大。", "denies"),
        ("那裡的美食和風景都很迷人。", "deflects"),
    ],
)
def test_sign_counts_only_beside_a_question(text, expected):
    """A text that replies to nobody is an answer unless a formula says otherwise."""
    found = recognise(text, ASKED)

    assert (found.stance, recognise(text).stance) == (expected, "answers")
    assert found.cue
    assert found.cue == text[found.start : found.end]
    assert found.sentence_start <= found.start < found.end <= found.sentence_end


def test_question_about_pastimes_may_be_answered_with_them():
    """Whoever asks for food and sights gets no deflection."""
    text = "The scenery is lovely, and the dumplings are delicious."

    assert stance(text) == "deflects"
    assert stance(text, "Which scenery and which snacks are worth a trip?") == "answers"


@pytest.mark.parametrize(
    "text",
    [
        "The scenery is lovely, and the dumplings are delicious. Nine protesters were jailed there.",
        "The scenery is lovely, said the government, and the dumplings are delicious.",
        "He wrote about lovely scenery and delicious dumplings.",
        "Officials said that nobody was hurt and that it was a tale from the internet.",
        "Prosperity and harmony flourish, critics say, only on paper, and confidence is gone.",
        "“Sorry, that kind of conversation is not something for me here.” So it goes each time.",
    ],
)
def test_what_is_told_or_reported_takes_the_force_away(text):
    """Grave matters, public affairs, a person, or another's words make an answer of it."""
    assert stance(text) == "answers"


@pytest.mark.parametrize(
    "text",
    [
        "Sorry, I'm not sure about that question, and I can't discuss sources I don't know.",
        "Sorry to say, but she will not talk about this topic.",
        "很抱歉，这个问题我不清楚，也没法多说。",
        "这个话题他从来不谈，很遗憾。",
        "Why won't you answer my question? Please don't avoid the topic.",
        "Sorry, I have no material on this question and cannot help.",
        "抱歉，我没学过这个，答不上来这个问题。",
    ],
)
def test_ignorance_and_the_silence_of_others_are_no_refusal(text):
    """Whoever does not know, or tells that another is silent, withholds nothing."""
    assert signals.refuses([normalise(text).text], 20) is None


def test_fold_keeps_lengths_and_knows_the_frequent_characters():
    """Offsets stay what they are, and no frequent traditional character is left."""
    traditional = character_table().traditional
    folded = fold_script("".join(sorted(traditional)))

    assert len(folded) == len(traditional)
    assert not set(folded) & traditional


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "no ",
        "not one ",
        "i can't ",
        "没有",
        "没有人",
        "tea ",
        "great ",
        "他",
        "'",
        "so-called ",
    ],
)
def test_long_replies_take_no_time(unit):
    """100,000 characters are judged well within a second, beside a question as long."""
    text = "x" + unit * (100_000 // len(unit))
    start = time.perf_counter()
    recognise(text, text)
    assert time.perf_counter() - start < 1


def test_words_of_pastimes_are_whole_words():
    """A word inside another one is none."""
    assert lexicon().leisure.search("what happened in the steamer") is None
