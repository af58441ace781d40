"""Bills: how many tokens a text can have cost, and when a bill says nothing."""

from __future__ import annotations

import pytest

from uncensoring_chinese_models.measure.compare.token_bills import (
    MIN_TEXTS,
    TokenBills,
    fit_of,
    is_whole,
    max_tokens_in,
    min_tokens_in,
    tokens_of,
)
from uncensoring_chinese_models.runs.recorded import RecordedSample, RecordedUsage


def sample(text, tokens, thought=None, **changes):
    """Return a sample with its bill."""
    found = {
        "arm": "assistant",
        "index": 0,
        "formatted_prompt": None,
        "messages": [],
        "prefill": None,
        "own_words": text or "",
        "delivery": "complete",
        "text": text,
        "usage": RecordedUsage(completion_tokens=tokens, reasoning_tokens=thought),
        **changes,
    }
    return RecordedSample(**found)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param(" the Ninth Lancer Brigade.", 7, id="small-model-name"),
        pytest.param("13.33.47, 12.28", 16, id="a-token-for-each-figure"),
        pytest.param(
            "Mali Gbembe, a politician from the Democratic Republic of the", 16, id="prose"
        ),
        pytest.param("1989年6月4日凌晨，军队开进北京。", 14, id="chinese-model-on-chinese"),
        pytest.param("军队开进北京。", 14, id="two-tokens-an-ideograph"),
        pytest.param("Войска вошли в город.", 20, id="other-scripts-by-their-bytes"),
        pytest.param("\ud83d\ude00 \x1b[2J", 12, id="lone-surrogates-and-controls"),
        pytest.param("I won't be able to answer this.", 10, id="refusal"),
    ],
)
def test_bills_of_real_texts_fit(text, tokens):
    """What tokenisers make of a text, and the end of the turn with it, lies within the bounds."""
    assert fit_of(sample(text, tokens)) == "fits"


@pytest.mark.parametrize(
    ("text", "tokens", "fit"),
    [
        ("The army", 40, "too many"),
        ("军队", 40, "too many"),
        ("", 7, "fits"),
        ("", 8, "too many"),
        ("I am sorry, but I cannot talk about this matter at all.", 1, "too few"),
        ("抱歉，我无法回答这个问题，让我们换个话题。", 1, "too few"),
        ("Anything.", None, "unknown"),
        ("Anything.", -3, "unknown"),
    ],
)
def test_bills_that_cannot_be_the_texts_own(text, tokens, fit):
    """Far more or far fewer tokens than the text can be cut into do not fit."""
    assert fit_of(sample(text, tokens)) == fit


def test_bounds_are_in_order():
    """No text takes more tokens than it can hold."""
    for text in ("a", "六四", "1989", "The army opened fire. 军队开枪。", "\n\n"):
        assert min_tokens_in(text) <= max_tokens_in(text)


@pytest.mark.parametrize(
    ("billed", "thought", "thoughts", "tokens"),
    [
        (100, 90, None, 10),
        (100, 90, "Let me think.", 10),
        (100, None, "Let me think.", None),
        (100, 0, "Let me think.", None),
        (10, 90, None, None),
        (None, None, None, None),
        (0, None, None, 0),
    ],
)
def test_thoughts_are_no_part_of_the_texts_bill(billed, thought, thoughts, tokens):
    """Counted thoughts are taken off; uncounted ones make the bill worthless."""
    assert tokens_of(sample("Yes.", billed, thought, reasoning=thoughts)) == tokens


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("They marched.", True),
        ("他们游行了。", True),
        ("“They marched.”\n", True),
        ("They march", False),
        ("他们游", False),
        ("They marched:", False),
        ("", False),
    ],
)
def test_whole_texts_end_as_sentences_do(text, whole):
    """A closing quote or bracket may follow the mark."""
    assert is_whole(text) is whole


def test_books_need_several_different_texts_and_nearly_all_must_fit():
    """One text repeated is one text; hidden thoughts show in bills that are too large."""
    fair, hidden, few = TokenBills(), TokenBills(), TokenBills()
    for number in range(MIN_TEXTS):
        fair.add(sample(f"There were {number} gates.", 8))
        hidden.add(sample(f"There were {number} gates.", 300))
        few.add(sample("There were gates.", 8))

    assert (fair.fit_texts, hidden.fit_texts, few.fit_texts) == (True, False, None)


def test_books_take_no_text_that_breaks_off_or_was_not_billed():
    """What a host may have cut must not vouch for it, nor against it."""
    bills = TokenBills()
    for number in range(9):
        bills.add(sample(f"There were {number} ga", 300))
        bills.add(sample(f"There were {number} gates.", None))

    assert bills.texts == {}
