"""A text is normalised once, however often it is asked about, and memory stays bounded."""

from __future__ import annotations

import threading
import tracemalloc

from uncensoring_chinese_models.text import normalisation, normalise
from uncensoring_chinese_models.text.normalisation import NormalisedTexts

LONG = "\u201cA\u00df \u2014 \u2460 \u5929\u3002 x\u0301\u201d " * 200


def test_the_same_text_is_normalised_once():
    """Asked again, even with others in between, it is the same object and costs nothing."""
    first = normalise(LONG)
    others = [normalise(f"{number} {LONG}") for number in range(100)]

    assert normalise("".join(list(LONG))) is first
    assert normalise(f"7 {LONG}") is others[7]


def test_short_texts_drive_out_no_long_one(monkeypatch):
    """Excerpts are normalised between two looks at the text that they quote."""
    monkeypatch.setattr(normalisation, "_remembered", NormalisedTexts(max_bytes=1000))
    first = normalise(LONG)
    short = normalise(LONG[: normalisation.MIN_REMEMBERED - 1])

    assert len(LONG) > normalisation.MIN_REMEMBERED
    assert short.text == normalise(LONG[: normalisation.MIN_REMEMBERED - 1]).text
    assert normalise(LONG) is first


def test_text_of_many_pieces_takes_little_memory():
    """Several texts of megabytes are remembered, also where nearly every character is folded."""
    text = "\u201ca\u201d\u2026 \ufb01" * 10_000
    tracemalloc.start()
    try:
        found = normalise(text)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    memory = NormalisedTexts(max_bytes=1)
    memory.put(text, found)

    assert taken < 20 * len(text)
    assert len(text) < memory.size < 20 * len(text)


def test_what_is_remembered_is_limited():
    """However many texts come, the oldest are forgotten for the latest."""
    memory = NormalisedTexts(max_bytes=300_000)
    texts = [f"{number} {LONG}" for number in range(20)]
    for text in texts:
        memory.put(text, normalise(text))
        assert 0 < memory.size <= 300_000

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
