"""Cells that no spreadsheet obeys, however long their texts are."""

from __future__ import annotations

import re
import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncensoring_chinese_models.text.escaping import escape
from uncensoring_chinese_models.text.spreadsheets import FORMULA, harmless

SLOW_RULE = re.compile(rf"(^|[\n\t;,|\"'])([\s\"'\u200c\u200d]*)(?=[{FORMULA}])")
"""The rule in one expression, which takes time by the square of the text."""


@given(st.text(alphabet="=-|\uff0b;,\"'\t\n \u3000\u200cab", max_size=12))
def test_an_apostrophe_stands_where_the_rule_says(text):
    """At every place where somebody might see the beginning of a formula, and nowhere else."""
    assert harmless(text) == SLOW_RULE.sub(r"\1\2'", escape(text, newlines=True))


@pytest.mark.parametrize("filler", ["\n", '"', "'", " ", "\u200d", "\n\"'", ";", "|", "a "])
@pytest.mark.parametrize("end", ["a", "=1"])
def test_long_texts_take_no_longer_than_they_must(filler, end):
    """200,000 characters of what may stand before a formula are looked at once."""
    text = filler * (200_000 // len(filler)) + end

    start = time.process_time()
    found = harmless(text)

    assert time.process_time() - start < 5
    assert found.replace("'", "") == text.replace("'", "")


BEGINNINGS = (
    "=+-@%|\N{MINUS SIGN}"
    "\N{FULLWIDTH EQUALS SIGN}\N{SMALL EQUALS SIGN}\N{SUPERSCRIPT EQUALS SIGN}\N{SUBSCRIPT EQUALS SIGN}"
    "\N{FULLWIDTH PLUS SIGN}\N{SMALL PLUS SIGN}\N{SUPERSCRIPT PLUS SIGN}\N{SUBSCRIPT PLUS SIGN}"
    "\N{HEBREW LETTER ALTERNATIVE PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{SMALL HYPHEN-MINUS}\N{SUPERSCRIPT MINUS}\N{SUBSCRIPT MINUS}"
    "\N{FULLWIDTH COMMERCIAL AT}\N{SMALL COMMERCIAL AT}"
    "\N{FULLWIDTH PERCENT SIGN}\N{SMALL PERCENT SIGN}\N{FULLWIDTH VERTICAL LINE}"
)
"""What may begin a formula, sign by sign, and not as the code lists it."""


@pytest.mark.parametrize("sign", BEGINNINGS)
@pytest.mark.parametrize("before", ["", " ", "\t", "a;", "a\n", '"', "'", "\u200d"])
def test_every_sign_that_begins_a_formula_is_guarded(sign, before):
    """Each has its apostrophe, at the beginning of a text and wherever a cell may begin in it."""
    assert f"'{sign}" in harmless(f"{before}{sign}1")


def test_every_form_that_programs_fold_is_known():
    """Whatever Unicode takes for one of the plain signs is in the list, and guarded."""
    folded = {
        sign
        for sign in map(chr, range(sys.maxunicode + 1))
        if unicodedata.normalize("NFKC", sign) in tuple("=+-@%|\N{MINUS SIGN}")
    }

    assert folded == set(BEGINNINGS)
    assert all(harmless(sign) == f"'{sign}" for sign in folded)
