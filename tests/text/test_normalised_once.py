"""A text is normalised once, however often it is asked about, and memory stays bounded."""

from __future__ import annotations

import threading

from uncensoring_chinese_models.text import normalise
from uncensoring_chinese_models.text.normalisation import NormalisedTexts

LONG = "\u201cA\u00df \u2014 \u2460 \u5929\u3002 x\u0301\u201d " * 200


def test_the_same_text_is_normalised_once():
    """Asked again, even with others in between, it is the same object and costs nothing."""
    first = normalise(LONG)
    others = [normalise(f"another text, {number}") for number in range(100)]

    assert normalise("".join(list(LONG))) is first
    assert normalise("another text, 7") is others[7]


def test_what_is_remembered_is_limited():
    """However many texts come, the oldest are forgotten for the latest."""
    memory = NormalisedTexts(max_bytes=1_000_000)
    texts = [f"{number} {LONG}" for number in range(20)]
    for text in texts:
        memory.put(text, normalise(text))
        assert 0 < memory.size <= 1_000_000

    assert memory.get(texts[-1]) is normalise(texts[-1])
    assert memory.get(texts[0]) is None


def test_a_text_larger_than_all_that_is_remembered_is_normalised_once():
    """The last text is always remembered: excerpts of one long text come in a row."""
    memory = NormalisedTexts(max_bytes=1000)
    memory.put(LONG, normalise(LONG))

    assert memory.get(LONG) is normalise(LONG)


def test_threads_may_ask_at_once():
    """The viewer reads several runs at a time; each gets the text that it asked for."""
    wrong: list[str] = []

    def ask(number: int) -> None:
        for turn in range(200):
            text = f"TEXT {(number + turn) % 50}"
            if normalise(text).text != text.lower():
                wrong.append(text)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert wrong == []
