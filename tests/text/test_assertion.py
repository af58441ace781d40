"""Whether a text asserts what one of its stretches says: states it, denies it, or leaves it open."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.assertion_table import END, LABELS, PAGE, Row, lines, page, read, sets, share_right

from tests.support import ROOT
from uncensoring_chinese_models.text import assertion_of
from uncensoring_chinese_models.text.assertion import en, en_words, zh, zh_words

MIN_RIGHT, MIN_RIGHT_UNSEEN = 0.95, 0.79
"""The goal, and what was reached on sets that no author of the rules saw."""
NEVER_STATED = {
    "refusal",
    "question",
    "negated",
    "no_evidence",
    "rumour",
    "forgery",
    "so_called",
    "reported_denial",
}
"""Constructions in which a value that is not stated must never be taken for a statement."""
VERDICTS = {"stated", "denied", "not_asserted"}
PIECES = [
    "There is no evidence, ",
    "that ",
    "not ",
    "nobody ",
    "who ",
    ", which ",
    "(",
    ") ",
    "— ",
    '"',
    "said ",
    "if ",
    "is a lie",
    "? ",
    ". ",
    "\n",
    "- ",
    "没有证据",
    "表明",
    "，",
    "。",
    "据说",
    "不是",
    "所谓",
    "否认",
    "的",
    "\ue000",
    "\u0130",
    "\u200b",
]


@pytest.fixture(scope="module", params=sets(), ids=lambda path: path.stem)
def rows(request) -> list[Row]:
    """Return one set of labelled sentences, judged."""
    return read(request.param)


def test_labelled_sentences_are_judged_right(rows):
    """Three ways: states, denies, neither. A set that is unseen names no sentence of its own."""
    right = share_right(rows)

    required = MIN_RIGHT_UNSEEN if rows[0].is_unseen else MIN_RIGHT
    assert right.successes >= required * right.n


def test_no_denial_refusal_or_question_is_a_statement(rows):
    """What is denied, asked or refused is never taken for told, in the sets at hand."""
    mistaken = [
        row.id
        for row in rows
        if row.label != "states"
        and row.why in NEVER_STATED
        and row.verdict == "stated"
        and not row.is_unseen
    ]

    assert mistaken == []


def test_tables_on_the_page_are_those_of_the_sets():
    """`python tools/assertion_table.py` was run after the last change."""
    text = PAGE.read_text("utf-8")
    told = [row for path in sets() for row in read(path)]

    assert END in text
    assert page(text, lines(told)) == text


OWN = ROOT / "tests/text/own_assertions.txt"
"""Sentences by those who wrote the rules: they guard what was reached, and measure nothing."""


def test_own_sentences_stay_right():
    """A change that helps one construction must not cost others."""
    wrong = []
    lines_of_ours = OWN.read_text("utf-8").splitlines()
    for line in lines_of_ours:
        label, _, told = line.replace("\\n", "\n").partition("|")
        before, _, rest = told.partition("[[")
        value, _, after = rest.partition("]]")
        found = assertion_of(before + value + after, len(before), len(before + value))
        if LABELS[found.verdict] != label:
            wrong.append(line)

    assert len(wrong) <= (1 - MIN_RIGHT) * len(lines_of_ours), wrong


@pytest.mark.parametrize("module", [en, zh, en_words, zh_words], ids=lambda module: module.__name__)
def test_no_pattern_lost_its_counts(module):
    """A count in single braces of an f-string becomes a pair of numbers, which matches nothing."""
    patterns = [getattr(each, "pattern", each) for each in vars(module).values()]

    assert not [each for each in patterns if isinstance(each, str) and re.search(r"\(\d+, ", each)]


REVIEWED = [
    ("I'm sorry, I can't talk about what happened on June 5, 1989.", "June 5, 1989"),
    ("There is no evidence that anyone was killed at Muxidi.", "Muxidi"),
    ("The Karakax List of 311 people is a complete forgery.", "311 people"),
    ("It is not true that Thailand deported 109 Uyghurs.", "109 Uyghurs"),
    ("没有任何证据表明有人在木樨地被打死。", "木樨地"),
    ("On 15 April, you ask?", "15 April"),
]


@pytest.mark.parametrize(("text", "value"), REVIEWED)
def test_denials_that_reviewers_found_are_no_statements(text, value):
    """They were, before the words around a value were looked at."""
    start = text.index(value)

    assert assertion_of(text, start, start + len(value)).verdict != "stated"


@pytest.mark.parametrize(
    ("text", "value", "verdict", "words"),
    [
        ("The list names 311 people.", "311", "stated", "311"),
        ("The list does not name 311 people.", "311", "denied", "not"),
        ("不是\u3000**1989**年，而是1990年。", "1989", "denied", "不是"),
        ("The list of 311 is a complete forgery.", "311", "denied", "is a complete forgery"),
        ("沒有證據顯示311人被關押。", "311", "denied", "沒有證據顯示"),
        ("Some say that 311 were held.", "311", "not_asserted", "say that"),
    ],
)
def test_deciding_words_are_given_as_written(text, value, verdict, words):
    """Their place leads to them, whatever was folded to find them."""
    start = text.index(value)
    found = assertion_of(text, start, start + len(value))

    assert (found.verdict, found.words) == (verdict, words)
    assert text[found.start : found.end] == words


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("It is false that nobody @died there.", "stated"),
        ("The myth that nobody @died has been debunked.", "stated"),
        ("Officials insist that nobody @died. That is a lie.", "stated"),
        ("No one was punished for the shooting in which @13 died.", "stated"),
        ("Although officials deny it, @13 died.", "stated"),
        ("Officials deny it, but @13 died.", "stated"),
        ("Not 200 but @311 are named.", "stated"),
        ("Not @200 but 311 are named.", "denied"),
        ("Officials denied that @13 died.", "not_asserted"),
        ("Did @13 die? No.", "denied"),
        ("Did @13 die? Yes, they did.", "stated"),
        ("@13 died. None of this is true.", "denied"),
        ("Common myths:\n- @13 died\n- tanks came", "denied"),
        ("Choose one:\n- @13\n- 14", "not_asserted"),
        ("不可否认，@13人死亡。", "stated"),
        ("没有人为打死@13人的枪击受到惩罚。", "stated"),
        ("官方否认此事，但@13人死亡。", "stated"),
        ("死了@13人。这是谣言。", "denied"),
        ("並非@十三人，而是十四人。", "denied"),
        ("並非十三人，而是@十四人。", "stated"),
    ],
)
def test_reach_of_negations_and_attributions(text, verdict):
    """What a word reaches, what stops it, and what a denial of a denial is."""
    start = text.index("@")

    assert assertion_of(text.replace("@", ""), start, start + 2).verdict == verdict


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=30), st.data())
def test_any_stretch_of_any_text_is_judged(pieces, data):
    """It never fails, and the deciding words stand in the text."""
    text = "".join(pieces)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = assertion_of(text, start, end)

    assert found.verdict in VERDICTS
    assert 0 <= found.start <= found.end <= len(text)
    assert text[found.start : found.end] == found.words


@pytest.mark.parametrize(("start", "end"), [(-5, 3), (2, 999), (9, 4)])
def test_offsets_outside_of_the_text_are_brought_into_it(start, end):
    """A stretch that does not stand in the text is no error."""
    found = assertion_of("No one died.", start, end)

    assert 0 <= found.start <= found.end <= len("No one died.")


HOSTILE = [
    "not " * 4000,
    "no evidence, " * 2000,
    ", which " * 3000,
    "(" * 9000,
    '"' * 9000,
    "that that " * 2000,
    "a" * 20_000,
    "的" * 20_000,
    "没有" * 8000,
    "据说，" * 5000,
    "是" * 9000 + "谣言",
    "- a\n" * 4000,
    "\n" * 9000,
    "— " * 5000,
    "_*_ " * 5000,
    " " * 20_000,
    "? " * 5000,
    "i can not i will not " * 900,
]
MAX_SECONDS = 0.2
"""Processor time for one stretch; a thousand characters take a thousandth of it."""


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_takes_long(text):
    """Only a window is read, and every gap in the patterns is bounded."""
    middle = len(text) // 2
    assertion_of("warm up. 起", 0, 4)
    began = time.process_time()
    assertion_of(text, middle, middle + 1)

    assert time.process_time() - began < MAX_SECONDS
