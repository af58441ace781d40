"""Piles of accents, which would cover the lines around them, are spelled out on pages."""

import unicodedata

import pytest

from uncensoring_chinese_models.reports.pages.text import shown

ACUTE, RING = "\u0301", "\u20dd"


@pytest.mark.parametrize("text", ["Zo" + ACUTE, "a" + ACUTE * 8, "Việt Nam", "天" + RING])
def test_accents_that_languages_have_stay(text):
    """A few marks on a letter are how it is written."""
    decomposed = unicodedata.normalize("NFD", text)
    assert shown(decomposed) == decomposed


def test_a_pile_of_accents_is_spelled_out_from_the_ninth_on():
    """Nothing is lost, and a line can be broken there."""
    assert shown("a" + ACUTE * 10 + "b") == "a" + ACUTE * 8 + "⟨U+0301⟩" * 2 + "b"
